import Foundation
import Glibc
import Synchronization

/// The real programs under torture, in a directory of their own.
final class Victims: Sendable {
    let programs: String
    /// Users for the load and the attacks; nil if the torture's own user does everything.
    let people: People?
    let work: String
    let workers: Int
    let disk: Disk
    /// Nil if it could not be built.
    let shim: Shim?
    /// The disk that the faults are about, with the state directory and the files that transfers fetch.
    var mount: String { work + "/mount" }
    var state: String { mount + "/state" }
    var files: String { mount + "/files" }
    /// Beside the state directory where others must reach it, for that one is closed to them.
    var socket: String { people == nil ? state + "/control.sock" : work + "/control.sock" }
    /// The directory of the programs that operations execute.
    var tools: String { people == nil ? programs : work + "/programs" }
    var marks: String { work + "/marks" }
    var locks: String { work + "/locks" }
    private let running = Mutex<Running>(Running())

    struct Running: Sendable {
        var daemon: Program?
        var runners: Set<pid_t> = []
        var starts = 0
        var deaths = 0
        var isDown = false
        var spared: Set<pid_t> = []
    }

    init(programs: String, people: People?, work: String, workers: Int, disk: Disk, shim library: String?) throws {
        self.programs = programs
        self.people = people
        self.work = work
        self.workers = workers
        self.disk = disk
        for directory in [work, work + "/mount", work + "/mount/state", work + "/mount/files", work + "/locks"]
        where !FileManager.default.fileExists(atPath: directory) {
            try FileManager.default.createDirectory(
                atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        shim = try library.map { try Shim(library: $0, work: work) }
        if let people { try open(to: people) }
        // The first power cut may come at once.
        for directory in [mount, state, files] { try Disk.sync(directory) }
    }

    /// Lets the honest user execute the programs and write marks; others get no further than the socket.
    private func open(to people: People) throws {
        for directory in [work, mount] { chmod(directory, 0o711) }
        try FileManager.default.createDirectory(
            atPath: tools, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
        for program in ["torture-mark", "torture-hostile", "opsctl"] { try provide("\(programs)/\(program)") }
        for (path, isDirectory) in [(locks, true), (files, true), (marks, false)] {
            let mode: [FileAttributeKey: Any] = [.posixPermissions: isDirectory ? 0o700 : 0o600]
            let isThere = isDirectory || FileManager.default.createFile(atPath: path, contents: nil, attributes: mode)
            guard isThere, chown(path, people.honest.uid, people.honest.gid) == 0 else {
                throw Trouble("cannot make \(path)")
            }
        }
    }

    /// Copies a program, or a directory, to where the honest user finds it.
    func provide(_ path: String) throws {
        if people == nil { return }
        // Copied by another process: a file that is open for writing here may be inherited, and is too busy to run.
        let copy = try Program(["/bin/cp", "-r", path, tools], environment: Self.environment, output: "/dev/null")
        guard copy.wait(seconds: 60) == 0 else { throw Trouble("cannot copy \(path) to \(tools)") }
    }

    /// Words before a command that have it executed as the honest user, where there is one.
    var asHonest: [String] {
        people.map {
            ["/usr/bin/setpriv", "--reuid", "\($0.honest.uid)", "--regid", "\($0.honest.gid)", "--clear-groups"]
        } ?? []
    }

    /// Process that is no part of the machine under torture.
    func spare(_ pid: pid_t) { running.withLock { _ = $0.spared.insert(pid) } }

    /// True if calls may rightly be refused for want of storage.
    var mayLackStorage: Bool { disk.canBeFull || shim != nil }

    static var environment: [String: String] {
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("OPS_") }
        environment["NOTIFY_SOCKET"] = nil
        // The server of the transfers is on the loopback interface.
        environment["no_proxy"] = "*"
        return environment
    }

    var daemonPid: pid_t? { running.withLock { $0.daemon?.pid } }
    /// The runner as opsd knows it now.
    var runnerPid: pid_t? {
        guard let status = try? Wire.call(socket, "Status", seconds: 10),  // not there right now: no pid
            let pid = status["runnerPid"] as? Int, pid > 1
        else { return nil }
        running.withLock { _ = $0.runners.insert(pid_t(pid)) }
        return pid_t(pid)
    }
    /// The executor of the transfers.
    var transferPid: pid_t? { processes.first { $0.words.contains("/opsd-transfer --") }?.pid }
    /// The status of an opsd that has ended and was not stopped.
    var daemonDeath: Int32? {
        guard let status = running.withLock({ $0.daemon })?.wait(seconds: 0) else { return nil }
        running.withLock { $0.daemon = nil }
        return status
    }
    var starts: Int { running.withLock { $0.starts } }

    /// Seconds in which opsd starts or ends.
    private static let patience = 60.0

    /// Starts opsd and waits until it answers.
    func start() throws {
        let program = try launch()
        let end = Date().addingTimeInterval(Self.patience)
        while Date() < end {
            if let status = program.wait(seconds: 0) {
                running.withLock { $0.daemon = nil }
                throw Trouble("opsd ended with \(status) at its start: \(logTail)")
            }
            if answers { return }
            usleep(5000)
        }
        throw Trouble("opsd did not answer within \(Self.patience) s of its start: \(logTail)")
    }

    /// Starts opsd on a disk that fails; `true`: it is there, `false`: it has said no.
    func startsOrRefuses() throws -> Bool {
        let program = try launch()
        let end = Date().addingTimeInterval(Self.patience)
        while Date() < end {
            if let status = program.wait(seconds: 0) {
                running.withLock { $0.daemon = nil }
                if status == 0 || status >= 128 { throw Trouble("opsd ended with \(status) on a failing disk") }
                return false
            }
            if answers { return true }
            usleep(5000)
        }
        throw Trouble("opsd neither answered nor ended within \(Self.patience) s of its start: \(logTail)")
    }

    private var runner: String {
        let other = work + "/runner"
        return FileManager.default.fileExists(atPath: other) ? other : programs + "/opsd-runner"
    }

    /// Has opsd start a runner that uses no control groups.
    func doWithoutControlGroups() throws {
        let script = "#!/bin/sh\nexec '\(programs)/opsd-runner' --no-cgroup \"$@\"\n"
        let mode: [FileAttributeKey: Any] = [.posixPermissions: 0o755]
        guard FileManager.default.createFile(atPath: work + "/runner", contents: Data(script.utf8), attributes: mode)
        else { throw Trouble("cannot write \(work)/runner") }
    }

    /// Bytes of one log that are kept: more than any operation of the load writes.
    static let logLimit = 4 << 20

    private func launch() throws -> Program {
        let program = try Program(
            [
                programs + "/opsd", "--state", state, "--socket", socket, "--workers", "\(workers)", "--log-limit",
                "\(Self.logLimit)", "--runner", runner, "--record", "20000",
            ],
            environment: Self.environment.merging(shim?.environment ?? [:]) { $1 }, output: work + "/opsd.log")
        running.withLock {
            $0.daemon = program
            $0.isDown = false
            $0.starts += 1
        }
        return program
    }

    private var answers: Bool {
        // No group has both users as members.
        if people != nil { chmod(socket, 0o666) }
        do throws(CallError) {
            _ = try Wire.call(socket, "Status", seconds: 5)
            return true
        } catch {
            // It is there, if it says no.
            return error.refusal != nil
        }
    }

    /// Stops all replies of opsd. A sync during the shutdown of its disk may return success without having synced, and
    /// a machine without power acknowledges nothing.
    func silence() throws {
        guard let pid = daemonPid else { return }
        kill(pid, SIGSTOP)
        let end = Date().addingTimeInterval(10)
        while Date() < end {
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []  // gone
            // A process in the kernel (D) stops on its way back.
            let areSilent = threads.allSatisfy {
                let stat = FileManager.default.contents(atPath: "/proc/\(pid)/task/\($0)/stat") ?? Data()
                let state = String(decoding: stat, as: UTF8.self).components(separatedBy: ") ").last?.first
                return state != "R" && state != "S"
            }
            if areSilent { return }
            usleep(100)
        }
        throw Trouble("opsd does not stop")
    }

    /// True from the death of the machine until opsd is started again: nothing else is started meanwhile.
    var isDown: Bool { running.withLock { $0.isDown } }

    /// Number of deaths of the machine so far.
    var deaths: Int { running.withLock { $0.deaths } }

    /// Kills opsd, its runner, operations with all their processes, and clients that are waiting, as the death of the
    /// machine would.
    func killAll() throws {
        running.withLock {
            $0.deaths += 1
            $0.isDown = true
        }
        if let daemon = running.withLock({ $0.daemon }) { daemon.signal(SIGKILL) }
        let end = Date().addingTimeInterval(20)
        while Date() < end {
            let left = processes
            if left.isEmpty { return try stop(SIGKILL) }
            for process in left { kill(process.pid, SIGKILL) }
            usleep(5000)
        }
        throw Trouble("processes outlive SIGKILL: \(processes)")
    }

    /// Sends a signal that ends opsd, and waits for that.
    func stop(_ signal: Int32) throws {
        guard let daemon = running.withLock({ $0.daemon }) else { return }
        daemon.signal(signal)
        guard daemon.wait(seconds: Self.patience) != nil else {
            daemon.signal(SIGKILL)
            throw Trouble("opsd did not end within \(Self.patience) s of signal \(signal)")
        }
        running.withLock { $0.daemon = nil }
    }

    /// Everything that the daemon has logged.
    var log: String {
        get throws { try String(contentsOfFile: work + "/opsd.log", encoding: .utf8) }
    }
    var logTail: String { Self.tail(work + "/opsd.log") }
    var runnerLogTail: String { Self.tail(state + "/runner.log") }

    static func tail(_ path: String) -> String {
        let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""  // no log: nothing to show
        return text.split(separator: "\n").suffix(8).joined(separator: " | ")
    }

    /// This process and those that started it.
    private static var ancestry: Set<pid_t> {
        var pids: Set<pid_t> = []
        var pid = getpid()
        while pid > 1, pids.insert(pid).inserted {
            let stat = FileManager.default.contents(atPath: "/proc/\(pid)/stat") ?? Data()
            // After the name in brackets: state, parent.
            let fields = String(decoding: stat, as: UTF8.self).components(separatedBy: ") ").last?.split(separator: " ")
            pid = pid_t(fields?.dropFirst().first ?? "") ?? 0
        }
        return pids
    }

    /// Processes that stand in our directory's name or carry its socket in their environment.
    var processes: [(pid: pid_t, words: String)] {
        let own = Self.ancestry.union(running.withLock { $0.spared })
        let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []  // no /proc: no Linux
        return names.compactMap(pid_t.init).filter { !own.contains($0) }.compactMap { pid in
            let words = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") ?? Data()
            let environment = FileManager.default.contents(atPath: "/proc/\(pid)/environ") ?? Data()
            let text = String(decoding: words, as: UTF8.self)
            guard text.contains(work + "/") || String(decoding: environment, as: UTF8.self).contains(work + "/")
            else { return nil }
            return (pid, text.replacingOccurrences(of: "\0", with: " "))
        }
    }

    /// Ends everything; returns and kills the processes that still exist 20 s after SIGTERM.
    func endAll() -> [String] {
        do { try stop(SIGTERM) } catch { return ["\(error)"] }
        for pid in running.withLock({ $0.runners }) where processes.contains(where: { $0.pid == pid }) {
            kill(pid, SIGTERM)
        }
        // One that an earlier opsd had started looks for the directory it serves, and stays while that is there.
        if let pid = transferPid { kill(pid, SIGTERM) }
        let end = Date().addingTimeInterval(20)
        while Date() < end {
            if processes.isEmpty { return [] }
            usleep(20_000)
        }
        let left = processes
        for process in left { kill(process.pid, SIGKILL) }
        return left.map { "process \($0.pid) is left over: \($0.words)" }
    }

    /// Descriptors and resident KiB of a process.
    static func weight(_ pid: pid_t?) -> (descriptors: Int, resident: Int) {
        guard let pid else { return (0, 0) }
        let files = try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/fd")  // none once it is gone
        let statm = FileManager.default.contents(atPath: "/proc/\(pid)/statm") ?? Data()
        let fields = String(decoding: statm, as: UTF8.self).split(separator: " ")
        return (files?.count ?? 0, fields.count > 1 ? (Int(fields[1]) ?? 0) * 4 : 0)
    }
}

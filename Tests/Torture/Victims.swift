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
    /// Preloaded library; nil without one.
    let shim: Shim?
    /// Mount point of the disk that has the faults, with the state directory and the files that transfers fetch.
    var mount: String { work + "/mount" }
    var state: String { mount + "/state" }
    var files: String { mount + "/files" }
    /// Control socket. If other users must reach it, it is outside the state directory, which is closed to them.
    var socket: String { people == nil ? state + "/control.sock" : work + "/control.sock" }
    /// Directory of the programs that operations execute.
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
        // The first power cut may follow immediately.
        for directory in [mount, state, files] { try Disk.sync(directory) }
    }

    /// Lets the honest user write marks, locks and files. Other users can only reach the socket and execute programs.
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

    /// Copies a program or a directory to a place where other users can execute it.
    func provide(_ path: String) throws {
        if people == nil { return }
        // Another process makes the copy. A child of this process could inherit a descriptor that is open for writing,
        // and the kernel would then refuse to execute the file (ETXTBSY).
        let copy = try Program(["/bin/cp", "-r", path, tools], environment: Self.environment, output: "/dev/null")
        guard copy.wait(seconds: 60) == 0 else { throw Trouble("cannot copy \(path) to \(tools)") }
    }

    /// Prefix that makes a command run as the honest user, if there is one.
    var asHonest: [String] {
        people.map {
            ["/usr/bin/setpriv", "--reuid", "\($0.honest.uid)", "--regid", "\($0.honest.gid)", "--clear-groups"]
        } ?? []
    }

    /// Excludes a process from the machine under torture.
    func spare(_ pid: pid_t) { running.withLock { _ = $0.spared.insert(pid) } }

    /// True if opsd may correctly refuse calls because its storage is unavailable.
    var mayLackStorage: Bool { disk.canBeFull || shim != nil }

    static var environment: [String: String] {
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("OPS_") }
        environment["NOTIFY_SOCKET"] = nil
        // The server of the transfers is on the loopback interface.
        environment["no_proxy"] = "*"
        return environment
    }

    var daemonPid: pid_t? { running.withLock { $0.daemon?.pid } }
    /// Process id of the runner, as opsd reports it now.
    var runnerPid: pid_t? {
        guard let status = try? Wire.call(socket, "Status", seconds: 10),  // not there right now: no pid
            let pid = status["runnerPid"] as? Int, pid > 1
        else { return nil }
        running.withLock { _ = $0.runners.insert(pid_t(pid)) }
        return pid_t(pid)
    }
    /// Process id of the executor of transfers.
    var transferPid: pid_t? { processes.first { $0.words.contains("/opsd-transfer --") }?.pid }
    /// Exit status of opsd, if it has ended without being stopped.
    var daemonDeath: Int32? {
        guard let status = running.withLock({ $0.daemon })?.wait(seconds: 0) else { return nil }
        running.withLock { $0.daemon = nil }
        return status
    }
    var starts: Int { running.withLock { $0.starts } }

    /// Longest time in seconds in which opsd must start or end.
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

    /// Starts opsd on a failing disk. Returns true if it answers, and false if it refused to start.
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

    /// Bytes of a log that opsd keeps: more than any operation of the load writes.
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
        // Both users must connect, and no group has both as members.
        if people != nil { chmod(socket, 0o666) }
        do throws(CallError) {
            _ = try Wire.call(socket, "Status", seconds: 5)
            return true
        } catch {
            // A refusal is an answer, too.
            return error.refusal != nil
        }
    }

    /// Stops opsd, so that it sends no more replies. A sync during the shutdown of its disk may return success without
    /// having synced, and a machine without power acknowledges nothing.
    func silence() throws {
        guard let pid = daemonPid else { return }
        kill(pid, SIGSTOP)
        let end = Date().addingTimeInterval(10)
        while Date() < end {
            let threads = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")) ?? []  // gone
            // A thread that waits in the kernel (state D) stops when it returns.
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

    /// True from a simulated power cut until opsd is started again. Nothing else is started meanwhile.
    var isDown: Bool { running.withLock { $0.isDown } }

    /// Number of simulated power cuts so far.
    var deaths: Int { running.withLock { $0.deaths } }

    /// Kills opsd, its runner, all processes of operations, and waiting clients, as a power cut would.
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

    /// This process and its ancestors.
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

    /// Processes whose command line or environment contains the directory of this run.
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
        // An opsd-transfer that an earlier opsd started stays as long as the directory that it serves exists.
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

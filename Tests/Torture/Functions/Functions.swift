import Foundation
import Glibc
import Synchronization

/// Marks, results and operations of the functions.
struct FunctionEvidence {
    struct Mark { var round: Int, call: Int, id: Int, attempt: Int }
    struct Result { var round: Int, call: Int, value: Int }
    struct Row { var attempt: Int, outcome: String }

    var marks: [Mark] = []
    var results: [Result] = []
    var rows: [Int: Row] = [:]
    /// Calls that report a second run in one attempt.
    var twice: [String] = []
    /// Number of times that a program found the calls of an earlier, killed program.
    var attached = 0
    var starts = 0
}

/// A Python program that runs rounds of functions as operations (Tests/TortureFunctions). It is killed and restarted.
final class Functions: Sendable {
    private struct State {
        var program: Program?
        var wasKilled = false
        var deaths = 0
        var starts = 0
        var isOver = false
    }

    static let queue = "functions"
    private let victims: Victims
    private let ledger: Ledger
    private let script: String
    private let package: String
    private let runsTwice: Bool
    private let state = Mutex(State())
    private var directory: String { victims.work + "/functions" }
    private var log: String { victims.work + "/functions.log" }

    /// Returns nil, and prints the reason, if there is no Python 3.11.
    static func find(_ victims: Victims, _ ledger: Ledger, source: String?, runsTwice: Bool) throws
        -> Functions?
    {
        let lacking = { (what: String) -> Functions? in
            print("NOT TORTURED: the Python executor: \(what)")
            return nil
        }
        guard let source else { return lacking("no --source") }
        let words = ["/usr/bin/python3", "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        guard FileManager.default.isExecutableFile(atPath: words[0]),
            try Program(words, environment: Victims.environment, output: "/dev/null").wait(seconds: 60) == 0
        else { return lacking("no /usr/bin/python3 of version 3.11 or later") }
        return try Functions(victims, ledger, source, runsTwice: runsTwice)
    }

    private init(_ victims: Victims, _ ledger: Ledger, _ source: String, runsTwice: Bool) throws {
        self.victims = victims
        self.ledger = ledger
        self.runsTwice = runsTwice
        let files = [source + "/Tests/TortureFunctions/rounds.py", source + "/clients/python/src/opsd"]
        for file in files { try victims.provide(file) }
        let isCopied = victims.people != nil
        script = isCopied ? victims.tools + "/rounds.py" : files[0]
        package = isCopied ? victims.tools : source + "/clients/python/src"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        guard let honest = victims.people?.honest else { return }
        guard chown(directory, honest.uid, honest.gid) == 0 else { throw Trouble("\(directory) cannot be given away") }
    }

    func begin() throws {
        _ = try Wire.call(victims.socket, "SetQueue", ["name": Self.queue, "limit": 2, "create": true])
        Thread.detachNewThread { while self.keepAlive() { usleep(50_000) } }
    }

    /// Starts the program if it does not run. Returns false at the end of the run.
    private func keepAlive() -> Bool {
        state.withLock { state in
            let deaths = victims.deaths
            if let program = state.program {
                guard let status = program.wait(seconds: 0) else { return true }
                state.program = nil
                if status != 0, !state.wasKilled, state.deaths == deaths {
                    ledger.find("the Python program ended with \(status): \(Victims.tail(log))")
                    state.isOver = true
                }
            }
            if state.isOver { return false }
            if victims.isDown { return true }
            state.starts += 1
            (state.wasKilled, state.deaths) = (false, deaths)
            var environment = Victims.environment
            environment["OPS_SOCKET"] = victims.socket
            environment["PYTHONPATH"] = package
            environment["XDG_STATE_HOME"] = directory
            environment["HOME"] = directory
            if runsTwice { environment["TORTURE_TWICE"] = "1" }
            let words = ["/usr/bin/python3", "-B", script, directory, Self.queue]
            do {
                state.program = try Program(victims.asHonest + words, environment: environment, output: log)
            } catch {
                ledger.find("the Python program cannot be started: \(error)")
                state.isOver = true
            }
            return true
        }
    }

    /// Kills the program. Returns false if it does not run.
    func kill() -> Bool {
        state.withLock { state in
            guard let program = state.program else { return false }
            state.wasKilled = true
            program.signal(SIGKILL)
            return true
        }
    }

    /// Waits until the last round is complete.
    func end() {
        let path = directory + "/stop"
        guard FileManager.default.createFile(atPath: path, contents: nil) else { return ledger.find("no \(path)") }
        let end = Date().addingTimeInterval(240)
        while Date() < end {
            let isDone = state.withLock { state in
                if let status = state.program?.wait(seconds: 0), status == 0 {
                    state.program = nil
                    state.isOver = true
                }
                return state.isOver
            }
            if isDone { return }
            usleep(50_000)
        }
        ledger.find("the Python program does not end: \(Victims.tail(log))")
        state.withLock { state in
            state.isOver = true
            state.program?.signal(SIGKILL)
        }
    }

    /// `rows`: the operations of its queue.
    func evidence(_ rows: [Int: FunctionEvidence.Row]) throws -> FunctionEvidence {
        var evidence = FunctionEvidence()
        evidence.rows = rows
        evidence.starts = state.withLock { $0.starts }
        for name in try FileManager.default.contentsOfDirectory(atPath: directory + "/marks") {
            let numbers = name.split(separator: "-").compactMap { Int($0) }
            guard numbers.count == 4 else { throw Trouble("a mark with a wrong name: \(name)") }
            evidence.marks.append(.init(round: numbers[0], call: numbers[1], id: numbers[2], attempt: numbers[3]))
        }
        for line in lines(of: "results") {
            let words = line.split(separator: " ")
            if words.first == "attached" { evidence.attached += 1 }
            let numbers = words.compactMap { Int($0) }
            guard numbers.count == 3 else { continue }
            evidence.results.append(.init(round: numbers[0], call: numbers[1], value: numbers[2]))
        }
        evidence.twice = lines(of: "twice")
        return evidence
    }

    private func lines(of file: String) -> [String] {
        let bytes = FileManager.default.contents(atPath: "\(directory)/\(file)") ?? Data()  // none: nothing was done
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

extension Checker {
    /// Checks that each call is one operation, runs once in each of its attempts, and has the correct result.
    mutating func functions() -> Int {
        guard let functions = evidence.functions else { return 0 }
        struct Call: Hashable { var round: Int, call: Int }
        for line in functions.twice { find("an attempt ran its function twice: \(line)") }
        var ids: [Call: Set<Int>] = [:]
        for mark in functions.marks {
            ids[Call(round: mark.round, call: mark.call), default: []].insert(mark.id)
            if mark.attempt > functions.rows[mark.id]?.attempt ?? 0 {
                find("attempt \(mark.attempt) of operation \(mark.id) ran call \(mark.call) and is not recorded")
            }
        }
        for (call, ids) in ids where ids.count > 1 {
            find("call \(call.call) of round \(call.round) ran as the operations \(ids.sorted())")
        }
        for (id, row) in functions.rows where row.outcome != "succeeded" {
            find("operation \(id) of a function is \(row.outcome)")
        }
        var results: Set<Call> = []
        for result in functions.results {
            let call = Call(round: result.round, call: result.call)
            results.insert(call)
            if result.value != result.call * result.call + result.round {
                find("call \(result.call) of round \(result.round) has the result \(result.value)")
            }
            if ids[call] == nil { find("call \(result.call) of round \(result.round) has a result and never ran") }
        }
        for call in ids.keys where !results.contains(call) {
            find("call \(call.call) of round \(call.round) ran and its result never arrived")
        }
        return functions.results.count
    }
}

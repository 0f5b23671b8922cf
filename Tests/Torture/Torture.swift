import Foundation
import Glibc
import Synchronization

/// One run: begin, torture, settle, check, report.
struct Torture {
    let arguments: Arguments
    let victims: Victims
    let ledger = Ledger()
    let watcher: Watcher

    init(_ arguments: Arguments) throws {
        self.arguments = arguments
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        victims = try Victims(
            programs: (program as NSString).deletingLastPathComponent, work: arguments.work, workers: arguments.workers)
        watcher = Watcher(socket: victims.socket, ledger: ledger)
    }

    func run() throws -> Bool {
        print("torture: seed \(arguments.seed), \(arguments.minutes) minutes, in \(arguments.work)")
        var isFinished = false
        defer { if !isFinished { for left in victims.endAll() { print("torture: \(left)") } } }
        try victims.start()
        try prepare()
        watcher.begin()
        let end = Date().addingTimeInterval(arguments.minutes * 60)
        let clients = DispatchGroup()
        for number in 0..<arguments.clients {
            clients.enter()
            Thread.detachNewThread {
                var client = Client(number, arguments, victims, ledger, watcher)
                client.run(until: end)
                clients.leave()
            }
        }
        var faults = Faults(dice: Dice(seed: arguments.seed &+ 77), victims: victims, fillsDisk: arguments.hasSmallDisk)
        try faults.run(until: end)
        guard clients.wait(timeout: .now() + 180) == .success else { throw Trouble("a client did not come back") }
        try settle()
        let evidence = try gather(faults.done)
        let weights = (opsd: Victims.weight(victims.daemonPid), runner: Victims.weight(victims.runnerPid))
        let problems = try Wire.call(victims.socket, "Check")["problems"] as? [String] ?? []
        let logs = checkLogs(evidence)
        isFinished = true
        var checker = Checker(evidence)
        checker.run()
        for canary in Canaries.missed(in: evidence, findings: checker.findings.count) {
            checker.find("the checker did not find a planted lie: \(canary)")
        }
        for problem in problems { checker.find("check: \(problem)") }
        for finding in logs.findings { checker.find("logs are whole: \(finding)") }
        for left in livingOperations() + victims.endAll() { checker.find("nothing is left alive: \(left)") }
        report(checker, evidence, logs: logs.checked)
        print(
            "opsd: \(weights.opsd.descriptors) descriptors, \(weights.opsd.resident) KiB; runner: \(weights.runner.descriptors) descriptors, \(weights.runner.resident) KiB"
        )
        if !arguments.keeps, checker.findings.isEmpty { try FileManager.default.removeItem(atPath: arguments.work) }
        return checker.findings.isEmpty
    }

    private func prepare() throws {
        for (queue, limit) in Planner.queueLimits where queue != "main" {
            _ = try Wire.call(victims.socket, "SetQueue", ["name": queue, "limit": limit, "create": true])
        }
        _ = try Wire.call(victims.socket, "SetCategory", ["name": "gpu", "capacity": Planner.unitCapacity])
    }

    /// Takes away everything that holds operations back, and waits until all are finished.
    private func settle() throws {
        let resumptions: [[String: Any]] =
            [[:], ["selection": ["all": true]]]
            + Set(Planner.queues).sorted().map { ["selection": ["queue": $0]] }
            + ledger.copy.graphs.map { ["selection": ["graph": $0]] }
        for parameters in resumptions { _ = try Wire.call(victims.socket, "Resume", parameters) }
        // Graphs whose acknowledgement nobody waited for may have been suspended by nobody.
        _ = try Wire.call(victims.socket, "SetQueue", ["name": "live", "limit": 4])
        _ = try Wire.call(victims.socket, "SetCategory", ["name": "gpu", "capacity": Planner.unitCapacity])
        _ = try Wire.call(victims.socket, "SetWorkers", ["workers": arguments.workers])
        do throws(CallError) {
            _ = try Wire.call(
                victims.socket, "Wait", ["selection": ["all": true], "timeout": "120s"], seconds: 150)
        } catch {
            ledger.find("after 120 s not everything has settled: \(error)")
            try explain()
        }
    }

    /// What the unsettled wait for, in their own words, and what those wait for in turn.
    private func explain() throws {
        var open: [Int] = []
        for state in ["executing", "ready", "pending"] {
            let rows = try Wire.call(victims.socket, "List", ["selection": ["state": state], "limit": 5])
            open += (rows["operations"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? Int }
        }
        var seen: Set<Int> = []
        while let id = open.popLast(), seen.count < 60 {
            guard seen.insert(id).inserted else { continue }
            let why = try Wire.call(victims.socket, "Why", ["ref": "\(id)"])
            let row = try Wire.call(victims.socket, "Show", ["ref": "\(id)"])
            let operation = row["operation"] as? [String: Any] ?? [:]
            ledger.find(
                "operation \(id) (\(operation["name"] ?? "")): \(canonical(why)); categories \(operation["categories"] ?? ""), effective priority \(operation["effectivePriority"] ?? ""), group \(operation["group"] ?? "")"
            )
            for reason in why["waitingFor"] as? [[String: Any]] ?? [] { open += reason["ids"] as? [Int] ?? [] }
        }
        let categories = try Wire.call(victims.socket, "ListCategories")
        ledger.find("categories: \(canonical(categories).prefix(4000))")
    }

    private func gather(_ faults: [Faults.Fault]) throws -> Evidence {
        guard let last = try Wire.call(victims.socket, "Status")["lastSeq"] as? Int else { throw Trouble("no lastSeq") }
        if !watcher.end(after: last, seconds: 60) {
            ledger.find("the watcher was not told all \(last) events within 60 s")
        }
        return try Evidence(victims: victims, ledger: ledger, watched: watcher.copy, faults: faults)
    }

    /// With everything finished no process of an operation may live.
    private func livingOperations() -> [String] {
        victims.processes.filter { $0.words.contains("/torture-mark ") }.map {
            "operation process \($0.pid) lives: \($0.words)"
        }
    }

    /// The output of attempts that nobody disturbed, as opsctl shows it.
    private func checkLogs(_ evidence: Evidence) -> (checked: Int, findings: [String]) {
        var dice = Dice(seed: arguments.seed)
        var findings: [String] = []
        var checked = 0
        for row in evidence.rows.values.sorted(by: { $0.id < $1.id }).shuffled(using: &dice) where checked < 200 {
            guard let plan = evidence.planned[row.name], plan.lines > 0 else { continue }
            for attempt in row.attempts where attempt.outcome == "succeeded" || attempt.outcome == "failed" {
                let end = evidence.marks.ends[.init(id: row.id, number: attempt.number)]
                // On a full disk it could not write all, and says so itself.
                guard end?.isLogWhole == true else { continue }
                checked += 1
                let wanted = (0..<plan.lines).map { "\(row.name) attempt \(attempt.number) line \($0)\n" }.joined()
                let path = arguments.work + "/log-\(row.id)-\(attempt.number)"
                var environment = Victims.environment
                environment["OPS_SOCKET"] = victims.socket
                guard
                    let program = try? Program(  // an opsctl that cannot be started is a finding
                        [victims.programs + "/opsctl", "log", "\(row.id)", "--attempt", "\(attempt.number)"],
                        environment: environment, output: path), program.wait(seconds: 60) == 0,
                    let text = try? String(contentsOfFile: path, encoding: .utf8)
                else {
                    findings.append("the log of operation \(row.id), attempt \(attempt.number) cannot be shown")
                    continue
                }
                if text != wanted {
                    findings.append(
                        "operation \(row.id), attempt \(attempt.number): \(text.utf8.count) bytes, wanted \(wanted.utf8.count): \(path)"
                    )
                }
            }
        }
        return (checked, findings)
    }

    private func report(_ checker: Checker, _ evidence: Evidence, logs: Int) {
        var kinds: [String: Int] = [:]
        for fault in evidence.faults { kinds[fault.kind, default: 0] += 1 }
        var outcomes: [String: Int] = [:]
        for row in evidence.rows.values { outcomes[row.outcome ?? row.state, default: 0] += 1 }
        let list = { (counts: [String: Int]) in
            counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
        }
        print("operations: \(evidence.rows.count): \(list(outcomes))")
        print(
            "attempts: \(evidence.marks.starts.count) executed; events: \(evidence.events.count), reconnections of the watcher: \(evidence.watched.reconnections)"
        )
        print("calls: \(list(evidence.ledger.calls))")
        print("faults: \(evidence.faults.count): \(list(kinds)); starts of opsd: \(victims.starts)")
        for (promise, checked) in checker.report { print("  checked \(checked): \(promise)") }
        print("  checked \(logs): logs are whole")
        print("  checked \(Canaries.all.count): lies planted in this evidence are found")
        for finding in checker.findings.prefix(60) { print("VIOLATION \(finding)") }
        print("torture: \(checker.findings.count) violations, seed \(arguments.seed)")
    }
}

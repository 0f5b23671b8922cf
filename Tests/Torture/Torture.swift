import Foundation
import Glibc
import Synchronization

/// One run: start, torture, settle, check, report.
struct Torture {
    let arguments: Arguments
    let victims: Victims
    let ledger = Ledger()
    let watcher: Watcher
    let hostility: Hostility?
    let calendar: Calendar
    let companions: Companions

    init(_ arguments: Arguments) throws {
        self.arguments = arguments
        let program = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let people: People?
        do {
            people = try People.find(work: arguments.work).get()
        } catch {
            people = nil
            print("NOT TORTURED: hostile users: \(error)")
        }
        victims = try Victims(
            programs: (program as NSString).deletingLastPathComponent, people: people, work: arguments.work,
            workers: arguments.workers, disk: arguments.disk, shim: arguments.shim)
        if !arguments.usesControlGroups { try victims.doWithoutControlGroups() }
        hostility = try Hostility(
            victims: victims, ledger: ledger, seed: arguments.seed, attacks: arguments.attacks)
        calendar = Calendar(victims, ledger, runsTwice: arguments.sabotage == .instants)
        companions = try Companions(victims, ledger, arguments)
        watcher = Watcher(socket: victims.socket, mayLackStorage: victims.mayLackStorage, ledger: ledger)
    }

    func run() throws -> Bool {
        print("torture: seed \(arguments.seed), \(arguments.minutes) minutes, in \(arguments.work)")
        var isFinished = false
        defer {
            if !isFinished {
                keepState()
                hostility?.killAll()
                for left in victims.endAll() { print("torture: \(left)") }
            }
        }
        let (record, kept) = (victims.state + "/record", victims.work + "/record-of-finding-")
        ledger.onFinding { number, text in
            // Printed at once, because the run may not reach its report.
            FileHandle.standardError.write(Data("torture: after event \(watcher.count): \(text)\n".utf8))
            // A copy of the record covers some minutes. Later findings are usually consequences of the first ones.
            if number > 3 { return }
            do { try FileManager.default.copyItem(atPath: record, toPath: kept + "\(number)") } catch {
                print("torture: the record of finding \(number) cannot be kept: \(error)")
            }
        }
        if victims.disk.image != nil { try Disk.keepHonest(victims.mount) }
        try victims.start()
        try prepare()
        try calendar.prepare()
        watcher.begin()
        try hostility?.begin()
        try companions.begin()
        let end = Date().addingTimeInterval(arguments.minutes * 60)
        let clients = DispatchGroup()
        clients.enter()
        Thread.detachNewThread {
            calendar.drop(until: end)
            clients.leave()
        }
        for number in 0..<arguments.clients {
            clients.enter()
            Thread.detachNewThread {
                var client = Client(number, arguments, victims, ledger, watcher, companions.transfers)
                client.run(until: end)
                clients.leave()
            }
        }
        var faults = Faults(
            dice: Dice(seed: arguments.seed &+ 77), victims: victims, watcher: watcher, ledger: ledger,
            companions: companions, only: arguments.only, sabotage: arguments.sabotage)
        // The last seconds have no faults, so that there is some output that no fault can have lost.
        try faults.run(until: end.addingTimeInterval(-5))
        guard clients.wait(timeout: .now() + 180) == .success else { throw Trouble("a client still runs after 180 s") }
        try settle()
        let evidence = try gather(faults.done)
        let weights = (opsd: Victims.weight(victims.daemonPid), runner: Victims.weight(victims.runnerPid))
        let problems = try Wire.call(victims.socket, "Check")["problems"] as? [String] ?? []
        isFinished = true
        var checker = Checker(evidence)
        checker.run()
        for canary in Canaries.missed(in: evidence, findings: checker.findings.count) {
            checker.find("the checker did not find a planted false fact: \(canary)")
        }
        for problem in problems { checker.find("check: \(problem)") }
        hostility?.killLeftovers()
        for left in livingOperations() + victims.endAll() { checker.find("no process is left at the end: \(left)") }
        Report(evidence, victims).tell()
        for (process, weight) in [("opsd", weights.opsd), ("runner", weights.runner)] {
            print("\(process): \(weight.descriptors) descriptors, \(weight.resident) KiB")
        }
        if let hostility { print("opsd under attack: at most \(hostility.mostResident) KiB") }
        Report.tell(checker, seed: arguments.seed)
        if !checker.findings.isEmpty { keepState() }
        return checker.findings.isEmpty
    }

    private func prepare() throws {
        for (queue, limit) in Planner.queueLimits where queue != "main" {
            _ = try Wire.call(victims.socket, "SetQueue", ["name": queue, "limit": limit, "create": true])
        }
        _ = try Wire.call(victims.socket, "SetCategory", ["name": "gpu", "capacity": Planner.unitCapacity])
        for units in Planner.namedUnits {
            let share = arguments.sabotage == .units ? units.share + 1 : units.share
            let parameters = ["name": units.category, "units": units.names, "share": share] as [String: Any]
            _ = try Wire.call(victims.socket, "SetCategory", parameters)
        }
        let rate = Planner.rate
        let starts = arguments.sabotage == .rates ? 10 * rate.count : rate.count
        let limit: [String: Any] = [
            "name": rate.category, "rate": "\(starts)/\(Int(rate.seconds))s", "unlimited": true,
        ]
        _ = try Wire.call(victims.socket, "SetCategory", limit)
        if arguments.sabotage == .limits {
            for queue in ["one", "two"] { _ = try Wire.call(victims.socket, "SetQueue", ["name": queue, "limit": 4]) }
        }
    }

    /// Removes everything that keeps operations from starting, and waits until all have finished.
    private func settle() throws {
        victims.shim?.repairDisk()
        try hostility?.end()
        // A graph may be suspended because its client did not wait for the reply.
        let resumptions: [[String: Any]] =
            [[:], ["selection": ["all": true]]]
            + Set(Planner.queues).sorted().map { ["selection": ["queue": $0]] }
            + ledger.copy.graphs.map { ["selection": ["graph": $0]] }
        for parameters in resumptions { try insist("Resume", parameters) }
        try insist("SetQueue", ["name": "live", "limit": 4])
        try insist("SetCategory", ["name": "gpu", "capacity": Planner.unitCapacity])
        for units in Planner.namedUnits { try insist("SetCategory", ["name": units.category, "units": units.names]) }
        try insist("SetWorkers", ["workers": arguments.workers])
        try calendar.settle()
        companions.functions?.end()
        try waitUntilSettled()
    }

    /// Repeats a call until opsd notices that the disk has been repaired, which it must do by itself.
    private func insist(_ method: String, _ parameters: [String: Any]) throws {
        let end = Date().addingTimeInterval(30)
        while true {
            do throws(CallError) {
                _ = try Wire.call(victims.socket, method, parameters)
                return
            } catch {
                if error.isRefusal("NotFound") { return ledger.find("\(method) \(canonical(parameters)): \(error)") }
                let mayRecover = victims.mayLackStorage && error.isRefusal("StorageUnavailable")
                guard mayRecover, Date() < end else { throw error }
                usleep(50_000)
            }
        }
    }

    /// Waits until all operations have finished. Gives up after 60 seconds without an event, or after ten minutes.
    private func waitUntilSettled() throws {
        let end = Date().addingTimeInterval(600)
        var seen = -1
        while true {
            do throws(CallError) {
                let wanted: [String: Any] = ["selection": ["all": true], "timeout": "60s"]
                _ = try Wire.call(victims.socket, "Wait", wanted, seconds: 90)
                return
            } catch {
                let last = try Wire.call(victims.socket, "Status")["lastSeq"] as? Int ?? 0
                let isMoving = last > seen && Date() < end
                seen = last
                if isMoving, error.isRefusal("TimedOut") { continue }
                ledger.find("not all operations have finished: \(error)")
                return try explain()
            }
        }
    }

    /// Records opsd's explanation why each unfinished operation waits, and why the operations wait that it waits for.
    private func explain() throws {
        var open: [Int] = []
        for state in ["executing", "waiting"] {
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
        if let page = companions.page, !page.end(after: last, seconds: 60) {
            ledger.find("the page did not receive all \(last) events within 60 s")
        }
        // The evidence, which is read next, also contains events that occurred meanwhile.
        let newest = try Wire.call(victims.socket, "Status")["lastSeq"] as? Int ?? last
        if !watcher.end(after: newest, seconds: 60) {
            ledger.find("the watcher did not receive all \(newest) events within 60 s")
        }
        var evidence = try Evidence(
            victims: victims, ledger: ledger, watched: watcher.copy, faults: faults, dice: Dice(seed: arguments.seed))
        evidence.readForeignBytes(victims)
        evidence.calendar = try calendar.evidence()
        evidence.transfers = try companions.transfers?.evidence(evidence.planned)
        evidence.functions = try companions.functions?.evidence(evidence.functionRows)
        evidence.page = companions.page?.copy
        evidence.attacks = hostility?.tally ?? [:]
        evidence.powers = hostility?.findings ?? []
        return evidence
    }

    /// Returns the processes of operations that still exist. None may, because all operations have finished.
    private func livingOperations() -> [String] {
        victims.processes.filter { $0.words.contains("/torture-mark ") }.map {
            "operation process \($0.pid) still exists: \($0.words)"
        }
    }

    /// Copies the state directory from the disk of this run, which is about to be removed.
    private func keepState() {
        let kept = arguments.work + "/state.kept"
        // Sockets cannot be copied, and contain nothing.
        for name in FileManager.default.subpaths(atPath: victims.state) ?? [] where !name.hasSuffix(".sock") {
            let directory = (kept + "/" + name as NSString).deletingLastPathComponent
            do {
                try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
                guard FileManager.default.contents(atPath: victims.state + "/" + name) != nil else { continue }
                try FileManager.default.copyItem(atPath: victims.state + "/" + name, toPath: kept + "/" + name)
            } catch {
                print("torture: the state cannot be kept: \(error)")
            }
        }
    }
}

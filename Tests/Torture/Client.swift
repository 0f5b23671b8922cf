import Foundation
import Synchronization

/// A client that makes random requests, and records the replies.
struct Client {
    var dice: Dice
    var planner: Planner
    let victims: Victims
    let ledger: Ledger
    let watcher: Watcher
    let name: String
    private let losesEdges: Bool
    private var submissions = 0
    /// Maximum number of unfinished operations: beyond it nothing is submitted.
    static let backlog = 250

    init(
        _ number: Int, _ arguments: Arguments, _ victims: Victims, _ ledger: Ledger, _ watcher: Watcher,
        _ transfers: Transfers?
    ) {
        let seed = arguments.seed
        dice = Dice(seed: seed &* 1000 &+ UInt64(number))
        name = "s\(number)"
        planner = Planner(
            dice: Dice(seed: seed &* 1000 &+ 500 &+ UInt64(number)), prefix: name,
            mark: [victims.tools + "/torture-mark", victims.marks, victims.locks], opsctl: victims.tools + "/opsctl",
            highestPriority: victims.people == nil ? 8 : 4, transfers: transfers, sabotage: arguments.sabotage)
        losesEdges = arguments.sabotage == .edges
        self.victims = victims
        self.ledger = ledger
        self.watcher = watcher
    }

    mutating func run(until end: Date) {
        while Date() < end {
            let isFull = watcher.unfinished > Self.backlog
            do throws(CallError) {
                try act(isFull ? dice.roll(40...99) : dice.roll(0...99))
            } catch {
                tell(error)
            }
            usleep(UInt32(dice.roll(0...(isFull ? 60_000 : 25_000))))
        }
    }

    private mutating func act(_ choice: Int) throws(CallError) {
        // Held operations block those that depend on them, until nothing else is left.
        if choice >= 40, dice.happens(2) {
            _ = try call("Resume", ["selection": ["all": true]])
            return
        }
        switch choice {
        case 0..<36: try submit()
        case 36..<40: try submitAndVanish()
        case 40..<48: try cancel()
        case 48..<54: try retry()
        case 54..<60: try suspendOrResumeOperation()
        case 60..<64: try suspendOrResumeLevel()
        case 64..<68: try freeze()
        case 68..<73: try prioritise()
        case 73..<79: try depend()
        case 79..<83: try changeLimit()
        case 83..<86: try cutInMidMessage()
        case 86..<97: try ask()
        default: try runProgram()
        }
    }

    /// Counts an expected failure of a call, and records any other as a finding.
    private func tell(_ error: CallError) {
        switch error {
        case .unreachable: ledger.count("unreachable")
        case .lost: ledger.count("lost replies")
        case .silent: ledger.find("a call got no answer for 60 s")
        case .refused(let refusal):
            ledger.count("refused")
            if ["WrongState", "Cycle"].contains(refusal.name) || isExpected(refusal) { return }
            // An edge may be gone, but an acknowledged operation never is.
            if refusal.name == "NotFound", refusal.kind != "operation" { return }
            ledger.find("\(refusal)")
        }
    }

    /// On a full or failing disk nothing may be acknowledged, and a failing disk must not be reported as a damaged
    /// database.
    private func isExpected(_ refusal: Refusal) -> Bool {
        victims.mayLackStorage && refusal.name == "StorageUnavailable" && !refusal.text.contains("malformed")
    }

    /// Calls as the honest user, if there is one.
    private func call(_ method: String, _ parameters: [String: Any]) throws(CallError) -> [String: Any] {
        try timed(method, parameters, as: victims.people?.honest)
    }

    /// Calls as the torture's own user, who may change shared settings.
    private func command(_ method: String, _ parameters: [String: Any]) throws(CallError) -> [String: Any] {
        try timed(method, parameters, as: nil)
    }

    private func timed(_ method: String, _ parameters: [String: Any], as person: Person?) throws(CallError)
        -> [String: Any]
    {
        ledger.count(method)
        let begun = Instant.now
        let reply = try Wire.call(victims.socket, method, parameters, as: person)
        // The reply to a waiting call does not show how busy the daemon is.
        if method != "Wait" {
            let time = begun...max(begun, Instant.now)
            ledger.write { $0.answered.append(.init(method: method, time: time)) }
        }
        return reply
    }

    // MARK: Submitting

    private mutating func prepare() -> (key: String, parameters: [String: Any], names: [String]) {
        submissions += 1
        let key = "\(name)/\(submissions)"
        var (operations, planned) = planner.graph(dice.happens(90) ? dice.roll(1...12) : dice.roll(30...60))
        let now = Instant.now
        for place in planned.indices { planned[place].sentAt = now }
        let all = planned
        ledger.write { $0.submissions[key] = .init(key: key, operations: all) }
        if losesEdges { for place in operations.indices { operations[place]["after"] = nil } }
        let capture: [String: Any] = [
            "environment": ["PATH": "/usr/bin:/bin", "TORTURE": victims.work + "/"], "directory": "/", "umask": 0o22,
        ]
        return (key, ["operations": operations, "key": key, "capture": capture, "list": true], planned.map(\.name))
    }

    /// Repeats a submission until its result is known. The key makes this safe.
    private mutating func submit() throws(CallError) {
        let (key, parameters, names) = prepare()
        while true {
            do throws(CallError) {
                let reply = try call("Submit", parameters)
                return acknowledge(key, reply, names)
            } catch {
                if case .silent = error { throw error }
                if let refusal = error.refusal, !isExpected(refusal) {
                    ledger.write { $0.submissions[key] = nil }
                    // Clients change capacities. A request for more than the current capacity is refused correctly.
                    let isAboutIt = Planner.changing.contains { refusal.text.contains($0) }
                    if !isAboutIt { ledger.find("submission \(key) was refused: \(refusal)") }
                    return
                }
                ledger.count("repeated submissions")
                usleep(20_000)
            }
        }
    }

    /// Sends a submission without waiting for the reply. It must be stored completely or not at all.
    private mutating func submitAndVanish() throws(CallError) {
        let (_, parameters, _) = prepare()
        ledger.count("vanished submissions")
        let wire = try Wire(victims.socket, as: victims.people?.honest)
        try wire.send("Submit", parameters)
        usleep(UInt32(dice.roll(0...3000)))
    }

    private func acknowledge(_ key: String, _ reply: [String: Any], _ names: [String]) {
        let rows = reply["operations"] as? [[String: Any]] ?? []
        var ids: [String: Int] = [:]
        for row in rows { if let name = row["name"] as? String, let id = row["id"] as? Int { ids[name] = id } }
        guard let graph = reply["graph"] as? String, ids.count == names.count else {
            return ledger.find(
                "submission \(key): \(names.count) operations were sent, \(ids.count) acknowledged: \(reply)")
        }
        ledger.acknowledge(key, graph: graph, ids: ids)
    }

    // MARK: Changing

    /// Draws an operation, usually one of the newest.
    private mutating func target() -> Int? {
        let ids = ledger.read { page in Array(page.ids.suffix(300)) }
        return dice.happens(90) ? dice.pick(ids) : dice.pick(Array(ids.suffix(20)))
    }

    private func of(_ id: Int) -> [String: Any] { ["selection": ["refs": ["\(id)"]]] }

    private mutating func cancel() throws(CallError) {
        if dice.happens(25), let graph = dice.pick(ledger.read { page in Array(page.graphs.suffix(30)) }) {
            ledger.write { _ = $0.graphsThatMayBeCancelled.insert(graph) }
            return noteCancelled(try call("Cancel", ["selection": ["graph": graph], "reason": "torture"]))
        }
        guard let id = target() else { return }
        ledger.write { _ = $0.mayBeCancelled.insert(id) }
        noteCancelled(try call("Cancel", of(id)))
    }

    private func noteCancelled(_ reply: [String: Any]) {
        let ids = reply["ids"] as? [Int] ?? []
        // Some operations had already ended. The reply does not say which, so none is expected to be cancelled.
        guard reply["touched"] as? Int == ids.count else { return }
        ledger.write { $0.cancelled.formUnion(ids) }
    }

    private mutating func retry() throws(CallError) {
        guard let id = target() else { return }
        ledger.write { _ = $0.mayBeRetried.insert(id) }
        var parameters = of(id)
        if dice.happens(25) { parameters["downstream"] = true }
        let ids = try call("Retry", parameters)["ids"] as? [Int] ?? []
        ledger.write { $0.retried.formUnion(ids) }
    }

    private mutating func suspendOrResumeOperation() throws(CallError) {
        guard let id = target() else { return }
        _ = try call(dice.happens(40) ? "Suspend" : "Resume", of(id))
    }

    private mutating func suspendOrResumeLevel() throws(CallError) {
        var parameters: [String: Any] = [:]
        switch dice.roll(0...2) {
        case 0:
            if let graph = dice.pick(ledger.read { page in Array(page.graphs.suffix(30)) }) {
                parameters = ["selection": ["graph": graph]]
            }
        case 1: parameters = ["selection": ["queue": dice.pick(Planner.queues) ?? "default"]]
        default: break
        }
        _ = try command("Suspend", parameters)
        usleep(UInt32(dice.roll(0...200_000)))
        for _ in 0..<200 {
            // Repeated, because the queue or graph would stay suspended otherwise. `settle` resumes those that a crash
            // has left suspended.
            do throws(CallError) {
                _ = try command("Resume", parameters)
                return
            } catch {
                if let refusal = error.refusal, !isExpected(refusal) { throw error }
                usleep(20_000)
            }
        }
    }

    private mutating func freeze() throws(CallError) {
        guard let id = target() else { return }
        var parameters = of(id)
        parameters["freeze"] = true
        _ = try call("Suspend", parameters)
        usleep(UInt32(dice.roll(0...300_000)))
        _ = try call("Resume", of(id))
    }

    private mutating func prioritise() throws(CallError) {
        guard let id = target() else { return }
        var parameters = of(id)
        parameters["changes"] = ["priority": dice.roll(-100...100)]
        _ = try command("Set", parameters)
    }

    private mutating func depend() throws(CallError) {
        guard let id = target(), let on = target() else { return }
        let when = dice.pick(["succeeded", "finished", "finished"]) ?? "finished"
        let edge = Ledger.Edge(id: id, on: on, when: when)
        let parameters = ["ref": "\(id)", "on": "\(on)"]
        if dice.happens(70) {
            _ = try call("AddDependency", parameters.merging(["when": when]) { $1 })
            if let by = try call("Status", [:])["lastSeq"] as? Int { ledger.write { $0.edgesAdded[edge] = by } }
        } else {
            let all = ["succeeded", "finished", "failed", "started"].map { Ledger.Edge(id: id, on: on, when: $0) }
            ledger.write { $0.edgesInDoubt.formUnion(all) }
            _ = try call("RemoveDependency", parameters)
        }
    }

    private mutating func changeLimit() throws(CallError) {
        switch dice.roll(0...3) {
        case 0: try setLimit(dice.roll(0...4), of: "live")
        case 2: try changeUnits()
        case 1: _ = try command("SetCategory", ["name": "gpu", "capacity": dice.roll(0...Planner.unitCapacity)])
        // If there are attackers, at least one slot always remains that they cannot use.
        default: try setLimit(dice.roll((victims.people == nil ? 1 : 3)...max(3, victims.workers)), of: nil)
        }
    }

    /// Drains units of a category, adds them again, and changes their order.
    private mutating func changeUnits() throws(CallError) {
        guard let units = dice.pick(Planner.namedUnits) else { return }
        var left = units.names
        while left.count > 1, dice.happens(40) { left.remove(at: dice.roll(0...left.count - 1)) }
        left.swapAt(0, left.count - 1)
        _ = try command("SetCategory", ["name": units.category, "units": left])
    }

    /// Changes the limit of a queue, or of the pool.
    private func setLimit(_ limit: Int, of queue: String?) throws(CallError) {
        let begun = Instant.now
        let place = ledger.write {
            $0.limits.append(.init(queue: queue, value: limit, after: begun))
            return $0.limits.count - 1
        }
        if let queue {
            _ = try command("SetQueue", ["name": queue, "limit": limit])
        } else {
            _ = try command("SetWorkers", ["workers": limit])
        }
        ledger.write { $0.limits[place].before = Instant.now }
    }

    private mutating func cutInMidMessage() throws(CallError) {
        ledger.count("connections cut")
        let wire = try Wire(victims.socket)
        try wire.sendHalf("Submit", ["operations": [["command": ["false"]]], "key": "never"], dice: &dice)
    }

    // MARK: Asking

    private mutating func ask() throws(CallError) {
        guard let id = target() else { return }
        switch dice.roll(0...5) {
        case 0: _ = try call("Show", ["ref": "\(id)"])
        case 1: try why(id)
        case 2: _ = try call("Status", [:])
        case 3: _ = try call("List", ["selection": ["state": "executing"], "limit": 1000])
        case 4: _ = try call("ListQueues", [:])
        default:
            do throws(CallError) {
                _ = try call("Wait", of(id).merging(["timeout": "300ms"]) { $1 })
            } catch {
                // A timeout was requested.
                if !error.isRefusal("TimedOut") { throw error }
            }
        }
    }

    /// Checks that every unfinished operation has a reason for waiting.
    private mutating func why(_ id: Int) throws(CallError) {
        let answer = try call("Why", ["ref": "\(id)"])
        let reasons = answer["waitingFor"] as? [[String: Any]] ?? []
        if let state = answer["state"] as? String, state == "pending" || state == "ready", reasons.isEmpty {
            ledger.find("operation \(id) is \(state) and has no reason for waiting: \(answer)")
        }
    }

    /// Checks that the real opsctl never hangs, whatever happens to the daemon.
    private mutating func runProgram() throws(CallError) {
        guard let id = target() else { return }
        let verbs = [
            ["show", "\(id)"], ["ls", "--state", "executing"], ["status"], ["log", "\(id)"], ["why", "\(id)"],
            ["ls", "--json", "\(id)"],
        ]
        ledger.count("opsctl")
        var environment = Victims.environment
        environment["OPS_SOCKET"] = victims.socket
        let (deaths, wasDown) = (victims.deaths, victims.isDown)
        guard let words = dice.pick(verbs),
            let program = try? Program(  // a failure is reported below
                [victims.programs + "/opsctl"] + words, environment: environment, output: "/dev/null")
        else { return ledger.find("opsctl cannot be started") }
        guard let status = program.wait(seconds: 60) else {
            program.signal(9)
            _ = program.wait(seconds: 5)
            return ledger.find("opsctl \(words.joined(separator: " ")) hung")
        }
        if status == 128 + SIGKILL, wasDown || victims.deaths > deaths { return }
        if ![0, 1, 3, 4, 5].contains(status), !(victims.mayLackStorage && status == 6) {
            ledger.find("opsctl \(words.joined(separator: " ")) ended with \(status)")
        }
    }
}

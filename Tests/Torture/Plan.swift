/// Operation as the torture requested it, kept for comparison with its result.
struct Planned: Sendable {
    struct Edge: Sendable { var on: String, when: String }

    var name: String
    /// Name of its group.
    var parent: String?
    var children: [String] = []
    var isGroup = false
    var after: [Edge] = []
    /// Arguments of torture-mark.
    var words: [String] = []
    var code = 0
    var signal = 0
    /// Number of the first attempt that succeeds.
    var until = Int.max
    var lines = 0
    var hasTimeout = false
    /// Shortest time in seconds between the reading of its submission and its start.
    var delay: Double?
    /// Instant of the machine's clock at which its submission had not been sent yet.
    var sentAt = -Double.infinity
    var hasCondition = false
    var isHeld = false
    var hasCategories = false
    /// True if its category has a rate.
    var isRated = false
    /// True if another of its processes may outlive the one that writes the marks.
    var hasGrandchild = false
    /// True if the operation ends when it reports its end, not when its process ends.
    var tellsItsEnd = false
    var retryLimit = 0
    /// Child that the operation submits while it executes.
    var product: String?
    /// File that the operation fetches instead of executing torture-mark.
    var transfer: PlannedTransfer?

    /// Returns the exit code of an undisturbed attempt, or the signal that ends it.
    func ending(attempt: Int) -> (code: Int?, signal: Int?) {
        if attempt >= until { return (0, nil) }
        return signal > 0 ? (nil, signal) : (code, nil)
    }
}

/// Draws random graphs: the JSON to submit, and the operations that should result from it.
struct Planner {
    var dice: Dice
    let prefix: String
    let mark: [String]
    let opsctl: String
    let highestPriority: Int
    private let isForged: Bool
    /// True if the server changes files in a way that no client can detect, which is a planted fault.
    let isTreacherous: Bool
    private let transfers: Transfers?
    private var count = 0
    private var planned: [Planned] = []

    static let queues = ["default", "default", "default", "main", "one", "two", "three", "live"]
    /// Limits of the queues. The limit of `live` changes during the run, and never exceeds this one.
    static let queueLimits = ["main": 1, "one": 1, "two": 2, "three": 3, "live": 4]
    static let unitCapacity = 3
    /// Categories of named units. At most `share` operations hold a unit at once.
    static let namedUnits = [
        NamedUnits(category: "tpu", names: ["t0", "t1", "t2", "t3"], share: 1),
        NamedUnits(category: "mig", names: ["m0", "m1"], share: 2),
    ]
    /// Categories whose capacity changes during the run.
    static let changing = ["gpu"] + namedUnits.map(\.category)
    /// Category in which at most `count` operations may start within `seconds`.
    static let rate = (category: "api", count: 2, seconds: 1.0)

    struct NamedUnits { var category: String, names: [String], share: Int }

    init(
        dice: Dice, prefix: String, mark: [String], opsctl: String, highestPriority: Int, transfers: Transfers?,
        sabotage: Sabotage?
    ) {
        isForged = sabotage == .forging
        isTreacherous = sabotage == .bytes
        self.transfers = transfers
        self.opsctl = opsctl
        self.highestPriority = highestPriority
        self.dice = dice
        self.prefix = prefix
        self.mark = mark
    }

    /// Draws a graph of `size` top-level operations, some of which are groups.
    mutating func graph(_ size: Int) -> (operations: [[String: Any]], planned: [Planned]) {
        planned = []
        var operations: [[String: Any]] = []
        var names: [String] = []
        for _ in 0..<size {
            var operation: [String: Any]
            let name = newName()
            if dice.happens(8) { operation = group(name) } else { operation = plain(name, in: nil, queue: nil) }
            let edges = edges(to: names)
            if !edges.isEmpty {
                operation["after"] = edges.map {
                    $0.when == "succeeded" ? $0.on as Any : ["op": $0.on, "when": $0.when]
                }
                if let place = planned.firstIndex(where: { $0.name == name }) { planned[place].after = edges }
            }
            names.append(name)
            operations.append(operation)
        }
        return (operations, planned)
    }

    private mutating func newName() -> String {
        count += 1
        return "\(prefix)-\(count)"
    }

    private mutating func edges(to names: [String]) -> [Planned.Edge] {
        guard !names.isEmpty, dice.happens(60) else { return [] }
        var edges: [Planned.Edge] = []
        for _ in 0..<dice.roll(1...3) {
            guard let on = dice.pick(Array(names.suffix(8))), !edges.contains(where: { $0.on == on }) else { continue }
            edges.append(
                .init(
                    on: on,
                    when: dice.pick(["succeeded", "succeeded", "finished", "finished", "failed", "started"])
                        ?? "finished"))
        }
        return edges
    }

    private mutating func group(_ name: String) -> [String: Any] {
        var group = Planned(name: name)
        group.isGroup = true
        var operation: [String: Any] = ["name": name]
        var locks: [String] = []
        if dice.happens(40) {
            let category = "c\(dice.roll(0...3))"
            operation["categories"] = [category]
            locks.append("s:\(category)")
        }
        if dice.happens(60) {
            let limit = dice.roll(1...2)
            operation["limit"] = limit
            locks.append("n:group-\(name):\(limit):1")
        }
        let queue = dice.pick(Self.queues) ?? "default"
        operation["queue"] = queue
        var children: [[String: Any]] = []
        for _ in 0..<dice.roll(1...4) {
            let child = newName()
            children.append(plain(child, in: (name, locks), queue: queue))
            group.children.append(child)
        }
        operation["operations"] = children
        planned.append(group)
        return operation
    }

    private mutating func plain(_ name: String, in group: (name: String, locks: [String])?, queue: String?) -> [String:
        Any]
    {
        var plan = Planned(name: name)
        plan.parent = group?.name
        let queueName = queue ?? dice.pick(Self.queues) ?? "default"
        var operation: [String: Any] = ["name": name]
        var words = ["name=\(name)"] + (group?.locks ?? [])
        if let limit = Self.queueLimits[queueName] { words.append("n:queue-\(queueName):\(limit):1") }
        if queue == nil { operation["queue"] = queueName }
        if group == nil { addCategories(&operation, &words, &plan) }
        plan.hasCategories = operation["categories"] != nil
        // Transfers are only in the queue without a limit: limits also count the time between the decision and the
        // start of a transfer, which no event shows.
        if let transfers, queueName == "default", dice.happens(10) {
            addScheduling(&operation, &plan)
            addTransfer(&operation, &plan, from: transfers)
        } else {
            addEnding(&operation, &words, &plan)
            addScheduling(&operation, &plan)
            operation["grace"] = "\(dice.roll(1...4) * 100)ms"
            if isForged, dice.happens(20) { words.append("status=\(Attacker.mine)") }
            operation["command"] = mark + words
        }
        plan.words = words
        planned.append(plan)
        return operation
    }

    private mutating func addCategories(
        _ operation: inout [String: Any], _ words: inout [String], _ plan: inout Planned
    ) {
        guard dice.happens(35) else { return }
        switch dice.roll(0...9) {
        case 0...2:
            let first = dice.roll(0...3)
            let second = dice.roll(0...3)
            let names = first == second ? ["c\(first)"] : ["c\(first)", "c\(second)"]
            operation["categories"] = names
            words += names.map { "x:\($0)" }
        case 3...4:
            let isShared = dice.happens(70)
            operation["categories"] = [["name": "disk", "mode": isShared ? "shared" : "exclusive"]]
            words.append(isShared ? "s:disk" : "x:disk")
        case 5...7:
            let (category, word) = namedUnits()
            operation["categories"] = [category]
            words.append(word)
        case 8...9:
            operation["categories"] = [Self.rate.category]
            plan.isRated = true
        default:
            let units = dice.roll(1...Self.unitCapacity)
            operation["categories"] = [["name": "gpu", "units": units] as [String: Any]]
            words.append("n:gpu:\(Self.unitCapacity):\(units)")
        }
    }

    /// Draws some or all units of a category of named units, and the argument that makes torture-mark lock them.
    private mutating func namedUnits() -> (category: [String: Any], word: String) {
        let units = dice.pick(Self.namedUnits) ?? Self.namedUnits[0]
        let isExclusive = dice.happens(10)
        let count = isExclusive ? 0 : dice.roll(1...units.names.count)
        let word = "u:\(units.category):OPS_UNITS_\(units.category.uppercased()):\(count):\(units.share)"
        if isExclusive { return (["name": units.category, "mode": "exclusive"], word) }
        return (["name": units.category, "units": count], word)
    }

    private mutating func addEnding(_ operation: inout [String: Any], _ words: inout [String], _ plan: inout Planned) {
        let sleep =
            dice.happens(80) ? dice.roll(0...40) : dice.happens(80) ? dice.roll(40...500) : dice.roll(500...2500)
        words.append("sleep=\(sleep)")
        if dice.happens(18) {
            if dice.happens(20) {
                plan.signal = dice.pick([9, 10]) ?? 9
                words.append("signal=\(plan.signal)")
            } else {
                plan.code = dice.roll(1...60)
                words.append("code=\(plan.code)")
            }
            if dice.happens(60) {
                plan.until = dice.roll(2...4)
                words.append("until=\(plan.until)")
            }
        }
        if dice.happens(50) {
            plan.lines = dice.happens(90) ? dice.roll(0...20) : dice.roll(1000...3000)
            words.append("lines=\(plan.lines)")
        }
        if dice.happens(4) {
            plan.hasGrandchild = true
            words.append("child=\(dice.roll(1...20) * 1000)")
        }
        if dice.happens(4) { words.append("ignore=1") }
        if dice.happens(5) {
            plan.tellsItsEnd = true
            operation["completion"] = "notify"
            words.append("notify=1")
        }
        if !plan.tellsItsEnd, dice.happens(5) {
            let child = plan.name + "p"
            plan.product = child
            words += ["opsctl=\(opsctl)", "make=\(child)"]
        }
        if dice.happens(4) {
            plan.hasTimeout = true
            operation["timeout"] = "\(dice.roll(20...400))ms"
        } else if plan.product == nil, !plan.tellsItsEnd, dice.happens(4) {
            // Never reached, even if the wall clock is set forward, because timeouts do not follow it.
            operation["timeout"] = "1h"
        }
    }

    private mutating func addScheduling(_ operation: inout [String: Any], _ plan: inout Planned) {
        operation["priority"] = min(dice.roll(-8...8), highestPriority)
        if dice.happens(25) {
            plan.retryLimit = dice.roll(1...3)
            operation["retry"] =
                [
                    "limit": plan.retryLimit, "backoff": "\(dice.roll(5...100))ms", "factor": 2,
                    "on": dice.happens(50) ? ["failed", "timedOut", "interrupted"] : ["failed", "timedOut"],
                ] as [String: Any]
        }
        if dice.happens(5) {
            let delay = dice.roll(1...800)
            plan.delay = Double(delay) / 1000
            operation["notBefore"] = "\(delay)ms"
        }
        if dice.happens(4) { operation["deadline"] = dice.pick(["20m", "12h", "1000d"]) ?? "12h" }
        if dice.happens(3) {
            plan.isHeld = true
            operation["held"] = true
        }
        if dice.happens(3) {
            plan.hasCondition = true
            operation["conditions"] = [
                ["exec": [dice.pick(["true", "false"]) ?? "true"], "otherwise": "skip"] as [String: Any]
            ]
        }
        if dice.happens(2) { operation["qos"] = "background" }
        if dice.happens(20) { operation["labels"] = ["shift": dice.pick(["early", "late"]) ?? "early"] }
    }
}

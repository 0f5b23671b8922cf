public import OpsCore

/// Checks every commit of a simulated opsd against the contract.
public struct Judge {
    /// Number of starts that overtook each waiting operation while it certainly waited only for categories.
    private var overtaken: [OperationID: Int] = [:]
    /// The same, while it did so as far as the core knew: a clock was set back since, or its conditions were not
    /// evaluated.
    private(set) var perhapsOvertaken: [OperationID: Int] = [:]
    /// Operations whose conditions are true, with the time until which that counts.
    private var confirmed: [OperationID: MonotonicInstant] = [:]
    private var asked: [OperationID: Int64] = [:]
    /// Operations whose `notBefore` has passed while this core knew them. It stays passed if the clock is set back.
    private var due: Set<OperationID> = []
    /// State after the last turn, which the runner uses for staged launches.
    private var settled: Setting?
    /// Ends of back-offs on the clock that is never set. They are unknown if a new core had to use the other clock and
    /// that was set since.
    private var restsUntil: [OperationID: MonotonicInstant] = [:]

    /// Difference of the two clocks when a back-off began.
    private var clocks: [OperationID: TimeSpan] = [:]

    public init() {}

    /// Starts again for a new core: overtakings are counted from zero, and no answer of a condition counts.
    public mutating func forget(_ store: FakeStore, at now: Moment) {
        overtaken.removeAll()
        perhapsOvertaken.removeAll()
        confirmed.removeAll()
        asked.removeAll()
        due = Set(store.unfinished.filter { ($0.policy.notBefore ?? .zero) <= now.wall }.map(\.id))
        for id in restsUntil.keys where clocks[id] != now.clockDifference { restsUntil[id] = nil }
    }

    public mutating func heard(_ event: Event, _ store: FakeStore, at now: Moment) {
        if case .conditionsAnswered(let id, let token, let answer) = event, asked[id] == token {
            asked[id] = nil
            let stands = store[id].policy.conditions.map(\.every).min() ?? .zero
            if answer == .allTrue { confirmed[id] = now.monotonic + stands }
        }
    }

    private mutating func ordered(_ effects: [Effect]) {
        for effect in effects {
            switch effect {
            case .evaluate(let id, let token):
                asked[id] = token
                confirmed[id] = nil
            case .stopEvaluating(let id): asked[id] = nil
            default: break
            }
        }
    }

    public struct Setting {
        public var workers: Int32
        /// The connected runner, as far as the scheduler knows.
        public var runner: String?
        public var isDraining: Bool
        public var boot: String
        public var now: Moment
        public init(workers: Int32, runner: String?, isDraining: Bool, boot: String, now: Moment) {
            self.workers = workers
            self.runner = runner
            self.isDraining = isDraining
            self.boot = boot
            self.now = now
        }
    }

    /// Commits one transition to the store, after checking every change against the state before it. `isComplete`:
    /// false if the core has put work off, so that timers may be overdue and operations may still start.
    public mutating func commit(
        _ transition: Transition, to store: inout FakeStore, submissions: [Submission], _ setting: Setting,
        isComplete: Bool = true
    ) throws(Violation) {
        var expected: [ExpectedReport] = []
        for change in transition.changes {
            let rules = rules(store, setting)
            expected += reports(of: change, store)
            switch change {
            case .started(let id, _, _, let slot, _, _):
                let past = store[id].staged == nil ? nil : settled
                try judgeStart(id, slot, self.rules(store, past ?? setting))
                restsUntil[id] = nil
            case .assumedStarted(let attempt, _, let slot, _):
                try judgeSlot(slot, of: attempt, store)
            case .startConfirmed(let attempt, let begun): try judgeSlot(begun.slot, of: attempt, store)
            case .retrying(let id, let notBefore, let counts):
                try judgeRetry(id, notBefore, counts, rules)
                restsUntil[id] = setting.now.monotonic + (notBefore - setting.now.wall)
                clocks[id] = setting.now.clockDifference
            case .finished(let id, let outcome, let cause, _): try judgeEnd(id, outcome, cause, rules)
            case .cancelling(let id, _, _, _, .ranLongerThan):
                let isStopped = store[id].isGroup && store[id].isFrozen
                try require(!isStopped, .deadlines, "\(id) timed out while it was frozen")
            default: noteEdit(change, store)
            }
            try store.apply(change, submissions: submissions, boot: setting.boot, at: setting.now)
        }
        var reported = Transition()
        reported.reports = transition.reports
        try store.commit(reported, submissions: [], boot: setting.boot, at: setting.now)
        try judgeReports(transition.reports, expected, store, at: setting.now)
        for record in store.records where record.state != .ready { restsUntil[record.id] = nil }
        for id in perhapsOvertaken.keys where !store[id].isWaiting {
            overtaken[id] = nil
            perhapsOvertaken[id] = nil
        }
        confirmed = confirmed.filter { store[$0.key].state == .ready }
        due = Set(
            store.unfinished.filter { ($0.policy.notBefore ?? .zero) <= setting.now.wall || due.contains($0.id) }
                .map(\.id))
        ordered(transition.effects)
        settled = setting
        try judgeRest(rules(store, setting), isComplete: isComplete)
    }

    private func judgeSlot(_ slot: Int32, of attempt: AttemptID, _ store: FakeStore) throws(Violation) {
        let isTaken = store.records.contains {
            $0.hasSlot && $0.id != attempt.operation && $0.running?.slot == slot
        }
        try require(!isTaken, .slotUnique, "\(attempt) in slot \(slot)")
    }

    /// Forgets the conditions of an operation that leaves its lane, and the back-off of one whose policy changes.
    private mutating func noteEdit(_ change: Change, _ store: FakeStore) {
        switch change {
        case .edited(let id, let edit):
            confirmed[id] = nil
            if edit.policy != nil {
                clocks[id] = nil
                due.remove(id)
            }
        case .reopened(let id, _, _): due.remove(id)
        case .held(let id, _), .becamePending(let id): confirmed[id] = nil
        case .graphSuspended(let graph, _): confirmed = confirmed.filter { store[$0.key].graph != graph }
        case .queueFairnessSet(let queue, _):
            confirmed = confirmed.filter { store[$0.key].queue != queue || store[$0.key].isGroup }
        default: break
        }
    }

    func rules(_ store: FakeStore, _ setting: Setting) -> Rules {
        Rules(
            store: store, workers: setting.workers, now: setting.now, due: due, runner: setting.runner,
            isDraining: setting.isDraining, overtaken: overtaken,
            perhapsOvertaken: perhapsOvertaken, restsUntil: restsUntil, confirmed: confirmed)
    }

    private mutating func judgeStart(_ id: OperationID, _ slot: Int32?, _ rules: Rules) throws(Violation) {
        let record = rules.store[id]
        try judgeMayStart(record, rules)
        if !record.isGroup {
            let taken = rules.store.records.contains { $0.hasSlot && $0.running?.slot == slot }
            let isOfPool = slot.map { (0..<rules.workers).contains($0) } ?? false
            try require(!taken && isOfPool, .slotUnique, "\(id) in slot \(slot ?? -1)")
        }
        let effective = rules.effectivePriorities()
        for other in rules.store.unfinished where other.id != id && rules.mayWaitForCategoriesAlone(other) {
            guard rules.precedes(other, record, effective), rules.takes(record, from: other) else { continue }
            perhapsOvertaken[other.id, default: 0] += 1
            guard rules.waitsForCategoriesAlone(other) else { continue }
            // Operations for which the owner of a reservation waits may start before it.
            if overtaken[other.id] == Int(Limits.overtakes), rules.isAwaited(id, by: rules.keepPlace()) { continue }
            overtaken[other.id, default: 0] += 1
            let count = overtaken[other.id, default: 0]
            try require(
                count <= Int(Limits.overtakes), .overtaking, "\(other.id) passed \(count) times, now by \(id)")
        }
        // An operation in back-off lends no priority, which is not always known: the order is wrong only if it is wrong
        // in both cases.
        var otherwise = rules
        otherwise.unknownRestsAreOver = false
        if let wrong = wrongOrder(record, rules), wrongOrder(record, otherwise) != nil { throw wrong }
    }

    /// Returns the first rule that starting this operation breaks; nil if it breaks none.
    private func wrongOrder(_ record: Record, _ rules: Rules) -> Violation? {
        let effective = rules.effectivePriorities()
        let startable = rules.startable(effective)
        guard let first = startable.first, first.id != record.id, rules.precedes(first, record, effective)
        else { return nil }
        if rules.sharesFairly(first, record, effective) || rules.mayHaveFairTurn(record, before: first, effective) {
            // Tests of the core check which user goes first. The operations of one user start in order.
            let own = startable.first { rules.sharesFairly(record, $0, effective) && $0.user == record.user }
            guard let own, own.id != record.id, rules.precedes(own, record, effective) else { return nil }
        }
        return Violation(
            .startOrder,
            "\(record.id) (\(effective[record.id, default: 0])) before \(first.id) (\(effective[first.id, default: 0])); "
                + "places kept: \(rules.mayKeepPlace().map(\.id.rawValue))")
    }

    private func judgeMayStart(_ record: Record, _ rules: Rules) throws(Violation) {
        let id = record.id
        for edge in record.edges {
            try require(rules.isSatisfied(edge), .dependencyOrder, "\(id) before \(edge.on) (\(edge.when))")
        }
        let ahead = rules.barriersAhead(of: record)
        try require(ahead.isEmpty, .dependencyOrder, "\(id) past the barrier at \(ahead)")
        if let parent = record.parent {
            try require(rules.store[parent].state == .executing, .dependencyOrder, "\(id) before its group")
        }
        try require(rules.mayBeEligible(record), .noEarlyStart, "\(id) is not eligible: \(record)")
        let short = rules.shortCategories(of: record)
        try require(short.isEmpty, .exclusion, "\(id) takes \(short), which is taken")
        try require(!rules.locksUp(record), .settles, "\(id) takes what its children wait for")
        if record.isGroup { return }
        try require(rules.slotsInUse() < Int(rules.workers), .poolLimit, "\(id) beyond \(rules.workers) workers")
        if let parent = record.parent, let limit = rules.store[parent].policy.childLimit {
            let count = rules.store.records.count { $0.countsForLimits && $0.parent == parent }
            try require(count < Int(limit), .groupLimit, "\(id) is number \(count + 1) of \(limit) in \(parent)")
        }
        try require(rules.hasRoom(record), .queueLimit, "\(id) beyond the limit of \(record.queue)")
    }
}

public import OpsCore

/// A disk in memory. It applies committed changes as the database would, and contains an independent definition of each
/// change. An unlawful change is a violation.
public struct FakeStore: Sendable {
    public struct Queue: Sendable {
        public var name: String
        public var limit: Int32?
        public var aging: TimeSpan?
        public var isSuspended = false
        public var executor: String?
        public var order = QueueOrder.submission
        public var isFair = false
    }

    /// Operations; the one with number n is at index n - 1.
    public internal(set) var records: [Record] = []
    public internal(set) var queues = [Queue(name: "default"), Queue(name: "main", limit: 1)]
    public internal(set) var categorySettings: [String: CategorySettings] = [:]
    /// Starts of categories with a rate, as counted by the scheduler and as made by processes.
    var rateStarts: [String: [CountedStart]] = [:]
    var processStarts: [String: [MonotonicInstant]] = [:]
    var latestBoot = "boot1"
    var slotTimes: [Snapshot.SlotTime] = []
    public internal(set) var suspendedGraphs: Set<GraphID> = []
    public internal(set) var isSuspended = false
    public internal(set) var graphCount: Int64 = 0
    public internal(set) var lastSequence: Int64 = 0
    var ends = 0
    /// Operations that the current retry has reopened, while its changes are applied.
    var justReopened: [OperationID] = []

    public init() {}

    public subscript(_ id: OperationID) -> Record {
        get { records[Int(id.rawValue) - 1] }
        set { records[Int(id.rawValue) - 1] = newValue }
    }

    public func has(_ id: OperationID) -> Bool { id.rawValue >= 1 && id.rawValue <= records.count }

    public func queue(_ name: String) -> Queue? { queues.first { $0.name == name } }

    public func capacity(_ category: String) -> Int32 { categorySettings[category]?.capacity ?? 1 }

    public var unfinished: [Record] { records.filter { !$0.isFinished } }

    public func children(of id: OperationID) -> [Record] { records.filter { $0.parent == id } }

    /// Returns its group, the group of that group, and so on.
    public func ancestors(of record: Record) -> [Record] {
        var chain: [Record] = []
        var next = record.parent
        while let id = next {
            chain.append(self[id])
            next = self[id].parent
        }
        return chain
    }

    /// Returns the outcomes of the finished operations in `ids`, which a submission must contain.
    public func finishedFacts(_ ids: [OperationID]) -> [OperationID: FinishedFact] {
        var facts: [OperationID: FinishedFact] = [:]
        for id in ids where has(id) && self[id].isFinished { facts[id] = fact(self[id]) }
        return facts
    }

    func fact(_ record: Record) -> FinishedFact {
        let outcome = record.outcome ?? .interrupted
        // A root that was reopened since has no outcome.
        let root = self[root(record)].isFinished ? root(record) : record.id
        return FinishedFact(
            outcome: outcome, root: root, hasStarted: record.hasStarted, rootOutcome: self[root].outcome)
    }

    /// Returns the operation from which a skip came, through any number of steps; the operation itself if it was not
    /// skipped.
    func root(_ record: Record) -> OperationID {
        switch record.cause {
        case .dependency(let root, _), .neverStarted(let root), .providedFor(let root, _): root
        case .groupSkipped(let group, let root): root?.operation ?? group
        default: record.id
        }
    }

    /// Commits all changes and reports, or throws if the history is unlawful.
    public mutating func commit(
        _ transition: Transition, submissions: [Submission], boot: String, at now: Moment
    ) throws(Violation) {
        for change in transition.changes {
            try apply(change, submissions: submissions, boot: boot, at: now)
        }
        settleReopened()
        for report in transition.reports {
            try require(report.sequence == lastSequence + 1, .reports, "\(report.sequence) after \(lastSequence)")
            lastSequence = report.sequence
            if let id = report.operation { try require(has(id), .reports, "of unknown operation \(id)") }
        }
    }
}

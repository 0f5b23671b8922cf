internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Reads the operations that a retry returns. If others retry or finish operations on which the result depends
/// meanwhile, it is read again.
struct RetryQuery: Query {
    struct Answer: Sendable {
        var selected: Selected
        var revived: Revival
        /// The event up to which nothing has changed on which the answer depends.
        var sequence: Int64
        var foundations: Set<OperationID>

        var heldBytes: Int { selected.heldBytes + revived.heldBytes + foundations.count * 2 * 16 }

        /// Returns true if facts on which the answer depends have changed since.
        func isStale(_ history: History) throws(StoreError) -> Bool {
            let events = try history.events(after: sequence, limit: RetryQuery.events)
            if events.count == RetryQuery.events { return true }
            return try history.concern(events, foundations)
        }
    }

    private let makeTargets: TargetsQuery
    private let isDownstream: Bool
    private let owner: UInt32?
    private var targets: TargetsQuery
    private var selected: Selected?
    private var reader: RevivalReader?
    private var answer: Answer?
    private var sequence: Int64?
    private var attempts = 0

    var heldBytes: Int {
        answer?.heldBytes ?? (targets.heldBytes + (selected?.heldBytes ?? 0) + (reader?.heldBytes ?? 0))
    }

    /// Number of events that one step examines.
    private static let events = 1000
    /// Maximum number of times that the query reads the operations because others change them meanwhile.
    private static let mostAttempts = 4

    /// `owner`: the user whose operations `downstream` may reach; nil: all users.
    init(_ targets: TargetsQuery, downstream: Bool, of owner: UInt32?) {
        makeTargets = targets
        self.targets = targets
        isDownstream = downstream
        self.owner = owner
    }

    mutating func proceed(_ history: History) throws -> Answer? {
        if sequence == nil { sequence = try history.lastSequence() }
        guard let selected else {
            if let found = try targets.proceed(history) {
                selected = found
                reader = RevivalReader(found.ids, downstream: isDownstream, of: owner)
            }
            return nil
        }
        if let revived = try reader?.proceed(history) {
            reader = nil
            answer = Answer(
                selected: selected, revived: revived, sequence: sequence ?? 0, foundations: revived.foundations)
        }
        return try answer.flatMap { try caughtUp($0, history) }
    }

    /// Examines the events since the reading began.
    private mutating func caughtUp(_ answer: Answer, _ history: History) throws -> Answer? {
        let events = try history.events(after: answer.sequence, limit: Self.events)
        guard try !history.concern(events, answer.foundations) else {
            attempts += 1
            guard attempts < Self.mostAttempts else { throw RetryQuery.changing }
            (targets, selected, reader, self.answer, sequence) = (makeTargets, nil, nil, nil, nil)
            return nil
        }
        self.answer?.sequence = events.last?.sequence ?? answer.sequence
        return events.count < Self.events ? self.answer : nil
    }

    static let changing = ControlError.busy(
        "the operations to retry changed while they were looked up; try again, or name fewer at once")
}

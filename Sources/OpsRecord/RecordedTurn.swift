public import OpsCore

/// State of the scheduler before the first turn of a record.
public enum RecordBeginning: Codable {
    /// A scheduler that is made from the stored state.
    case stored(Snapshot, workers: Int32, at: Moment)
    /// A scheduler between two turns.
    case running(Scheduler)

    /// The scheduler that handles the first turn.
    public var scheduler: Scheduler {
        switch self {
        case .stored(let snapshot, let workers, let now): Scheduler(snapshot, workers: workers, at: now)
        case .running(let scheduler): scheduler
        }
    }
}

/// An event and the instant at which the scheduler handled it.
public struct TurnInput: Sendable, Codable {
    public var event: Event
    public var at: Moment
    public init(_ event: Event, at: Moment) {
        self.event = event
        self.at = at
    }
}

/// The call that completes a turn.
public enum TurnEnd: Hashable, Sendable, Codable {
    case ended(at: Moment, upTo: Int)
    case closed
}

/// One turn with all answers of the scheduler.
public struct CompletedTurn: Sendable {
    public var inputs: [TurnInput]
    /// Answers to `inputs`, in their order.
    public var results: [Result<Acceptance, Rejection>]
    public var end: TurnEnd
    public var transition: Transition
    public init(
        inputs: [TurnInput], results: [Result<Acceptance, Rejection>], end: TurnEnd, transition: Transition
    ) {
        self.inputs = inputs
        self.results = results
        self.end = end
        self.transition = transition
    }

    /// Number of values in the turn: a measure of its memory.
    public var size: Int {
        inputs.reduce(transition.changes.count + transition.reports.count + transition.effects.count) {
            $0 + 1 + $1.event.recordedSize
        }
    }
}

extension Event {
    fileprivate var recordedSize: Int {
        switch self {
        case .submit(let submission): submission.operations.count + submission.edges.count
        case .retry(_, let revived): revived.operations.count + revived.edges.count
        case .runnerConnected(let inventory), .external(_, .runnerConnected(let inventory)): inventory.entries.count
        case .cancel(let ids, _, _, _): ids.count
        default: 0
        }
    }
}

/// A turn as a record keeps it: its inputs, and digests of its answers.
public struct RecordedTurn: Sendable, Codable {
    /// Number of the turn since opsd has started, from 1.
    public var number: Int64
    public var inputs: [TurnInput]
    public var end: TurnEnd
    public var digest: TurnDigest
}

/// Digests of the answers of one turn, one for each value, so that a difference can be named.
public struct TurnDigest: Hashable, Sendable, Codable {
    public var results: [UInt32]
    public var changes: [UInt32]
    public var reports: [UInt32]
    public var effects: [UInt32]

    init(_ turn: CompletedTurn) throws {
        let encoder = RecordEncoder(numbersKeys: false)
        results = try turn.results.map { result in
            switch result {
            case .success(let acceptance): fnv(try encoder.encode(acceptance))
            case .failure(let rejection): ~fnv(try encoder.encode(rejection))
            }
        }
        changes = try turn.transition.changes.map { fnv(try encoder.encode($0)) }
        reports = try turn.transition.reports.map { fnv(try encoder.encode($0)) }
        effects = try turn.transition.effects.map { fnv(try encoder.encode($0)) }
    }
}

/// Returns the FNV-1a hash of bytes.
func fnv(_ bytes: some Sequence<UInt8>) -> UInt32 {
    bytes.reduce(0x811C_9DC5) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
}

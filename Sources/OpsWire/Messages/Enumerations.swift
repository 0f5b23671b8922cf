// Enumerations of the interface file.

extension EdgeCondition: WireEnum {}

extension CategoryUse.Mode: WireEnum {}

public enum CompletionKind: String, WireEnum {
    case operation, graph, queue, category
}

public struct StateName: OpenName {
    public static let pending: StateName = "pending"
    public static let ready: StateName = "ready"
    public static let executing: StateName = "executing"
    public static let finished: StateName = "finished"
    public static let known: [StateName] = [.pending, .ready, .executing, .finished]
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

public struct OutcomeName: OpenName {
    public static let succeeded: OutcomeName = "succeeded"
    public static let failed: OutcomeName = "failed"
    public static let timedOut: OutcomeName = "timedOut"
    public static let cancelled: OutcomeName = "cancelled"
    public static let skipped: OutcomeName = "skipped"
    public static let interrupted: OutcomeName = "interrupted"
    public static let known: [OutcomeName] = [.succeeded, .failed, .timedOut, .cancelled, .skipped, .interrupted]
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

public struct DaemonState: OpenName {
    public static let running: DaemonState = "running"
    public static let draining: DaemonState = "draining"
    public static let storageUnavailable: DaemonState = "storageUnavailable"
    public static let known: [DaemonState] = [.running, .draining, .storageUnavailable]
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

public struct ReasonKind: OpenName {
    public static let dependency: ReasonKind = "dependency"
    public static let category: ReasonKind = "category"
    public static let queue: ReasonKind = "queue"
    public static let pool: ReasonKind = "pool"
    public static let suspended: ReasonKind = "suspended"
    public static let held: ReasonKind = "held"
    public static let notBefore: ReasonKind = "notBefore"
    public static let backoff: ReasonKind = "backoff"
    public static let condition: ReasonKind = "condition"
    public static let barrier: ReasonKind = "barrier"
    public static let group: ReasonKind = "group"
    public static let storage: ReasonKind = "storage"
    public static let executor: ReasonKind = "executor"
    public static let rate: ReasonKind = "rate"
    public static let known: [ReasonKind] = [
        .dependency, .category, .queue, .pool, .suspended, .held, .notBefore, .backoff, .condition, .barrier, .group,
        .storage, .executor, .rate,
    ]
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

public struct EventType: OpenName {
    public static let submitted: EventType = "submitted"
    public static let ready: EventType = "ready"
    public static let started: EventType = "started"
    public static let progress: EventType = "progress"
    public static let produced: EventType = "produced"
    public static let retrying: EventType = "retrying"
    public static let cancelling: EventType = "cancelling"
    public static let suspended: EventType = "suspended"
    public static let resumed: EventType = "resumed"
    public static let finished: EventType = "finished"
    public static let edited: EventType = "edited"
    public static let conditionFalse: EventType = "conditionFalse"
    public static let interrupted: EventType = "interrupted"
    public static let fired: EventType = "fired"
    public static let skipped: EventType = "skipped"
    public static let missed: EventType = "missed"
    public static let refused: EventType = "refused"
    public static let known: [EventType] = [
        .submitted, .ready, .started, .progress, .produced, .retrying, .cancelling, .suspended, .resumed, .finished,
        .edited, .conditionFalse, .interrupted, .fired, .skipped, .missed, .refused,
    ]
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
}

public import OpsCore

/// Interface that the simulation drives: the scheduler, or a canary that wraps it.
public protocol TestedScheduler {
    init(_ snapshot: Snapshot, workers: Int32, at now: Moment)
    mutating func handle(_ event: Event, at now: Moment) -> Result<Acceptance, Rejection>
    mutating func endTurn(at now: Moment, upTo limit: Int) -> Transition
    /// True if a turn without a limit must follow the one that has ended.
    var hasPutOff: Bool { get }
    var stagedCount: Int { get }
    func mustRevokeStaged(at now: Moment) -> Bool
    var nextDeadline: Deadlines { get }
    func why(_ operation: OperationID, at now: Moment) -> [Reason]
    /// Returns the first broken invariant of the core; nil if all hold.
    func brokenInvariant() -> String?
    /// Scheduler to compare with one that starts again from what is stored; nil to skip the comparison.
    var comparable: Scheduler? { get }
}

extension TestedScheduler {
    public mutating func endTurn(at now: Moment) -> Transition { endTurn(at: now, upTo: .max) }
}

extension Scheduler: TestedScheduler {
    public func brokenInvariant() -> String? { checkInvariants().first }
    public var comparable: Scheduler? { self }
}

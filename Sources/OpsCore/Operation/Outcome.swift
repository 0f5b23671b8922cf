/// The outcome of a finished operation: one in each run.
public enum Outcome: UInt8, Sendable, CaseIterable, Codable {
    case succeeded, failed, timedOut, cancelled, skipped, interrupted
    /// Skipped although nothing went wrong: the operation was for a case that did not arise. Outside of the core and the
    /// store this is `skipped` with the mark "not needed".
    case notNeeded

    /// True for a failure of the operation itself: it was neither cancelled nor skipped.
    public var isFailure: Bool { self == .failed || self == .timedOut || self == .interrupted }

    /// True if this outcome fails a group, and counts for a wait and for a retry.
    public var isUnsuccessful: Bool { self != .succeeded && self != .notNeeded }
}

extension Observers {
    /// Returns whether the end of an operation is observed.
    func observesEnd(_ outcome: Outcome) -> Bool { contains(.finish) || contains(.failed) && outcome.isFailure }
}

/// The cause of an outcome. The daemon, which knows the names of operations, makes a text from it.
public enum Cause: Hashable, Sendable, Codable {
    case exitStatus(Int32)
    case signal(Int32)
    case outOfMemory
    /// The process could not be made: the step that failed and its errno.
    case cannotStart(step: String, errno: Int32)
    case ranLongerThan(TimeSpan)
    case deadlinePassed
    /// `by` is the name of a user, `reason` the text that this user gave.
    case cancelledBy(String, reason: String?)
    /// Cancelled (or timed out) with the group around it.
    case groupCancelled(OperationID)
    case groupTimedOut(OperationID)
    /// A dependency that can no longer be satisfied: the root of the cascade, and its outcome.
    case dependency(root: OperationID, Outcome)
    /// A dependency on the start of `root`, which ended without starting.
    case neverStarted(root: OperationID)
    /// Provided for a condition of this operation, which ended in this way without it.
    case providedFor(OperationID, Outcome)
    /// The condition at this position in the operation's list was false.
    case conditionFalse(index: Int32, detail: String)
    /// Children of a group or products that did not succeed: the first of them, and their number.
    case children(first: OperationID, count: Int32)
    /// Skipped with the group around it; `because` is the root of that skip: the group itself, or an operation outside of
    /// it.
    case groupSkipped(OperationID, because: Root? = nil)
    case runnerLost
    case machineRestarted
    /// Finished by `cancel --force`, although its processes were not proven gone.
    case abandoned(by: String, reason: String? = nil)
    /// `opsctl finish --failed --message`.
    case finishedBy(String, message: String?)
    /// Reported by the operation itself through its notify socket.
    case reported(status: Int32)
    /// An executor can never run the attempt, for this reason: no other attempt can succeed.
    case refused(String)
    /// The engine of an executor ended the attempt, for this reason.
    case engine(String)
    /// Succeeded without an attempt, because a condition with `succeed` was false.
    case upToDate

    /// Records of turns contain the time of `ranLongerThan` under this name.
    private enum RanLongerThanCodingKeys: String, CodingKey { case _0 = "nanoseconds" }

    /// The operation at which a cascade of skips began, and its outcome.
    public struct Root: Hashable, Sendable, Codable {
        public var operation: OperationID
        public var outcome: Outcome
        public init(_ operation: OperationID, _ outcome: Outcome) {
            self.operation = operation
            self.outcome = outcome
        }
    }
}

extension Cause {
    /// The cause of a success that a person declared with a message; nil for any other.
    var ofSuccess: Cause? {
        if case .finishedBy(_, .some) = self { self } else { nil }
    }
}

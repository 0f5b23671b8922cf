/// The end of an operation that has left the core.
public struct FinishedFact: Hashable, Sendable {
    var outcome: Outcome
    /// The root of its own cascade when it was skipped, else itself.
    var root: OperationID
    public var hasStarted: Bool
    /// Outcome of `root`.
    var rootOutcome: Outcome
    public init(outcome: Outcome, root: OperationID, hasStarted: Bool, rootOutcome: Outcome? = nil) {
        self.rootOutcome = rootOutcome ?? outcome
        self.outcome = outcome
        self.root = root
        self.hasStarted = hasStarted
    }
}

/// How an operation that has left the core ended.
public struct FinishedFact: Hashable, Sendable {
    var outcome: Outcome
    /// The root of its own cascade when it was skipped, else itself.
    var root: OperationID
    public var hasStarted: Bool
    /// How `root` ended.
    var rootOutcome: Outcome
    public init(outcome: Outcome, root: OperationID, hasStarted: Bool, rootOutcome: Outcome? = nil) {
        self.rootOutcome = rootOutcome ?? outcome
        self.outcome = outcome
        self.root = root
        self.hasStarted = hasStarted
    }
}

/// The finish of an operation that has left the core.
public struct FinishedFact: Hashable, Sendable, Codable {
    var outcome: Outcome
    /// The root of its own cascade when it was skipped; else, or if that root was reopened since, itself.
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

extension FinishedFact {
    init(_ finished: FinishedOperation) {
        self.init(
            outcome: finished.outcome, root: finished.root, hasStarted: finished.hasStarted,
            rootOutcome: finished.rootOutcome)
    }

    /// Returns the skip that follows from an edge on the operation that can never be met; nil when it is met.
    func impossibility(of when: EdgeCondition, on id: OperationID) -> Skip? {
        guard when.status(outcome, hasStarted: hasStarted) == .impossible else { return nil }
        return Skip(cause: .skip(when, id, root: root, rootOutcome), outcome: when.skip(after: outcome))
    }
}

extension Cause {
    /// Returns the cause of a skip after an operation whose outcome cannot meet an edge. If that operation was itself
    /// skipped because of another, the other one is the cause.
    static func skip(_ when: EdgeCondition, _ id: OperationID, root: OperationID, _ outcome: Outcome) -> Cause {
        when == .started && root == id ? .neverStarted(root: root) : .dependency(root: root, outcome)
    }
}

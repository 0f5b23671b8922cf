/// End of an attempt whose outcome the engine decided: a node failed, a time limit was reached, somebody cancelled the job.
public struct ExternalEnd: Hashable, Sendable, Codable {
    public enum Outcome: UInt8, Hashable, Sendable, CaseIterable, Codable {
        case interrupted = 1
        case timedOut = 2
        case cancelled = 3
        case outOfMemory = 4
    }
    public var outcome: Outcome
    /// Explanation in the words of the engine, such as "node n3 failed".
    public var cause: String
    /// Exit of the command; `nil`: not known.
    public var exit: ProcessExit?
    public var at: Moment
    public init(outcome: Outcome, cause: String, exit: ProcessExit? = nil, at: Moment) {
        self.outcome = outcome
        self.cause = cause
        self.exit = exit
        self.at = at
    }
}

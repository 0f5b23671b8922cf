/// A promise of the contract that was seen broken.
public struct Violation: Error, CustomStringConvertible, Sendable {
    /// Promises that the simulation checks. Each has a canary or more.
    public enum Promise: String, Sendable, CaseIterable {
        /// A change told of a step that no operation can take from where it stood.
        case lawfulSteps
        case poolLimit, queueLimit, groupLimit, slotUnique
        case exclusion
        case dependencyOrder
        /// Exactly one outcome, once a run, and the one that the facts allow.
        case oneOutcome
        /// No start while suspended, held, before its instant or its back-off.
        case noEarlyStart
        /// Nothing ready and startable was left at the end of a turn; pending and ready told truly.
        case nothingIdle
        case startOrder
        case overtaking
        case priority
        case reports
        case commitBeforeEffect
        case oneProcessAnAttempt
        /// No process of a finished operation, and nothing acknowledged before it was stored.
        case nothingLeftBehind
        case explanation
        case deadlines
        case settles
        /// The scheduler's own check of itself.
        case coreInvariant
        case determinism
        case legalEffect
        case rejection
        /// No more starts within an interval than the rate of a category permits.
        case rates
        /// A restart changes no decision.
        case restart
    }
    public var promise: Promise
    public var text: String
    public init(_ promise: Promise, _ text: String) {
        self.promise = promise
        self.text = text
    }
    public var description: String { "\(promise.rawValue): \(text)" }
}

/// Throws what `text` says unless the promise holds.
func require(_ holds: Bool, _ promise: Violation.Promise, _ text: @autoclosure () -> String) throws(Violation) {
    if !holds { throw Violation(promise, text()) }
}

/// A broken promise of the contract.
public struct Violation: Error, CustomStringConvertible, Sendable {
    /// Promises that the simulation checks. Each has at least one canary.
    public enum Promise: String, Sendable, CaseIterable {
        /// A change contains a step that no operation can take from its state.
        case lawfulSteps
        case poolLimit, queueLimit, groupLimit, slotUnique
        case exclusion
        case dependencyOrder
        /// There is exactly one outcome in each run, and the facts allow it.
        case oneOutcome
        /// Nothing starts while suspended or held, or before its start time or the end of its back-off.
        case noEarlyStart
        /// No startable operation is left at the end of a turn, and pending and ready are reported correctly.
        case nothingIdle
        case startOrder
        case overtaking
        case priority
        case reports
        case commitBeforeEffect
        case oneProcessAnAttempt
        /// No process of a finished operation is left, and nothing is acknowledged before it is stored.
        case nothingLeftBehind
        case explanation
        case deadlines
        case settles
        /// The invariants that the scheduler checks itself.
        case coreInvariant
        case determinism
        case legalEffect
        case rejection
        /// No interval has more starts than the rate of a category allows.
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

/// Throws a violation with this text unless the promise holds.
func require(_ holds: Bool, _ promise: Violation.Promise, _ text: @autoclosure () -> String) throws(Violation) {
    if !holds { throw Violation(promise, text()) }
}

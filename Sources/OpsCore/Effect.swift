/// An order to the world outside, given only after the changes beside it are on disk. All may be repeated.
public enum Effect: Equatable, Sendable, Codable {
    case launch(AttemptID, slot: Int32)
    /// To be launched, after those before it, the moment that an attempt succeeds, in its slot; not before all of `after`
    /// have. Answered by `stagedStarted`.
    case stage(AttemptID, after: [AttemptID])
    /// Staged launches are not to be started; answered by `revocationConfirmed`.
    case revokeStaged
    /// SIGTERM to the whole tree (thawed first), SIGKILL after `grace` nanoseconds; answered by `exited`/`gone`.
    case terminate(AttemptID, grace: Int64)
    case freeze(AttemptID)
    case thaw(AttemptID)
    /// Find and kill what an earlier runner left of this attempt; answered by `gone`.
    case reap(AttemptID)
    /// The runner may forget it.
    case acknowledge(AttemptID)
    /// An effect for an executor other than the runner.
    indirect case external(String, Effect)
    /// Submits an attempt, held, unless its executor finds that it has done so. `job`: the one that is stored, if any.
    case submit(AttemptID, job: String?, priority: Int8)
    /// The job of the attempt is stored and may start.
    case release(AttemptID)
    case evaluate(OperationID, token: Int64)
    case stopEvaluating(OperationID)
    case observeStart(OperationID)
    case observeProduce(OperationID, product: OperationID)
    case observeFinish(OperationID, run: Int32)
}

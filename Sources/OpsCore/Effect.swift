/// A command that is performed after the changes of the same transition are on disk. Each may be repeated.
public enum Effect: Equatable, Sendable, Codable {
    case launch(AttemptID, slot: Int32)
    /// Stages a launch. The runner starts staged launches in order, each in the slot of an attempt that succeeds, and
    /// this one only after all of `after` have succeeded. Answered by `stagedStarted`.
    case stage(AttemptID, after: [AttemptID])
    /// Revokes all staged launches; answered by `revocationConfirmed`.
    case revokeStaged
    /// Sends SIGTERM to the whole tree, which is thawed first, and SIGKILL after `grace`; answered by `exited` or
    /// `gone`.
    case terminate(AttemptID, grace: TimeSpan)
    case freeze(AttemptID)
    case thaw(AttemptID)
    /// Kills the processes of this attempt that an earlier runner has left; answered by `gone`.
    case reap(AttemptID)
    /// Lets the executor forget an attempt, whose end is stored.
    case acknowledge(AttemptID)
    /// An effect for an executor other than the runner.
    indirect case external(String, Effect)
    /// Submits an attempt as a held job, unless its executor finds that it was submitted before. `job`: the stored id
    /// of the job, if there is one.
    case submit(AttemptID, job: String?, priority: Int8)
    /// Lets the job of an attempt start, whose id is stored.
    case release(AttemptID)
    case evaluate(OperationID, token: Int64)
    case stopEvaluating(OperationID)
    case observeStart(OperationID)
    case observeProduce(OperationID, product: OperationID)
    case observeFinish(OperationID, run: Int32)
}

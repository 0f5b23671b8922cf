/// State of a job as Slurm names it, and its meaning for the attempt.
public struct JobState: Hashable, Sendable {
    public enum Meaning: Hashable, Sendable {
        /// Waits in the queue, or is held there.
        case pending
        /// Has processes, or may have some. Unknown states count as this, since they do not say that the job has ended.
        case active
        case succeeded
        case failed
        case cancelled
        case timedOut
        case outOfMemory
        case nodeFailed
        case preempted
    }

    public let name: String

    public init(_ name: some StringProtocol) { self.name = String(name) }

    public var meaning: Meaning {
        switch name {
        case "PENDING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD", "SPECIAL_EXIT", "RESV_DEL_HOLD": .pending
        case "COMPLETED": .succeeded
        case "FAILED": .failed
        case "CANCELLED", "REVOKED": .cancelled
        case "TIMEOUT", "DEADLINE": .timedOut
        case "OUT_OF_MEMORY": .outOfMemory
        case "NODE_FAIL", "BOOT_FAIL": .nodeFailed
        case "PREEMPTED": .preempted
        default: .active
        }
    }

    /// True once Slurm says that no process of the job is left.
    public var hasEnded: Bool { meaning != .pending && meaning != .active }
}

/// State of an attempt in the inventory of its executor.
public enum AttemptState: Hashable, Sendable, Codable {
    case running(LaunchedProcess)
    /// The main process has ended; others of the tree are alive.
    case exited(ProcessExit)
    case gone(ProcessExit)
    case failed(step: String, errno: Int32)
    /// Submitted under this job, which has not started. An executor reports it also for a released job.
    case accepted(job: String)
    case refused(cause: String)
    case ended(ExternalEnd)
}

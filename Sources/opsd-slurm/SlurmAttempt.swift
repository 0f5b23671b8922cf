internal import OpsExecutor
internal import OpsSlurm

/// An attempt with its files: the spool, and the log that opsd reads.
final class SlurmAttempt {
    let request: LaunchRequest
    let spool: AttemptSpool
    var tracker: JobTracker
    /// True once opsd needs its end no more.
    var isAcknowledged = false

    init(_ request: LaunchRequest, spool: AttemptSpool, tracker: JobTracker) {
        self.request = request
        self.spool = spool
        self.tracker = tracker
    }

    var attempt: Attempt { request.attempt }
    var uid: UInt32 { tracker.user }
    var paths: SpoolPaths { spool.paths }
    var log: AttemptLog { AttemptLog(request: request, spool: spool) }
}

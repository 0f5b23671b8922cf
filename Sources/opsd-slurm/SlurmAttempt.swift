internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem

/// An attempt with its files: the spool, and the log that opsd reads.
final class SlurmAttempt {
    private(set) var request: LaunchRequest
    let spool: AttemptSpool
    var tracker: JobTracker
    /// True once opsd needs its end no more.
    var isAcknowledged = false
    /// True if Slurm did not take an array with it.
    var isAlone = false
    /// True if its job has to get another rank, once it waits for resources.
    var isRankStale = false
    /// Number of times that Slurm has not taken this rank, and their maximum: the refusal may be permanent.
    private var failedRanks = 0
    private static let mostFailedRanks = 4
    /// False if an earlier process has added it, until its records have been read.
    var isRead = true
    /// Latest command of each kind that waits until the records have been read.
    var deferred: [ExecutorCommand] = []
    /// True while its fence is being closed.
    var isFenceClosing = false
    var logState = LogState.open

    /// State of the log of an attempt, whose end is reported once the log is complete.
    enum LogState {
        case open, completing, complete
    }

    init(_ request: LaunchRequest, spool: AttemptSpool, tracker: JobTracker) {
        self.request = request
        self.spool = spool
        self.tracker = tracker
    }

    /// Changes the rank of its job.
    func setNiceness(_ niceness: Int32) throws(SystemError) {
        request.niceness = niceness
        isRankStale = true
        failedRanks = 0
        try spool.storeLaunch(request)
    }

    /// Handles a rank that Slurm has not taken, for example because its controller was away: another listing repeats it.
    func rankFailed(_ niceness: Int32) {
        guard niceness == request.niceness, failedRanks < Self.mostFailedRanks else { return }
        failedRanks += 1
        isRankStale = true
    }

    var attempt: AttemptID { request.attempt }
    var uid: UInt32 { tracker.user }
    var paths: SpoolPaths { spool.paths }
    var log: AttemptLog { AttemptLog(request: request, spool: spool) }
    /// True if opsd can be told its state.
    var isReportable: Bool { isRead && (!tracker.hasEnded || logState == .complete) }
}

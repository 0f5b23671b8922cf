public import OpsExecutor
public import OpsModel

/// State machine of one attempt in Slurm: takes commands and facts, and returns effects without performing them.
///
/// ```
/// looking -> submitting -> held -> released -> closing -> ended
///    ^           |                    ^           |
///    +-----------+                    |           |   a lost reply
///    +--------------------------------+           |   a job of this attempt that is not held
///    +--------------------------------------------+   Slurm does not list the held job, or a job of several attempts
///                                                     has ended before this one started
/// ```
/// An attempt that has not started ends only when its fence is closed: no job can start it after that.
///
/// Every effect that Slurm can see comes after the `store` of the record that allows for it. So a tracker that is made of the
/// stored record continues safely after a crash at any moment.
public struct JobTracker {
    public enum Effect: Hashable, Sendable {
        /// Stores the record, durably, before the effects that follow.
        case store(JobRecord)
        case submit
        case release(job: String)
        /// Closes a fence, and calls `fenceClosed`. After an error nothing is called; `timePassed` repeats the effect.
        case close(fence: Int)
        /// Writes the request to the program on the node that follows from the record.
        case request
        /// Ends jobs: held ones at once, others with SIGTERM and after Slurm's own grace with SIGKILL.
        case cancel(jobs: [String])
        /// Cancels a job that Slurm has accepted and does not list, if it is held.
        case cancelUnlisted(job: String)
        /// Sends SIGTERM to a running job. The end of this command and of the next two is passed to `signalEnded`.
        case terminate(job: String)
        /// Stops the processes of a running job.
        case stop(job: String)
        /// Lets the stopped processes of a running job go on.
        case resume(job: String)
        case report(ExecutorReport)
        /// Takes a listing soon.
        case list
    }

    public struct Settings: Hashable, Sendable {
        /// Time after a lost reply until a listing without a job allows another submission, and time for which
        /// listings lack an accepted job before it counts as lost. A job that appears still later does no harm: the
        /// fence lets one job of the attempt start, and held ones that are not needed are cancelled.
        public var settling = TimeSpan.seconds(15)
        /// Time for a record to become visible after Slurm says that the job has ended.
        public var recordGrace = TimeSpan.seconds(15)
        /// The same if the processes may still run although Slurm has lost the job.
        public var lostAfter = TimeSpan.seconds(600)
        /// Most jobs for an attempt that does not start. A controller that is killed may lose several in a row.
        public var mostSubmissions = 8
        public init() {}
    }

    enum Phase: Hashable {
        /// No job is known. A listing taken at or after `since` without a job of this attempt allows a submission.
        case looking(since: MonotonicInstant)
        case submitting
        /// The job waits for the release. `since`: older listings may lack it.
        case held(since: MonotonicInstant)
        case released(since: MonotonicInstant)
        /// The fence is being closed. The report is that of the end; nil: another job follows.
        case closing(ExecutorReport?)
        case ended(ExecutorReport)
    }

    public let attempt: AttemptID
    /// Owner of its jobs.
    public let user: UInt32
    let settings: Settings
    public internal(set) var record: JobRecord
    var phase: Phase
    /// True if the job is known only from opsd, so that it may or may not have been released.
    var isHandedDown = false
    /// True if opsd named a job when the attempt came to this spool. The job may have started behind a fence of another
    /// spool, which no record here shows and this process cannot close. So the attempt is never submitted again.
    let wasHandedDown: Bool
    /// True once opsd has stored the job.
    var isReleaseWanted = false
    var start: StartRecord?
    /// True if the fence could not be closed, because the attempt has passed it. The user of the attempt can make the
    /// record of the start unreadable.
    var hasPassedFence = false
    var exit: ExitRecord?
    /// Instant at which the record of the exit was first seen while the log was not copied; nil: nothing waits for the log.
    var uncopiedSince: MonotonicInstant?
    /// Instant at which the job is killed.
    var killDeadline: MonotonicInstant?
    /// True if Slurm has not taken the signal that the record asks for.
    var isSignalLost = false
    /// Instant at which Slurm first reported that the job had ended, or did not list it.
    var endedSince: MonotonicInstant?
    /// Instant at which a record with a signal was seen; Slurm's state may name another outcome.
    var signalSince: MonotonicInstant?
    /// True if Slurm has answered since.
    var isListedSinceSignal = false
    /// True if a listing after the release has shown the job as held.
    var isHeldAfterRelease = false
    /// State of the job for people, and the estimate of its start. Without a job: the reason why there is none.
    public internal(set) var update = OperationUpdate()

    /// Makes the tracker of a launch. `record`: nil for an attempt that the spool does not have.
    public init(
        _ attempt: AttemptID, user: UInt32, record: JobRecord?, jobOfOpsd: String, settings: Settings, now: Moment
    ) {
        self.attempt = attempt
        self.user = user
        self.settings = settings
        self.record = record ?? JobRecord()
        wasHandedDown = !jobOfOpsd.isEmpty
        if record == nil, wasHandedDown {
            self.record.mayBeSubmitted = true
            self.record.job = jobOfOpsd
        }
        // An earlier process may have stored the record before a listing showed the job.
        isHandedDown = wasHandedDown && !self.record.isReleased && self.record.job == jobOfOpsd
        let since = now.monotonic
        if self.record.isTerminated { killDeadline = since + settings.recordGrace }
        if let end = self.record.end {
            phase = .ended(
                .ended(attempt, ExternalEnd(outcome: end.outcome, cause: end.cause, at: now.past(wall: end.at))))
        } else if let refusal = self.record.refusal {
            phase = .ended(.refused(attempt, cause: refusal))
        } else if self.record.isReleased {
            phase = .released(since: since)
        } else if self.record.job != nil {
            phase = .held(since: since)
        } else {
            phase = .looking(since: self.record.mayBeSubmitted ? since + settings.settling : since)
            // An earlier process may have reported why there is no job.
            if self.record.mayBeSubmitted { update.status = "" }
        }
    }

    public var hasEnded: Bool { if case .ended = phase { true } else { false } }
    public var hasStarted: Bool { start != nil }
    var mayHaveStarted: Bool { start != nil || hasPassedFence }
    /// True if the attempt has a job that was released and has not started.
    public var waitsInSlurm: Bool { if case .released = phase { start == nil } else { false } }
    /// True if no job of the attempt can exist unless the spool was lost.
    public var isNew: Bool { if case .looking = phase { record == JobRecord() } else { false } }

    /// True while a listing is needed, because the spool cannot have the missing fact.
    public var needsListing: Bool { !hasEnded && phase != .submitting }

    /// Returns whether the attempt has this job, and has not ended.
    public func keeps(_ job: String) -> Bool { !hasEnded && record.job == job }

    /// Returns whether the attempt permits the release of its job.
    public var permitsRelease: Bool { hasEnded || record.isReleased }

    /// State for the greeting; nil: opsd must launch the attempt again, which changes nothing here.
    public func attemptState(now: Moment) -> AttemptState? {
        switch presentState(now: now) {
        case .accepted(_, let job): .accepted(job: job)
        case .launched(_, let process): .running(process)
        case .refused(_, let cause): .refused(cause: cause)
        case .failed(_, let step, let errno): .failed(step: step, errno: errno)
        case .ended(_, let end): .ended(end)
        case .exited(_, let exit, _): .gone(exit)
        default: nil
        }
    }

    /// The report that repeats the current state to opsd; nil: there is no job yet.
    public func presentState(now: Moment) -> ExecutorReport? {
        if case .ended(let report) = phase { return report }
        if let start { return launched(start, now) }
        if isHandedDown { return nil }
        return record.job.map { .accepted(attempt, job: $0) }
    }

    func launched(_ start: StartRecord, _ now: Moment) -> ExecutorReport {
        .launched(attempt, LaunchedProcess(pid: 0, startTicks: 0, at: now.past(wall: start.at)))
    }
}

extension Moment {
    /// Converts a wall-clock instant of another machine, whose clock may differ; never returns an instant in the
    /// future.
    func past(wall instant: WallInstant) -> Moment {
        guard instant > .zero else { return self }
        return self - min(max(wall - instant, .zero), max(monotonic - .zero, .zero))
    }
}

internal import OpsExecutor
public import OpsModel
internal import OpsSystem

/// Commands of opsd, and ends of sbatch.
extension JobTracker {
    /// Handles a launch: submits the job when a listing shows that there is none of this attempt.
    public func launch(now: Moment) -> [Effect] {
        if let report = presentState(now: now) { return [.report(report)] }
        return phase == .submitting ? [] : [.list]
    }

    /// Handles the release, after opsd has stored the job. A listing checks number and comment first.
    public mutating func release() -> [Effect] {
        guard case .held = phase else { return [] }
        isReleaseWanted = true
        return [.list]
    }

    /// Records that its processes are to be stopped, or to go on.
    public mutating func setFrozen(_ isFrozen: Bool) -> [Effect] {
        record.isFrozen = isFrozen
        return [.store(record)]
    }

    /// Ends the attempt. A job that runs gets SIGTERM, and `grace` nanoseconds.
    public mutating func terminate(grace: Int64, now: Moment) -> [Effect] {
        if case .ended(let report) = phase { return [.report(report)] }
        if case .looking = phase, !record.mayBeSubmitted { return conclude(.signal(15), now: now) }
        guard !record.isTerminated || killDeadline == nil else { return [] }
        record.isTerminated = true
        killDeadline = now.monotonic.clampedSum(start == nil ? 0 : grace)
        var effects: [Effect] = [.store(record)]
        if let job = record.job {
            effects.append(start == nil ? .cancel(jobs: [job]) : .terminate(job: job))
        }
        return effects + [.list]
    }

    /// Handles the end of sbatch.
    public mutating func submitted(_ submission: Submission, now: Moment) -> [Effect] {
        guard phase == .submitting else { return [] }
        switch submission {
        case .accepted(let job): return adopt(job, now: now)
        case .refused(let words):
            // Slurm's words may be wrong: whatever it has made of the submission stays held, and is cancelled.
            return refuse(words)
        case .ambiguous:
            phase = .looking(since: now.monotonic + settings.settling)
            return [.list]
        }
    }

    /// Ends the attempt before a submission: Slurm says that it can never run.
    public mutating func refuse(_ words: String) -> [Effect] {
        record.refusal = words
        let report = ExecutorReport.refused(attempt, cause: words)
        phase = .ended(report)
        return [.store(record), .report(report)]
    }

    /// Keeps a held job as that of this attempt.
    mutating func adopt(_ job: String, now: Moment) -> [Effect] {
        record.mayBeSubmitted = true
        record.job = job
        isHandedDown = false
        isReleaseWanted = false
        phase = .held(since: now.monotonic)
        var effects: [Effect] = [.store(record), .report(.accepted(attempt, job: job))]
        if record.isTerminated { effects += [.cancel(jobs: [job]), .list] }
        return effects
    }

    /// Handles deadlines that have passed.
    public mutating func timePassed(now: Moment) -> [Effect] {
        guard !hasEnded, let deadline = killDeadline, deadline <= now.monotonic, let job = record.job else { return [] }
        // Once more later, if the job is still there then.
        killDeadline = now.monotonic + settings.recordGrace
        return [.cancel(jobs: [job]), .list]
    }

    // MARK: Ends

    /// Ends the attempt with the exit of its command.
    mutating func conclude(_ status: ProcessExit.Status, now: Moment) -> [Effect] {
        var end = ProcessExit(status: status, at: now)
        if let exit {
            end = ProcessExit(
                status: exit.status, userMicroseconds: exit.userMicroseconds,
                systemMicroseconds: exit.systemMicroseconds,
                maxResidentBytes: exit.maxResidentBytes, at: now.past(wall: exit.at))
        }
        let report = ExecutorReport.exited(attempt, end, treeIsGone: true)
        phase = .ended(report)
        return [.report(report)]
    }

    /// Ends the attempt with an outcome that Slurm has decided. If opsd has ended the attempt, reports its signal.
    mutating func conclude(_ outcome: ExternalEnd.Outcome, _ cause: String, now: Moment) -> [Effect] {
        if record.isTerminated { return conclude(.signal(start == nil ? 15 : 9), now: now) }
        record.end = AttemptRecord.End(outcome: outcome, cause: cause, at: now.wall)
        let exit = exit.map { ProcessExit(status: $0.status, at: now.past(wall: $0.at)) }
        let report = ExecutorReport.ended(attempt, ExternalEnd(outcome: outcome, cause: cause, exit: exit, at: now))
        phase = .ended(report)
        return [.store(record), .report(report)]
    }
}

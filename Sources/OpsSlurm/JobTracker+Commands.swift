internal import OpsExecutor
public import OpsModel
internal import OpsSystem

/// Commands of opsd, and ends of sbatch.
extension JobTracker {
    /// Handles a launch: submits the job when a listing shows that there is none of this attempt.
    public func launch(now: Moment) -> [Effect] {
        if let report = presentState(now: now) { return [.report(report)] }
        // No greeting has it, because there is no state beside it.
        let reason: [Effect] = update.isEmpty ? [] : [.report(.updated(attempt, update))]
        return phase == .submitting ? reason : reason + [.list]
    }

    /// Handles the release, after opsd has stored the job. A listing checks number and comment first.
    public mutating func release() -> [Effect] {
        guard case .held = phase else { return [] }
        isReleaseWanted = true
        return [.list]
    }

    /// Stops the processes of the attempt, or lets them go on; before the start, only records that.
    public mutating func setFrozen(_ isFrozen: Bool) -> [Effect] {
        // opsd repeats it after each connection.
        guard !hasEnded, record.isFrozen != isFrozen else { return [] }
        record.isFrozen = isFrozen
        if record.isShared { return [.store(record), .request] }
        // The record of the start may not have been read yet.
        record.isResumeDue = !isFrozen && (mayHaveStarted || record.isReleased)
        isSignalLost = false
        // SIGTERM lets stopped processes go on, too.
        guard !record.isTerminated, let signal = wantedSignal else { return [.store(record)] }
        return [.store(record), signal]
    }

    /// Signal to the running job that the record asks for; nil: there is none.
    var wantedSignal: Effect? {
        guard !hasEnded, mayHaveStarted, !record.isShared, let job = record.job else { return nil }
        if record.isTerminated { return .terminate(job: job) }
        if record.isFrozen { return .stop(job: job) }
        return record.isResumeDue ? .resume(job: job) : nil
    }

    /// Handles the end of the command for a signal. A signal that Slurm has not taken, for example because its controller
    /// was away, is repeated once a listing shows that the job runs.
    public mutating func signalEnded(_ signal: Effect, isTaken: Bool) -> [Effect] {
        guard signal == wantedSignal else { return [] }
        isSignalLost = !isTaken
        guard isTaken, record.isResumeDue else { return [] }
        record.isResumeDue = false
        return [.store(record)]
    }

    /// Ends the attempt. A job that runs gets SIGTERM, and SIGKILL after `grace`. Another call can only shorten
    /// that time.
    public mutating func terminate(grace: TimeSpan, now: Moment) -> [Effect] {
        if case .ended(let report) = phase { return [.report(report)] }
        if case .looking = phase, !record.mayBeSubmitted { return concludeBeforeStart(now: now) }
        guard !record.isTerminated || grace < record.grace else { return [] }
        record.isTerminated = true
        record.grace = grace
        isSignalLost = false
        let deadline = now.monotonic.clampedSum(mayHaveStarted ? grace : .zero)
        killDeadline = min(killDeadline ?? deadline, deadline)
        guard let job = record.job else { return [.store(record), .list] }
        // Others go on in a job that is shared.
        if record.isShared { return [.store(record)] + (mayHaveStarted ? [.request] : concludeBeforeStart(now: now)) }
        return [.store(record), mayHaveStarted ? .terminate(job: job) : .cancel(jobs: [job]), .list]
    }

    /// Handles the end of sbatch. `isShared`: other attempts run in the same job.
    public mutating func submitted(_ submission: Submission, isShared: Bool = false, now: Moment) -> [Effect] {
        guard phase == .submitting else { return [] }
        switch submission {
        case .accepted(let job): return adopt(job, isShared: isShared, now: now)
        case .refused(let words):
            // Slurm's words may be wrong: whatever it has made of the submission stays held, and is cancelled. Its fence
            // is closed.
            return refuse(words)
        case .ambiguous(let words):
            phase = .looking(since: now.monotonic + settings.settling)
            return reportState("sbatch: \(words)") + [.list]
        }
    }

    /// Ends the attempt before a submission: Slurm says that it can never run.
    public mutating func refuse(_ words: String) -> [Effect] {
        finish(.refused(attempt, cause: words))
    }

    /// Keeps a held job as that of this attempt.
    mutating func adopt(_ job: String, isShared: Bool, now: Moment) -> [Effect] {
        record.mayBeSubmitted = true
        record.job = job
        record.isShared = isShared
        isReleaseWanted = false
        endedSince = nil
        phase = .held(since: now.monotonic)
        var effects: [Effect] = [.store(record)] + clearState() + [.report(.accepted(attempt, job: job))]
        if isShared, record.isFrozen { effects.append(.request) }
        guard record.isTerminated else { return effects }
        return effects + (isShared ? concludeBeforeStart(now: now) : [.cancel(jobs: [job]), .list])
    }

    /// Handles deadlines that have passed, and closes a fence that could not be closed before.
    public mutating func timePassed(now: Moment) -> [Effect] {
        let closing: [Effect] = isClosing ? [.close(fence: record.fence)] : []
        // The program on the node kills an attempt of several.
        guard !hasEnded, !record.isShared, let deadline = killDeadline, deadline <= now.monotonic,
            let job = record.job
        else { return closing }
        // Once more later, if the job is still there then.
        killDeadline = now.monotonic + settings.recordGrace
        return [.cancel(jobs: [job]), .list] + closing
    }

    // MARK: Ends

    /// Ends the attempt with the exit of its command, or with the reason why it did not start.
    mutating func conclude(_ status: ProcessExit.Status, now: Moment) -> [Effect] {
        if let failure = exit?.startFailure {
            return finish(.failed(attempt, step: failure.step, errno: failure.errno))
        }
        var end = ProcessExit(status: status, at: now)
        if let exit {
            end = ProcessExit(status: exit.status, usage: exit.usage, at: now.past(wall: exit.at))
        }
        return finish(.exited(attempt, end, treeIsGone: true))
    }

    /// Ends an attempt that opsd has ended before its start. An exit would count as a start.
    mutating func concludeBeforeStart(now: Moment) -> [Effect] {
        let end = ExternalEnd(outcome: .cancelled, cause: "cancelled before its start", at: now)
        return finish(.ended(attempt, end))
    }

    /// Ends the attempt with an outcome that Slurm has decided, unless opsd has ended the attempt.
    mutating func conclude(_ outcome: ExternalEnd.Outcome, _ cause: String, now: Moment) -> [Effect] {
        if record.isTerminated {
            return mayHaveStarted ? conclude(.signal(9), now: now) : concludeBeforeStart(now: now)
        }
        let exit = exit.map { ProcessExit(status: $0.status, at: now.past(wall: $0.at)) }
        return finish(.ended(attempt, ExternalEnd(outcome: outcome, cause: cause, exit: exit, at: now)))
    }

    /// Ends the attempt. If it has not started, its fence is closed first: Slurm may have a job of it after all.
    private mutating func finish(_ report: ExecutorReport) -> [Effect] {
        guard !mayHaveStarted, record.mayBeSubmitted else { return end(report) }
        phase = .closing(report)
        return [.close(fence: record.fence)]
    }

    private mutating func end(_ report: ExecutorReport) -> [Effect] {
        phase = .ended(report)
        switch report {
        case .refused(_, let cause): record.refusal = cause
        case .ended(_, let end):
            record.end = JobRecord.End(outcome: end.outcome, cause: end.cause, at: end.at.wall)
        default: return [.report(report)]
        }
        return [.store(record), .report(report)]
    }

    /// Submits an attempt once more whose job is lost or has ended before the start. Nothing but the fence proves that.
    mutating func submitAgain() -> [Effect] {
        phase = .closing(nil)
        return [.close(fence: record.fence)]
    }

    /// Handles the answer to `close`. `isClosed`: false if the attempt has passed the fence.
    public mutating func fenceClosed(_ isClosed: Bool, now: Moment) -> [Effect] {
        guard case .closing(let report) = phase else { return [] }
        guard isClosed else {
            hasPassedFence = true
            // The records get time to become visible.
            endedSince = nil
            record.isReleased = true
            phase = .released(since: now.monotonic)
            return [.store(record)] + (record.isShared && record.isTerminated ? [.request, .list] : [.list])
        }
        if let report { return end(report) }
        record.fence += 1
        record.job = nil
        record.isReleased = false
        isReleaseWanted = false
        endedSince = nil
        phase = .looking(since: now.monotonic)
        return [.store(record), .list]
    }
}

internal import OpsExecutor
public import OpsModel

/// Facts: records in the spool, and listings.
extension JobTracker {
    /// Handles the records that the job has written. The record of the exit has precedence over Slurm's state, unless a
    /// signal ended the command: then Slurm may know why. `isCopied`: false if a part of the log is left to copy, for which
    /// the end waits.
    public mutating func found(
        start: StartRecord?, exit: ExitRecord?, isCopied: Bool = true, now: Moment
    ) -> [Effect] {
        guard !hasEnded else { return [] }
        var effects: [Effect] = []
        if let start, self.start == nil {
            self.start = start
            if record.job == nil || !record.isReleased {
                if record.job == nil, !start.job.isEmpty { record.job = start.job }
                record.mayBeSubmitted = true
                record.isReleased = true
                effects.append(.store(record))
                // opsd may not have stored its number.
                if let job = record.job { effects.append(.report(.accepted(attempt, job: job))) }
            }
            isHandedDown = false
            phase = .released(since: now.monotonic)
            effects.append(.report(launched(start, now)))
            effects += requestsAtStart(now: now)
        }
        if isCopied || exit == nil {
            uncopiedSince = nil
        } else if uncopiedSince == nil {
            uncopiedSince = now.monotonic
        }
        guard let exit, mayHaveStarted else { return effects }
        self.exit = exit
        if waitsForLog(now: now) { return effects }
        if case .signal = exit.status, !record.isTerminated {
            if signalSince == nil {
                signalSince = now.monotonic
                effects.append(.list)
            }
            let grace = isListedSinceSignal ? settings.recordGrace : settings.lostAfter
            if now.monotonic - (signalSince ?? .zero) < grace { return effects }
        }
        return effects + conclude(exit.status, now: now)
    }

    /// Returns the effects of requests that came before the start, or before a restart of the executor.
    private mutating func requestsAtStart(now: Moment) -> [Effect] {
        if record.isShared { return record.isTerminated || record.isFrozen ? [.request] : [] }
        // The grace period begins with this SIGTERM.
        if record.isTerminated { killDeadline = now.monotonic.clampedSum(record.grace) }
        return wantedSignal.map { [$0] } ?? []
    }

    /// Returns whether the end waits for the log. The wait of an attempt that opsd ends is limited: its user can prevent the
    /// copy.
    private func waitsForLog(now: Moment) -> Bool {
        guard let uncopiedSince else { return false }
        return !record.isTerminated || now.monotonic - uncopiedSince < settings.lostAfter
    }

    /// Handles a listing of all jobs. `askedAt`: instant before squeue was started. `showsArray`: true if it has other
    /// tasks of the array that the job is part of. `problem`: reason why it may lack jobs.
    public mutating func listed(
        _ all: [JobRow], showsArray: Bool = false, problem: String? = nil, askedAt: MonotonicInstant, now: Moment
    ) -> [Effect] {
        let own = all.filter { $0.user == user }
        adoptFence(from: own)
        if let signalSince, askedAt >= signalSince { isListedSinceSignal = true }
        // A job whose fence is closed cannot start the attempt.
        let rows = own.filter { $0.batch.fence == record.fence }
        let strays = own.filter { $0.isHeld && ($0.job != record.job || $0.batch.fence != record.fence) }.map(\.job)
        let cancellation: [Effect] = strays.isEmpty ? [] : [.cancel(jobs: strays)]
        let kept = rows.first { $0.job == record.job }
        switch phase {
        case .submitting, .closing: return []
        case .ended: return cancellation
        case .looking(let since):
            let effects = adoptOrSubmit(rows, isComplete: problem == nil && askedAt >= since, now: now)
            guard let problem, case .looking = phase else { return effects }
            return effects + listingFailed(problem)
        case .held(let since):
            // The number from sbatch may be wrong, and one of the others the right job.
            guard let kept else {
                let isComplete = problem == nil && askedAt >= since
                return listedWithoutHeldJob(rows, showsArray: showsArray, isComplete: isComplete, now: now)
                    + (problem.map { listingFailed($0) } ?? [])
            }
            return noteSharing(kept) + listedWhileHeld(kept, now: now) + cancellation
        case .released(let since):
            guard let kept else {
                if problem != nil || askedAt < since { return cancellation }
                return handleMissingJob(arrayIsListed: showsArray, now: now) + cancellation
            }
            return noteSharing(kept) + listedAfterRelease(kept, askedAt: askedAt, now: now) + cancellation
        }
    }

    /// Takes the fence of a job that only opsd knows from the comment of the job, since the spool has lost it. The
    /// effects that follow store it.
    private mutating func adoptFence(from rows: [JobRow]) {
        guard isHandedDown, case .held = phase, let row = rows.first(where: { $0.job == record.job }),
            row.batch.fence < settings.mostSubmissions
        else { return }
        record.fence = row.batch.fence
    }

    /// Handles a listing that Slurm did not give. An attempt that waits for it to be submitted or released reports why.
    public mutating func listingFailed(_ reason: String) -> [Effect] {
        switch phase {
        case .looking: reportState("squeue: \(reason)")
        case .held: isReleaseWanted ? reportState("squeue: \(reason)") : []
        case .submitting, .released, .closing, .ended: []
        }
    }

    /// Notes that others run in the job, if its number is known only from its start or from opsd.
    private mutating func noteSharing(_ row: JobRow) -> [Effect] {
        guard row.isShared, !record.isShared else { return [] }
        record.isShared = true
        return [.store(record)] + (mayHaveStarted && (record.isTerminated || record.isFrozen) ? [.request] : [])
    }

    // MARK: State for people

    /// Reports a state if it is new.
    mutating func reportState(_ text: String, expectedStart: WallInstant? = nil) -> [Effect] {
        let update = OperationUpdate(status: text, expectedStart: expectedStart)
        guard update != self.update else { return [] }
        self.update = update
        return [.report(.updated(attempt, update))]
    }

    private mutating func reportState(_ row: JobRow) -> [Effect] {
        reportState(row.text, expectedStart: row.expectedStart)
    }

    /// Removes the reason why there was no job.
    mutating func clearState() -> [Effect] { (update.status ?? "").isEmpty ? [] : reportState("") }

    /// Ends an attempt whose task is not in its array any more: Slurm shows no tasks that were cancelled while they waited.
    private mutating func concludeRemovedTask(now: Moment) -> [Effect] {
        conclude(.cancelled, "Slurm job \(record.job ?? "") was cancelled in Slurm", now: now)
    }

    var isClosing: Bool { if case .closing = phase { true } else { false } }

    /// Adopts the job of a submission whose reply was lost. Submits if there is none and the submission can no longer
    /// arrive.
    private mutating func adoptOrSubmit(_ rows: [JobRow], isComplete: Bool, now: Moment) -> [Effect] {
        let candidates = rows.filter { !$0.state.hasEnded }
        if let row = candidates.first(where: { !$0.isHeld }) ?? candidates.first {
            let others = candidates.filter { $0.isHeld && $0.job != row.job }.map(\.job)
            var effects = adopt(row.job, isShared: row.isShared, now: now)
            if hasEnded || isClosing { return effects }
            if !row.isHeld { effects += noteRelease(now: now) }
            return others.isEmpty ? effects : effects + [.cancel(jobs: others)]
        }
        guard isComplete else { return [] }
        if record.isTerminated { return concludeBeforeStart(now: now) }
        record.mayBeSubmitted = true
        phase = .submitting
        return [.store(record), .submit]
    }

    private mutating func noteRelease(now: Moment) -> [Effect] {
        record.isReleased = true
        isHandedDown = false
        isHeldAfterRelease = false
        phase = .released(since: now.monotonic)
        return [.store(record)]
    }

    private mutating func listedWhileHeld(_ row: JobRow, now: Moment) -> [Effect] {
        endedSince = nil
        if row.state.hasEnded { return conclude(row, now: now) }
        let cleared = clearState()
        guard row.isHeld else { return cleared + noteRelease(now: now) }
        if isHandedDown {
            isHandedDown = false
            return cleared + [.store(record), .report(.accepted(attempt, job: row.job))]
        }
        guard isReleaseWanted, !record.isTerminated else { return cleared }
        return cleared + noteRelease(now: now) + [.release(job: row.job), .list]
    }

    /// Handles a listing that lacks the held job. `isComplete`: false if it may be older than the job.
    private mutating func listedWithoutHeldJob(
        _ rows: [JobRow], showsArray: Bool, isComplete: Bool, now: Moment
    ) -> [Effect] {
        let job = record.job ?? ""
        if isHandedDown || showsArray {
            guard isComplete else { return [] }
            guard isHandedDown else { return concludeRemovedTask(now: now) }
            return conclude(.interrupted, "Slurm has no record of job \(job)", now: now)
        }
        if rows.contains(where: { !$0.state.hasEnded }) { return adoptOrSubmit(rows, isComplete: false, now: now) }
        guard isComplete else { return [] }
        let cancellation = Effect.cancelUnlisted(job: job)
        if record.isTerminated { return [cancellation] + concludeBeforeStart(now: now) }
        guard noteEnd(now: now) >= settings.settling else { return [] }
        if wasHandedDown {
            return [cancellation] + conclude(.interrupted, "Slurm has no record of job \(job)", now: now)
        }
        guard hasSubmissionsLeft else {
            let question = "were its name or comment changed?"
            return [cancellation] + refuse("Slurm accepted job \(job) but does not list it; \(question)")
        }
        return [cancellation] + submitAgain()
    }

    private mutating func listedAfterRelease(_ row: JobRow, askedAt: MonotonicInstant, now: Moment) -> [Effect] {
        if row.state.hasEnded {
            let effects = concludeIfSettled(row, askedAt: askedAt, now: now)
            return hasEnded || isClosing ? effects : reportState(row) + effects
        }
        endedSince = nil
        if row.isImpossible, !mayHaveStarted {
            return [.cancel(jobs: [row.job])]
                + refuse("\(row.reason): Slurm cannot run job \(row.job) with these resources")
        }
        // Once the command has started, another release could only do harm.
        guard row.isHeld, !mayHaveStarted else { return lostSignal(row) + reportState(row) }
        // The controller has forgotten the release, or the first such listing is older than the release.
        let state = isHeldAfterRelease ? reportState(row) : []
        isHeldAfterRelease = true
        return state + (record.isTerminated ? [] : [.release(job: row.job)])
    }

    /// Returns the signal that Slurm has not taken, once the job runs.
    private mutating func lostSignal(_ row: JobRow) -> [Effect] {
        guard isSignalLost, row.state.meaning == .active, let signal = wantedSignal else { return [] }
        isSignalLost = false
        return [signal]
    }

    /// Handles a job that has ended according to Slurm: waits for the record of the exit to become visible.
    private mutating func concludeIfSettled(_ row: JobRow, askedAt: MonotonicInstant, now: Moment) -> [Effect] {
        if let exit {
            guard !waitsForLog(now: now), askedAt >= signalSince ?? .zero else { return [] }
            switch row.state.meaning {
            case .succeeded, .failed: return conclude(exit.status, now: now)
            default: return conclude(row, now: now)
            }
        }
        let mayRun = mayHaveStarted && !row.provesEnd
        guard noteEnd(now: now) >= (mayRun ? settings.lostAfter : settings.recordGrace) else { return [] }
        return conclude(row, now: now)
    }

    /// Handles a listing that lacks a released job.
    private mutating func handleMissingJob(arrayIsListed: Bool, now: Moment) -> [Effect] {
        if let exit { return waitsForLog(now: now) ? [] : conclude(exit.status, now: now) }
        let mayRun = mayHaveStarted
        guard noteEnd(now: now) >= (mayRun ? settings.lostAfter : settings.recordGrace) else {
            return reportState("not listed by Slurm")
        }
        if !mayRun, arrayIsListed { return concludeRemovedTask(now: now) }
        if canSubmitAgain { return submitAgain() }
        return conclude(.interrupted, "Slurm has no record of job \(record.job ?? "")", now: now)
    }

    /// Records that a listing lacks the job or reports its end. Returns the time since the first such listing.
    private mutating func noteEnd(now: Moment) -> TimeSpan {
        let since = endedSince ?? now.monotonic
        endedSince = since
        return now.monotonic - since
    }

    private var hasSubmissionsLeft: Bool { record.fence + 1 < settings.mostSubmissions }

    /// True if the attempt shares a job that can be replaced: the start of another attempt has ended it, not this one.
    /// The fence proves nothing about a job that was handed down.
    private var canSubmitAgain: Bool {
        record.isShared && !wasHandedDown && !mayHaveStarted && !record.isTerminated && hasSubmissionsLeft
    }

    /// Ends the attempt as Slurm's state of the job says.
    private mutating func conclude(_ row: JobRow, now: Moment) -> [Effect] {
        if canSubmitAgain, row.state.meaning != .cancelled { return submitAgain() }
        let job = "Slurm job \(row.job)"
        switch row.state.meaning {
        case .timedOut: return conclude(.timedOut, "\(job) reached its time limit", now: now)
        case .outOfMemory: return conclude(.outOfMemory, "\(job) ran out of memory", now: now)
        case .cancelled: return conclude(.cancelled, "\(job) was cancelled in Slurm", now: now)
        case .preempted: return conclude(.interrupted, "\(job) was preempted", now: now)
        case .nodeFailed: return conclude(.interrupted, "node \(row.nodes) failed during \(job)", now: now)
        case .pending, .active, .succeeded, .failed:
            let cause = "\(job) ended as \(row.state.name) (\(row.reason)) without a record of its exit"
            return conclude(.interrupted, cause, now: now)
        }
    }
}

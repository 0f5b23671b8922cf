internal import Glibc
internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem
internal import OpsWire

/// Jobs: submissions of one or several attempts, and commands about jobs that several attempts may share.
extension SlurmExecutor {
    /// Attempts with equal requests.
    private struct Group {
        var uid: UInt32
        var request: JobRequest
        var fence: Int
        var isAlone: Bool
        var attempts: [SlurmAttempt] = []

        func fits(_ other: Group) -> Bool {
            (uid, fence, isAlone) == (other.uid, other.fence, other.isAlone) && request == other.request
        }
    }

    // MARK: Submissions

    /// Submits the attempts of this turn, equal ones as arrays.
    func submitWaiting() {
        guard !waiting.isEmpty else { return }
        let attempts = waiting.sorted { $0.attempt < $1.attempt }
        waiting = []
        var groups: [Group] = []
        for attempt in attempts {
            do throws(JSONError) {
                var new = Group(
                    uid: attempt.uid,
                    request: try JobRequest(attempt.request, furtherArguments: configuration.arguments),
                    fence: attempt.tracker.record.fence, isAlone: attempt.isAlone)
                if let index = groups.firstIndex(where: { $0.fits(new) }) {
                    groups[index].attempts.append(attempt)
                } else {
                    new.attempts = [attempt]
                    groups.append(new)
                }
            } catch {
                perform(attempt.tracker.refuse("the key \"slurm\": \(error)"), for: attempt)
            }
        }
        for group in groups.sorted(by: { $0.request.niceness < $1.request.niceness }) { submit(group) }
    }

    private func submit(_ group: Group) {
        let batches = Batch.split(
            group.attempts.map(\.attempt), pack: Int(group.request.pack), fence: group.fence,
            mostTasks: group.isAlone ? 1 : engine.mostTasks, isLimited: group.request.timeLimit > .zero)
        for batch in batches { submit(batch, group) }
    }

    private func submit(_ batch: Batch, _ group: Group) {
        let attempts = batch.attempts.compactMap { table[$0] }
        guard let first = attempts.first else { return }
        let isUsual = batch.attempts.count == 1 && batch.fence == 0
        let script = [scriptPath, stepPath] + (isUsual ? [first.paths.directory] : [spool, batch.text])
        // The program on the node opens a file for each of several attempts.
        let output = batch.attempts.count == 1 ? first.paths.stepLog : "/dev/null"
        engine.submit(
            group.request.submission(JobComment(instance: instance, batch: batch), output: output, script: script),
            testing: group.request.test(batch, script: [scriptPath]), for: group.uid
        ) { [unowned self] reply in
            submitted(batch, attempts, group, reply)
        }
    }

    private func submitted(_ batch: Batch, _ attempts: [SlurmAttempt], _ group: Group, _ reply: Submission) {
        switch reply {
        case .accepted(let job):
            for attempt in attempts {
                let count = batch.task(of: attempt.attempt).map { batch.attempts(ofTask: $0).count } ?? 1
                let own = Submission.accepted(job: batch.job(job, of: attempt.attempt))
                perform(attempt.tracker.submitted(own, isShared: count > 1, now: Clock.read()), for: attempt)
            }
            return
        case .refused where batch.isArray:
            // Each task alone, so that each has its own answer.
            for attempt in attempts { attempt.isAlone = true }
            var group = group
            group.isAlone = true
            group.attempts = attempts
            return submit(group)
        case .refused: break
        case .ambiguous(let words):
            Program.writeError("opsd-slurm: sbatch: \(words)")
            // There may be room for some tasks and not for all.
            if batch.isArray, !Submission.isLoss(words) { for attempt in attempts { attempt.isAlone = true } }
            watchForStrays(of: group.uid)
        }
        for attempt in attempts { perform(attempt.tracker.submitted(reply, now: Clock.read()), for: attempt) }
    }

    /// Lists jobs for some time, also if no attempt needs it: a held one that nothing uses may show.
    private func watchForStrays(of uid: UInt32) {
        listings.watch(uid, until: Clock.read().monotonic + .seconds(120))
    }

    // MARK: Commands

    func command(_ kind: JobCommand.Kind, _ job: String, of attempt: SlurmAttempt) {
        engine.add(JobCommand(kind: kind, job: job, attempt: attempt.attempt), of: attempt.uid)
    }

    func sendCommands() {
        engine.sendCommands(instance) { [unowned self] command, isTaken in
            guard let attempt = table[command.attempt] else { return }
            if let signal = command.signal {
                perform(attempt.tracker.signalEnded(signal, isTaken: isTaken), for: attempt)
            } else if case .rank(let niceness) = command.kind, !isTaken {
                attempt.rankFailed(niceness)
            }
        }
    }

    /// Releases a job once opsd has stored it for all of its attempts.
    func release(_ job: String, of attempt: SlurmAttempt) {
        let attempts = sharedJobs.attempts(of: job, user: attempt.uid).compactMap { table[$0] }
        guard attempts.allSatisfy(\.tracker.permitsRelease) else { return }
        command(.release, job, of: attempt)
        expectRecords()
    }

    /// Returns whether another attempt has this job.
    func isNeeded(_ job: String, of user: UInt32) -> Bool {
        sharedJobs.attempts(of: job, user: user).contains { table[$0]?.tracker.keeps(job) == true }
    }

    /// Cancels a job that Slurm has accepted and does not list.
    func cancelUnlisted(_ job: String, of attempt: SlurmAttempt) {
        let record = attempt.tracker.record
        // Slurm does not list a task that opsd has cancelled while it waited.
        if !record.isTerminated {
            Program.writeError("opsd-slurm: Slurm does not list job \(job), which it has accepted")
        }
        engine.add(UnlistedJob(job: job, attempt: attempt.attempt, fence: record.fence), of: attempt.uid)
    }

    /// Closes a fence. After an error only the attempt waits, and tries again later.
    func close(_ fence: Int, of attempt: SlurmAttempt) {
        watchForStrays(of: attempt.uid)
        guard !attempt.isFenceClosing else { return }
        attempt.isFenceClosing = true
        let spool = attempt.spool
        spoolThreads.run(for: attempt.uid) { () -> Bool? in
            AttemptSpool.logErrors { () throws(SystemError) -> Bool in try spool.close(fence) }
        } then: { [unowned self] (isClosed: Bool?) in
            attempt.isFenceClosing = false
            guard let isClosed, table[attempt.attempt] === attempt else { return }
            perform(attempt.tracker.fenceClosed(isClosed, now: Clock.read()), for: attempt)
        }
    }

    /// Asks the program on the node to do something to one of the attempts of its job.
    func request(of attempt: SlurmAttempt, signal: Int32? = nil) {
        var request = StepRequest(attempt.tracker.record)
        request.signal = signal
        if signal != nil { request.signalledAt = Clock.read().wall }
        let spool = attempt.spool
        spoolThreads.run(for: attempt.uid) { [request] in
            AttemptSpool.logErrors { () throws(SystemError) -> Void in try spool.write(request) } != nil
        } then: { [unowned self] (_: Bool) in
            if attempt.tracker.hasStarted, let job = attempt.tracker.record.job { command(.wake, job, of: attempt) }
        }
    }
}

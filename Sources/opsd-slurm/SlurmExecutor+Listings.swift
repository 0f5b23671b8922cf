internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem

/// Facts: what Slurm says of jobs.
extension SlurmExecutor {
    /// Reason why the jobs of a user are not all listed, and the instant since which there is one.
    struct ListingProblem {
        var text: String
        var since: MonotonicInstant
    }

    /// Starts a round of listings if it is due.
    func listIfDue() {
        let now = Clock.read().monotonic
        guard !listings.isFindingUsers else { return }
        let next = listings.next(interval: configuration.interval)
        guard next <= now else { return wake(at: next) }
        let users = Set(table.values.filter { $0.tracker.needsListing }.map(\.uid))
            .union(listings.watchedUsers(now: now))
        guard listings.isWanted || !users.isEmpty || !unknown.isEmpty else { return }
        listings.begin(now: now, interval: configuration.interval)
        listings.sought = unknown
        // Nobody knows the user of an attempt that is not in the table.
        guard !unknown.isEmpty, Identity.uid == 0 else { return list(users.isEmpty ? [Identity.uid] : users) }
        listings.isFindingUsers = true
        engine.findOwners(instance) { [unowned self] owners in
            listings.isFindingUsers = false
            if owners == nil { listings.isComplete = false }
            list(users.union(owners ?? []).union([Identity.uid]))
        }
    }

    private func list(_ users: Set<UInt32>) {
        for uid in listings.start(users) {
            engine.list(instance, of: uid) { [unowned self] answer in
                switch answer {
                case .listing(let recent): note(recent, of: uid)
                case .failed(let reason): listingFailed(reason, of: uid)
                }
                if listings.end(uid) { endRound() }
            }
        }
    }

    private func listingFailed(_ reason: String, of uid: UInt32) {
        listings.isComplete = false
        noteProblem(reason, of: uid)
        for attempt in table.values where attempt.uid == uid {
            perform(attempt.tracker.listingFailed(reason), for: attempt)
        }
    }

    /// Notes why the jobs of a user are not all listed; nil: they are. Logs the reason once, until another one follows.
    private func noteProblem(_ text: String?, of uid: UInt32) {
        guard let text else {
            listingProblems[uid] = nil
            return
        }
        let known = listingProblems[uid]
        if known?.text != text { Program.writeError("opsd-slurm: squeue: \(text)") }
        listingProblems[uid] = ListingProblem(text: text, since: known?.since ?? Clock.read().monotonic)
    }

    /// Returns whether jobs may exist that a listing lacks. A user can cause that, which must not keep the attempts of
    /// others from their end for long.
    private func isDoubtful(_ listing: JobListing, of uid: UInt32) -> Bool {
        guard listing.problem != nil, let problem = listingProblems[uid] else { return false }
        return Clock.read().monotonic - problem.since < configuration.lostAfter
    }

    /// Notes a listing. The trackers get it after the records of the attempts: these may be newer, and prevail.
    private func note(_ recent: RecentListing, of uid: UInt32) {
        for row in recent.listing.rows where row.user == uid && !row.state.hasEnded {
            listings.found.formUnion(row.batch.attempts.filter { table[$0] == nil })
        }
        listings.note(recent.listing.rows)
        noteProblem(recent.listing.problem, of: uid)
        if isDoubtful(recent.listing, of: uid) { listings.isComplete = false }
        recentListings[uid] = recent
        readRecords(of: uid)
    }

    /// Passes a listing to the trackers of attempts whose records were read after it.
    func handle(_ recent: RecentListing, of uid: UInt32, _ attempts: [SlurmAttempt]) {
        let listing = recent.listing
        engine.use(recent, of: uid)
        let rows = listing.byAttempt.mapValues { $0.filter { $0.user == uid } }
        sharedJobs.note(listing, of: uid)
        for attempt in attempts where table[attempt.attempt] === attempt && !listings.isCollected(attempt.attempt) {
            let showsArray = listing.showsArray(of: attempt.tracker.record.job, with: attempt.attempt)
            let effects = attempt.tracker.listed(
                rows[attempt.attempt] ?? [], showsArray: showsArray, problem: listing.problem,
                askedAt: recent.askedAt, now: Clock.read())
            perform(effects, for: attempt)
            rank(attempt, rows[attempt.attempt] ?? [])
        }
        for row in listing.rows where row.user == uid && !row.state.hasEnded { cancelIfUnneeded(row) }
        sharedJobs.keep { table[$0] != nil }
    }

    /// Cancels a job of attempts that the table lacks or that have all ended: one that is held, or one that opsd wants to be
    /// ended. Anyone can name the attempts of others in comments, so each job is checked once, not for each of its attempts.
    private func cancelIfUnneeded(_ row: JobRow) {
        let others = row.batch.attempts.filter { table[$0] == nil }
        let isUnwanted = row.isHeld ? row.isShared || !others.isEmpty : others.contains { unknown.contains($0) }
        guard isUnwanted, !isNeeded(row.job, of: row.user), let attempt = row.batch.attempts.first else { return }
        engine.add(JobCommand(kind: .cancel, job: row.job, attempt: attempt), of: row.user)
    }

    /// Gives a job that waits for resources the rank of its operation.
    private func rank(_ attempt: SlurmAttempt, _ rows: [JobRow]) {
        guard attempt.isRankStale,
            let row = rows.first(where: { attempt.tracker.keeps($0.job) && JobCommand.Kind.rank(0).fits($0) })
        else { return }
        attempt.isRankStale = false
        command(.rank(attempt.request.niceness), row.job, of: attempt)
    }

    /// Reports attempts that no listing has. A job that a missing listing may have proves nothing.
    private func endRound() {
        if listings.isComplete {
            for id in listings.sought.subtracting(listings.found) where unknown.remove(id) != nil { report(.gone(id)) }
        }
    }
}

internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem

/// Facts: what Slurm says of jobs.
extension SlurmExecutor {
    /// Starts a round of listings if it is due.
    func listIfDue() {
        let now = Clock.read().monotonic
        guard listings.underWay == 0 else { return }
        let next = listings.next(interval: configuration.interval)
        guard next <= now else { return wake(at: next) }
        let users = Set(table.values.filter { $0.tracker.needsListing }.map(\.uid))
            .union(listings.watchedUsers(now: now))
        guard listings.isWanted || !users.isEmpty || !unknown.isEmpty else { return }
        listings.begin(now: now, interval: configuration.interval)
        listings.sought = unknown
        // Nobody knows the user of an attempt that is not in the table.
        guard !unknown.isEmpty, Identity.uid == 0 else { return list(users.isEmpty ? [Identity.uid] : users) }
        listings.underWay += 1
        engine.findOwners(instance) { [unowned self] owners in
            listings.underWay -= 1
            if owners == nil { listings.isComplete = false }
            list(users.union(owners ?? []).union([Identity.uid]))
        }
    }

    private func list(_ users: Set<UInt32>) {
        for uid in users {
            listings.underWay += 1
            engine.list(instance, of: uid) { [unowned self] listing, askedAt in
                if let listing { take(listing, of: uid, askedAt: askedAt) } else { listings.isComplete = false }
                listings.underWay -= 1
                if listings.underWay == 0 { endRound() }
            }
        }
    }

    private func take(_ listing: JobListing, of uid: UInt32, askedAt: MonotonicInstant) {
        let rows = listing.byAttempt.mapValues { $0.filter { $0.user == uid } }
        for row in listing.rows where row.isShared && row.user == uid { mates[row.job] = row.batch.attempts }
        for attempt in table.values where attempt.uid == uid && !listings.isCollected(attempt.attempt) {
            // Records first: they may be newer than the listing, and prevail.
            if !attempt.tracker.hasEnded { readRecords(of: attempt) }
            let showsArray = listing.showsArray(of: attempt.tracker.record.job, with: attempt.attempt)
            let effects = attempt.tracker.listed(
                rows[attempt.attempt] ?? [], showsArray: showsArray, askedAt: askedAt, now: Clock.read())
            perform(effects, for: attempt)
            rank(attempt, rows[attempt.attempt] ?? [])
        }
        for row in listing.rows where row.user == uid && !row.state.hasEnded { cancelIfUnneeded(row) }
        listings.note(listing.rows)
        mates = mates.filter { $0.value.contains { table[$0] != nil } }
    }

    /// Cancels a job of attempts that the table lacks or that have all ended: one that is held, or one that opsd wants to be
    /// ended. Anyone can name the attempts of others in comments, so each job is checked once, not for each of its attempts.
    private func cancelIfUnneeded(_ row: JobRow) {
        let others = row.batch.attempts.filter { table[$0] == nil }
        listings.found.formUnion(others)
        let isUnwanted = row.isHeld ? row.isShared || !others.isEmpty : others.contains { unknown.contains($0) }
        guard isUnwanted, !isNeeded(row.job), let attempt = row.batch.attempts.first else { return }
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

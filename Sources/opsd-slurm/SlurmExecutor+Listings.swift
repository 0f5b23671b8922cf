internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem

/// The listings of jobs: one for each user at a time. All of one time are a round.
struct ListingRounds {
    /// Instant at which the last round was started.
    var last: Int64 = .min
    /// Commands under way.
    var underWay = 0
    /// True if an attempt waits for the next round.
    var isWanted = false
    /// Attempts that are not in the table and that this round is to find.
    var sought: Set<Attempt> = []
    /// Attempts of these that have a job.
    var found: Set<Attempt> = []
    /// False if the jobs of a user are missing.
    var isComplete = true
}

/// Facts: what Slurm says of jobs.
extension SlurmExecutor {
    private static let shortestPause: Int64 = 1_000_000_000

    /// Starts a round of listings if it is due.
    func listIfDue() {
        let now = Clock.read().monotonic
        guard listings.underWay == 0 else { return }
        let pause = listings.isWanted ? min(configuration.interval, Self.shortestPause) : configuration.interval
        guard listings.last < now - pause else { return }
        let users = Set(table.values.filter { $0.tracker.needsListing }.map(\.uid))
        guard listings.isWanted || !users.isEmpty || !unknown.isEmpty else { return }
        listings.isWanted = false
        listings.last = now
        listings.sought = unknown
        listings.found = []
        listings.isComplete = true
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

    private func take(_ listing: JobListing, of uid: UInt32, askedAt: Int64) {
        let rows = Dictionary(grouping: listing.rows.filter { $0.user == uid }, by: \.comment.attempt)
        for attempt in table.values where attempt.uid == uid {
            // Records first: they may be newer than the listing, and prevail.
            if !attempt.tracker.hasEnded { readRecords(of: attempt) }
            let found = rows[attempt.attempt] ?? []
            perform(attempt.tracker.listed(found, askedAt: askedAt, now: Clock.read()), for: attempt)
        }
        for (id, jobs) in rows where table[id] == nil {
            if jobs.contains(where: { !$0.state.hasEnded }) { listings.found.insert(id) }
            let ending = jobs.filter { $0.isHeld || unknown.contains(id) && !$0.state.hasEnded }
            if !ending.isEmpty { engine.cancel(ending.map(\.job), of: instance, uid) }
        }
    }

    /// Reports attempts that no listing has. A job that a missing listing may have proves nothing.
    private func endRound() {
        if listings.isComplete {
            for id in listings.sought.subtracting(listings.found) where unknown.remove(id) != nil { report(.gone(id)) }
        }
        listIfDue()
    }
}

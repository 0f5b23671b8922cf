internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem

/// Reading of one attempt, outside the loop.
private struct SpoolReading: Sendable {
    struct Facts: Sendable {
        var records: AttemptSpool.Records
        /// False if a part of the log is left to copy.
        var isCopied: Bool
    }

    /// Readings of a user, nil after an error, and their duration.
    struct Results: Sendable {
        var facts: [Facts?]
        var duration: TimeSpan
    }

    var log: AttemptLog
    var fence: Int
    var hasStarted: Bool

    init(_ attempt: SlurmAttempt) {
        log = attempt.log
        fence = attempt.tracker.record.fence
        hasStarted = attempt.tracker.hasStarted
    }

    /// Reads the records, and copies new output.
    func facts() throws(SystemError) -> Facts {
        let records = try log.spool.records(fence)
        // The end waits for the log. Without its exit record a job may still write.
        guard hasStarted || records.start != nil else { return Facts(records: records, isCopied: true) }
        let isCopied = AttemptSpool.logErrors { () throws(SystemError) -> Bool in try log.copy() }
        return Facts(records: records, isCopied: isCopied ?? false)
    }

    static func results(_ readings: [SpoolReading]) -> Results {
        let start = Clock.read().monotonic
        let facts = readings.map { reading in
            AttemptSpool.logErrors { () throws(SystemError) -> Facts in try reading.facts() }
        }
        return Results(facts: facts, duration: Clock.read().monotonic - start)
    }
}

/// Facts: the records that jobs have written.
extension SlurmExecutor {
    /// Reads the records of all attempts of a user, and copies their logs. Handles the latest listing after that.
    func readRecords(of uid: UInt32) {
        guard !usersBeingRead.contains(uid) else { return }
        let listing = recentListings.removeValue(forKey: uid)
        let all = table.values.filter { $0.uid == uid }
        let attempts = all.filter { !$0.tracker.hasEnded }
        guard !attempts.isEmpty else {
            if let listing { handle(listing, of: uid, all) }
            return
        }
        let readings = attempts.map { SpoolReading($0) }
        usersBeingRead.insert(uid)
        spoolThreads.run(for: uid) {
            SpoolReading.results(readings)
        } then: { [unowned self] (results: SpoolReading.Results) in
            usersBeingRead.remove(uid)
            readingTime = max(readingTime, results.duration)
            for (attempt, facts) in zip(attempts, results.facts) where table[attempt.attempt] === attempt {
                handle(facts, of: attempt)
            }
            if let listing { handle(listing, of: uid, all) }
            if recentListings[uid] != nil { readRecords(of: uid) }
        }
    }

    private func handle(_ facts: SpoolReading.Facts?, of attempt: SlurmAttempt) {
        if let facts {
            let effects = attempt.tracker.found(
                start: facts.records.start, exit: facts.records.exit, isCopied: facts.isCopied, now: Clock.read())
            perform(effects, for: attempt)
        }
        attempt.isRead = true
        let commands = attempt.deferred
        attempt.deferred = []
        for command in commands { obey(command) }
    }
}

internal import Glibc
internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Attempts: their spool, effects and facts.
extension SlurmExecutor {
    var settings: JobTracker.Settings {
        var settings = JobTracker.Settings()
        settings.settling = configuration.interval
        settings.recordGrace = configuration.interval
        settings.lostAfter = configuration.lostAfter
        return settings
    }

    // MARK: The spool

    var scriptPath: String { spool + "/step.sh" }
    var stepPath: String { spool + "/opsd-step" }
    private var recordsPath: String { spool + "/records" }
    /// Longest time for which the recovery waits for the records.
    private static let longestReading = TimeSpan.seconds(5)

    /// Copies opsd-step into the spool: nodes need nothing else of opsd.
    func prepareSpool() throws(SystemError) {
        try Files.makePrivateDirectory(spool, mode: 0o711)
        let script = Array("#!/bin/sh\nexec \"$@\"\n".utf8)
        try Self.replace(scriptPath, with: script)
        let own = try Program.path()
        let folder = own.lastIndex(of: "/").map { String(own[..<$0]) } ?? ""
        // Beside this program where it was built, apart from the commands of users where it is installed.
        let installed = "\(folder)/../lib/opsd/opsd-step"
        let step = Files.exists(installed) ? installed : "\(folder)/opsd-step"
        try Self.replace(stepPath, with: try Files.read(step, limit: 1 << 30))
    }

    private static func replace(_ path: String, with bytes: [UInt8]) throws(SystemError) {
        guard try Files.readIfPresent(path, limit: 1 << 30) != bytes else { return }
        try Files.replace(path, with: bytes, mode: 0o755)
    }

    /// Reads all attempts from the spool.
    func recover() throws(SystemError) {
        let facts = try RecordJournal.read(recordsPath)
        try restoreLaunches(facts)
        let names = try Files.list(spool)
        var forgotten: [(request: LaunchRequest, paths: SpoolPaths)] = []
        for name in names {
            guard let attempt = AttemptID(spoolName: name) else { continue }
            let paths = SpoolPaths(attempt: attempt, in: spool)
            guard let bytes = try AttemptSpool.launch(at: paths) else {
                // It was being made, and no job can know of it.
                try removal.remove(paths)
                continue
            }
            guard let request = Self.request(bytes), request.attempt == attempt else { continue }
            if let facts = facts[attempt] {
                let added = try add(request, paths, facts.record)
                added.isRead = added.tracker.hasEnded
            } else {
                forgotten.append((request, paths))
            }
        }
        journal = try RecordJournal(recordsPath, table.values)
        listings.isWanted = !table.isEmpty
        for (request, paths) in forgotten { restoreIfStarted(request, paths) }
        try readAllRecords()
        for name in names where SpoolRemoval.isRemoved(name) { removal.removeLater("\(spool)/\(name)") }
    }

    /// Reads the records, so that the first greeting has all attempts. Users can delay that: then the greeting lacks
    /// theirs.
    private func readAllRecords() throws(SystemError) {
        for uid in Set(table.values.map(\.uid)) { readRecords(of: uid) }
        let now = Clock.read()
        // Their logs may lack the end.
        for attempt in table.values where attempt.tracker.hasEnded {
            perform(attempt.tracker.launch(now: now), for: attempt)
        }
        let deadline = now.monotonic + Self.longestReading
        while spoolThreads.isBusy {
            let left = deadline - Clock.read().monotonic
            guard left > .zero else { return }
            try loop.turn(timeout: UInt64(left.nanoseconds / 1000 + 1))
        }
    }

    /// Restores an attempt that the journal lacks, if it has started. Otherwise it was acknowledged, or no job can know
    /// of it; opsd launches it once more if it is needed.
    private func restoreIfStarted(_ request: LaunchRequest, _ paths: SpoolPaths) {
        let spool = AttemptSpool(request, paths)
        let fences = 0..<settings.mostSubmissions
        spoolThreads.run(for: spool.user) { () -> AttemptSpool.Records? in
            AttemptSpool.logErrors { () throws(SystemError) -> AttemptSpool.Records in
                try spool.records(ofFences: fences)
            }
        } then: { [unowned self] (records: AttemptSpool.Records?) in
            guard let records, table[request.attempt] == nil else { return }
            attempt { () throws(SystemError) in
                guard let start = records.start else { return try removal.remove(paths) }
                var record = JobRecord()
                record.fence = records.fence
                // The job that the launch names may be that of an earlier fence.
                let added = try add(request, paths, records.fence > 0 ? record : nil)
                journal?.add(request)
                perform(added.tracker.found(start: start, exit: nil, now: Clock.read()), for: added)
                // opsd may have ended it meanwhile.
                guard unknown.remove(request.attempt) != nil else { return }
                perform(added.tracker.terminate(grace: request.grace, now: Clock.read()), for: added)
            }
        }
    }

    /// Writes launches that are not in their files: the machine has stopped before it had written these. No such attempt has
    /// started, since a start brings its record and all directories above it to the disk.
    private func restoreLaunches(_ facts: [AttemptID: RecordEntries.Facts]) throws(SystemError) {
        for (attempt, facts) in facts {
            guard let launch = facts.launch, let request = Self.request(launch), request.attempt == attempt else {
                continue
            }
            let paths = SpoolPaths(attempt: attempt, in: spool)
            if try AttemptSpool.launch(at: paths) == launch { continue }
            try AttemptSpool(request, paths).make(request)
        }
    }

    private static func request(_ bytes: [UInt8]) -> LaunchRequest? {
        do throws(ProtocolError) {
            return try SpooledLaunch.request(bytes)
        } catch {
            Program.writeError("opsd-slurm: a launch in the spool: \(error)")
            return nil
        }
    }

    @discardableResult
    private func add(
        _ request: LaunchRequest, _ paths: SpoolPaths, _ record: JobRecord?
    ) throws(SystemError) -> SlurmAttempt {
        try engine.prepare(request.user)
        let spool = AttemptSpool(request, paths)
        let tracker = JobTracker(
            request.attempt, user: spool.user, record: record, jobOfOpsd: request.job, settings: settings,
            now: Clock.read())
        let attempt = SlurmAttempt(request, spool: spool, tracker: tracker)
        table[request.attempt] = attempt
        return attempt
    }

    /// Adds an attempt; reports the state of one that is known already.
    func launch(_ request: LaunchRequest) {
        let known = table[request.attempt]
        do throws(SystemError) {
            let attempt: SlurmAttempt
            if let known {
                attempt = known
                rank(attempt, request.niceness)
            } else {
                if case .journal = request.output {
                    return report(.refused(request.attempt, cause: "output to the journal needs this machine"))
                }
                let paths = SpoolPaths(attempt: request.attempt, in: spool)
                try AttemptSpool(request, paths).make(request)
                attempt = try add(request, paths, nil)
                journal?.add(request)
                try attempt.log.make()
                if attempt.tracker.isNew {
                    listings.collect(request.attempt, now: Clock.read().monotonic) {
                        table.values.contains { $0.tracker.waitsInSlurm }
                    }
                    return
                }
            }
            perform(attempt.tracker.launch(now: Clock.read()), for: attempt)
        } catch {
            report(.failed(request.attempt, step: error.call, errno: error.errno))
        }
    }

    /// Passes a new priority on to a job that waits. After an error the attempt goes on: the journal has the launch, too.
    private func rank(_ attempt: SlurmAttempt, _ niceness: Int32) {
        guard attempt.request.niceness != niceness, !attempt.tracker.hasStarted else { return }
        do throws(SystemError) {
            try attempt.setNiceness(niceness)
        } catch {
            Program.writeError("opsd-slurm: \(error)")
        }
        journal?.add(attempt.request)
        listings.isWanted = true
    }

    /// Removes an attempt whose end is stored. An attempt that opsd has given up is ended first.
    func forget(_ id: AttemptID) {
        guard let attempt = table[id] else { return }
        attempt.isAcknowledged = true
        guard attempt.tracker.hasEnded else {
            return perform(attempt.tracker.terminate(grace: .zero, now: Clock.read()), for: attempt)
        }
        table[id] = nil
        // A held job that shows later is nobody's, and cancelled.
        journal?.add(gone: id)
        removed.append(attempt.paths)
    }

    /// Takes the directories of removed attempts away. The journal has forgotten these: it could restore them otherwise.
    func clearRemoved() {
        for paths in removed {
            do throws(SystemError) {
                try removal.remove(paths)
            } catch {
                Program.writeError("opsd-slurm: \(error)")
            }
        }
        removed = []
    }

    // MARK: Steps

    /// Performs effects in their order.
    func perform(_ effects: [JobTracker.Effect], for attempt: SlurmAttempt) {
        for effect in effects {
            switch effect {
            case .store(let record): journal?.add(attempt.attempt, record)
            case .close(let fence): close(fence, of: attempt)
            case .request: request(of: attempt)
            case .submit: waiting.append(attempt)
            case .release(let job): release(job, of: attempt)
            case .cancel(let jobs):
                for job in jobs where !isNeeded(job, of: attempt.uid) { command(.cancel, job, of: attempt) }
            case .cancelUnlisted(let job): cancelUnlisted(job, of: attempt)
            case .terminate(let job): command(.signal(SIGTERM), job, of: attempt)
            case .stop(let job): command(.signal(SIGTSTP), job, of: attempt)
            case .resume(let job): command(.signal(SIGCONT), job, of: attempt)
            case .list: listings.isWanted = true
            case .report(let report): send(report, of: attempt)
            }
        }
        if attempt.isAcknowledged, attempt.tracker.hasEnded { forget(attempt.attempt) }
    }

    private func send(_ report: ExecutorReport, of attempt: SlurmAttempt) {
        switch report {
        case .exited, .ended, .refused, .failed: return sendEnd(report, of: attempt)
        case .launched: expectRecords()
        default: break
        }
        self.report(report)
    }

    /// Reports the end of an attempt once its log is complete.
    private func sendEnd(_ report: ExecutorReport, of attempt: SlurmAttempt) {
        if attempt.logState == .complete { return self.report(report) }
        guard attempt.logState == .open else { return }
        attempt.logState = .completing
        let log = attempt.log
        spoolThreads.run(for: attempt.uid) {
            AttemptSpool.logErrors { () throws(SystemError) -> Void in try log.complete() } != nil
        } then: { [unowned self] (_: Bool) in
            attempt.logState = .complete
            guard table[attempt.attempt] === attempt else { return }
            self.report(report)
            expectRecords()
        }
    }
}

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
        for name in try Files.list(spool) {
            if SpoolRemoval.isRemoved(name) { removal.removeLater("\(spool)/\(name)") }
            guard let attempt = AttemptID(spoolName: name) else { continue }
            let paths = SpoolPaths(attempt: attempt, in: spool)
            guard let bytes = try AttemptSpool.launch(at: paths) else {
                // It was being made, and no job can know of it.
                try removal.remove(paths)
                continue
            }
            if let request = Self.request(bytes), request.attempt == attempt {
                // It was acknowledged, or no job can know of it; opsd launches it once more if it is needed.
                if facts[attempt] == nil {
                    guard let hasStarted = isStarted(AttemptSpool(request, paths)) else { continue }
                    if !hasStarted {
                        try removal.remove(paths)
                        continue
                    }
                }
                try add(request, paths, facts[attempt]?.record)
            }
        }
        journal = try RecordJournal(recordsPath, table.values)
        listings.isWanted = !table.isEmpty
        for attempt in table.values { readRecords(of: attempt) }
    }

    /// Returns whether an attempt has passed its first fence; nil: an error prevents the reading. Users can cause errors in
    /// their directories, and this program has to start nevertheless.
    private func isStarted(_ attempt: AttemptSpool) -> Bool? {
        do throws(SystemError) {
            return try attempt.records(0).start != nil
        } catch {
            Program.writeError("opsd-slurm: \(error)")
            return nil
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
        _ request: LaunchRequest, _ paths: SpoolPaths, _ record: AttemptRecord?
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
            case .close(let fence):
                guard let isClosed = close(fence, of: attempt) else { return }
                perform(attempt.tracker.fenceClosed(isClosed, now: Clock.read()), for: attempt)
            case .request: request(of: attempt)
            case .submit: waiting.append(attempt)
            case .release(let job): release(job, of: attempt)
            case .cancel(let jobs):
                for job in jobs where !isNeeded(job) { command(.cancel, job, of: attempt) }
            case .cancelUnlisted(let job): cancelUnlisted(job, of: attempt)
            case .terminate(let job): command(.signal(Signals.terminate), job, of: attempt)
            case .list: listings.isWanted = true
            case .report(let report): send(report, of: attempt)
            }
        }
        if attempt.isAcknowledged, attempt.tracker.hasEnded { forget(attempt.attempt) }
    }

    private func send(_ report: ExecutorReport, of attempt: SlurmAttempt) {
        switch report {
        case .exited, .ended, .refused, .failed:
            completeLog(of: attempt)
            expectRecords()
        case .launched:
            expectRecords()
            if attempt.tracker.record.isFrozen, !attempt.tracker.record.isShared, let job = attempt.tracker.record.job {
                command(.signal(SIGTSTP), job, of: attempt)
            }
        default: break
        }
        self.report(report)
    }

    // MARK: Facts

    func readRecords(of attempt: SlurmAttempt) {
        do throws(SystemError) {
            let records = try attempt.spool.records(attempt.tracker.record.fence)
            // The end waits for the log. Without its exit record a job may still write.
            let isCopied = attempt.tracker.hasStarted || records.start != nil ? copyLog(of: attempt) : true
            let effects = attempt.tracker.found(
                start: records.start, exit: records.exit, isCopied: isCopied, now: Clock.read())
            perform(effects, for: attempt)
        } catch {
            Program.writeError("opsd-slurm: \(error)")
        }
    }

    /// Copies new output. Returns false if more is left, or after an error such as that of a full disk.
    private func copyLog(of attempt: SlurmAttempt) -> Bool {
        do throws(SystemError) {
            return try attempt.log.copy()
        } catch {
            Program.writeError("opsd-slurm: \(error)")
            return false
        }
    }

    private func completeLog(of attempt: SlurmAttempt) {
        do throws(SystemError) {
            _ = try attempt.log.copy()
            try attempt.log.appendStepLog()
        } catch {
            Program.writeError("opsd-slurm: \(error)")
        }
    }
}

internal import OpsExecutor
internal import OpsExecutorServer
internal import OpsSlurm
internal import OpsSystem
internal import OpsSystemd

/// The conversation with opsd.
extension SlurmExecutor {
    func obey(_ command: ExecutorCommand) {
        // The effect depends on whether the attempt has started.
        if let attempt = command.attempt.flatMap({ table[$0] }), !attempt.isRead {
            attempt.deferred.removeAll { earlier in
                switch (earlier, command) {
                case (.signal(_, let one), .signal(_, let other)): one == other
                // A later termination can only be earlier.
                case (.terminate(_, let one, _), .terminate(_, let other, _)): one >= other
                default: earlier.kind == command.kind
                }
            }
            return attempt.deferred.append(command)
        }
        let now = Clock.read()
        switch command {
        case .hello(let version): greet(version)
        case .launch(let request): launch(request)
        case .release(let attempt): change(attempt) { $0.release() }
        case .terminate(let id, let grace, _):
            if table[id] == nil {
                unknown.insert(id)
                listings.isWanted = true
                return
            }
            change(id) { $0.terminate(grace: grace, now: now) }
        case .signal(let id, let number): signal(number, id)
        case .freeze(let id): change(id) { $0.setFrozen(true) }
        case .thaw(let id): change(id) { $0.setFrozen(false) }
        case .acknowledge(let attempt): forget(attempt)
        case .stop: loop.stop()
        case .ping: report(.pong)
        case .killStaleTree(let attempt, _, _): report(.gone(attempt))
        case .revokeStaged: report(.stagingRevoked)
        case .stage, .reexecute: break
        }
    }

    /// Signals the command, through opsd-step. One that has not started has no processes.
    private func signal(_ number: Int32, _ id: AttemptID) {
        guard let attempt = table[id], attempt.tracker.hasStarted, let job = attempt.tracker.record.job else { return }
        if attempt.tracker.record.isShared { return request(of: attempt, signal: number) }
        command(.signal(number), job, of: attempt)
    }

    private func change(_ id: AttemptID, _ step: (inout JobTracker) -> [JobTracker.Effect]) {
        guard let attempt = table[id] else { return }
        perform(step(&attempt.tracker), for: attempt)
    }

    /// Reads the configuration again and answers with all attempts whose state is known. opsd launches others again.
    private func greet(_ version: UInt16) {
        do throws(SystemError) {
            let old = spool
            try readConfiguration()
            // Attempts stay where they are: a new spool is used from the next start of this program on.
            if spool != old {
                Program.writeError("opsd-slurm: the spool has changed: starting again")
                return stopForRestart()
            }
        } catch {
            Program.writeError("opsd-slurm: \(error)")
        }
        let now = Clock.read()
        let known = table.values.filter(\.isReportable).sorted { $0.attempt < $1.attempt }
        server.greet(
            version, instance: instance,
            updates: known.filter { !$0.tracker.update.isEmpty }.map { ($0.attempt, $0.tracker.update) },
            entries: known.compactMap { attempt in
                attempt.tracker.attemptState(now: now).map { .init(attempt.attempt, $0) }
            })
        // The state of an attempt that has started does not name its job, which opsd may not have stored.
        for attempt in known where attempt.tracker.hasStarted && !attempt.tracker.hasEnded {
            if let job = attempt.tracker.record.job { report(.accepted(attempt.attempt, job: job)) }
        }
    }
}

extension ExecutorCommand {
    /// Attempt that a command to an executor is about.
    fileprivate var attempt: AttemptID? {
        switch self {
        case .launch(let request): request.attempt
        case .release(let id), .terminate(let id, _, _), .signal(let id, _), .freeze(let id), .thaw(let id),
            .acknowledge(let id):
            id
        default: nil
        }
    }
}

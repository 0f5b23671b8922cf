internal import Glibc
internal import OpsExecutor
internal import OpsSlurm
internal import OpsSystem
internal import OpsSystemd

/// The conversation with opsd.
extension SlurmExecutor {
    /// Accepts the waiting connections. The newest one replaces those before it.
    func acceptOpsd() {
        do throws(SystemError) {
            while let socket = try UnixSocket.accept(from: listener) { try welcome(socket) }
        } catch {
            Program.writeError("opsd-slurm: \(error)")
        }
    }

    private func welcome(_ socket: consuming Descriptor) throws(SystemError) {
        let peer = try UnixSocket.peer(of: socket)
        guard peer.uid == Identity.uid || peer.uid == 0 else { return }
        let next = try OpsdConnection(socket, in: loop) { [unowned self] in receiveCommands() }
        connection?.close()
        connection = next
    }

    private func receiveCommands() {
        guard let current = connection else { return }
        for command in current.receive() where !current.isClosed { obey(command) }
        if current.isClosed { connection = nil }
    }

    private func obey(_ command: ExecutorCommand) {
        let now = Clock.read()
        switch command {
        case .hello(let version): greet(version)
        case .launch(let request): launch(request)
        case .release(let attempt): change(attempt) { $0.release() }
        case .terminate(let id, let grace, _):
            if table[id] == nil {
                unknown.insert(id)
                listings.isWanted = true
                return listIfDue()
            }
            change(id) { $0.terminate(grace: grace, now: now) }
        case .signal(let id, let number): signal(number, id)
        case .freeze(let id): setFrozen(id, true)
        case .thaw(let id): setFrozen(id, false)
        case .acknowledge(let attempt): forget(attempt)
        case .stop: loop.stop()
        case .ping: report(.pong)
        case .killStaleTree(let attempt, _, _): report(.gone(attempt))
        case .revokeStaged: report(.stagingRevoked)
        case .stage, .reexecute: break
        }
    }

    /// Signals the command, through opsd-step. One that has not started has no processes.
    private func signal(_ number: Int32, _ id: Attempt) {
        guard let attempt = table[id], attempt.tracker.hasStarted, let job = attempt.tracker.record.job else { return }
        engine.signal(number, job, of: instance, attempt.uid)
    }

    private func setFrozen(_ id: Attempt, _ isFrozen: Bool) {
        // opsd repeats it after each connection.
        guard let attempt = table[id], attempt.tracker.record.isFrozen != isFrozen else { return }
        // Signalled before it is recorded: after a crash between the two it is signalled again.
        signal(isFrozen ? SIGTSTP : SIGCONT, id)
        change(id) { $0.setFrozen(isFrozen) }
    }

    private func change(_ id: Attempt, _ step: (inout JobTracker) -> [JobTracker.Effect]) {
        guard let attempt = table[id] else { return }
        perform(step(&attempt.tracker), for: attempt)
    }

    /// Answers with the greeting and all known attempts. An opsd of an incompatible version gets an empty greeting.
    private func greet(_ version: UInt16) {
        guard let connection else { return }
        do throws(SystemError) {
            let old = spool
            try readConfiguration()
            // Attempts stay where they are: a new spool is used from the next start of this program on.
            if spool != old { return loop.stop() }
        } catch {
            Program.writeError("opsd-slurm: \(error)")
        }
        let isUnderstood = LaunchProtocol.understands(version)
        let known = isUnderstood ? table.values.sorted { $0.attempt < $1.attempt } : []
        let now = Clock.read()
        connection.version = version
        for attempt in known where !attempt.tracker.status.isEmpty {
            connection.send(.updated(attempt.attempt, NotifyUpdate(status: attempt.tracker.status)))
        }
        let entries = known.compactMap { attempt in
            attempt.tracker.greetingState(now: now).map { ExecutorGreeting.Entry(attempt.attempt, $0) }
        }
        connection.send(
            .hello(
                ExecutorGreeting(
                    version: LaunchProtocol.version, instance: instance, boot: boot, pid: Identity.pid,
                    entries: entries, release: Release.current.text)))
        guard !isUnderstood else { return }
        connection.flush()
        connection.close()
    }
}

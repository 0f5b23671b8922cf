internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd
internal import OpsTransfer

/// The conversation with opsd.
extension TransferExecutor {
    /// Accepts the waiting connections. The newest one replaces those before it.
    func acceptOpsd() {
        do throws(SystemError) {
            while let socket = try UnixSocket.accept(from: listener) { try welcome(socket) }
        } catch {
            Program.writeError("opsd-transfer: \(error)")
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
        for command in current.receive() where !current.isClosed { perform(command) }
        if current.isClosed { connection = nil }
    }

    private func perform(_ command: ExecutorCommand) {
        switch command {
        case .hello(let version): greet(version)
        case .launch(let request): launch(request)
        case .terminate(let attempt, _, let isCancelled): terminate(attempt, isCancelled: isCancelled)
        case .freeze(let attempt): table[attempt]?.setFrozen(true)
        case .thaw(let attempt): table[attempt]?.setFrozen(false)
        case .acknowledge(let attempt): forget(attempt)
        case .stop: stop()
        case .ping: report(.pong)
        // No process of an attempt can be left over, and none is staged.
        case .killStaleTree(let attempt, _, _): report(.gone(attempt))
        case .revokeStaged: report(.stagingRevoked)
        // A transfer has no process for a signal, and starts with its launch.
        case .signal, .release, .stage, .reexecute: break
        }
    }

    /// Answers with the greeting and all known attempts. An opsd of an incompatible version gets an empty greeting.
    private func greet(_ version: UInt16) {
        guard let connection else { return }
        readConfiguration()
        let isUnderstood = LaunchProtocol.understands(version)
        let known = isUnderstood ? table.values.sorted { $0.attempt < $1.attempt } : []
        connection.version = version
        for transfer in known where !transfer.update.isEmpty {
            connection.send(.updated(transfer.attempt, transfer.update))
        }
        connection.send(
            .hello(
                ExecutorGreeting(
                    version: LaunchProtocol.version, instance: instance, boot: boot, pid: Identity.pid,
                    entries: known.map { .init($0.attempt, $0.greetingState) }, release: Release.current.text)))
        guard !isUnderstood else { return }
        connection.flush()
        connection.close()
    }

    private func readConfiguration() {
        guard let path = options.config else { return }
        do throws(SystemError) {
            engine.setConnectionsPerHost(
                try ConfigurationFile(path: path, executor: options.name).connectionsPerHost)
        } catch {
            Program.writeError("opsd-transfer: \(error)")
        }
    }

    /// Starts an attempt; reports the state of one that is known already.
    private func launch(_ request: LaunchRequest) {
        if let known = table[request.attempt] { return reportState(of: known) }
        let rights: FileRights?
        let log: AttemptLog
        do throws(SystemError) {
            rights = try users.rights(of: request.user, now: Clock.read().monotonic)
            log = try AttemptLog(request, rights: rights)
        } catch {
            return report(.failed(request.attempt, step: error.call, errno: error.errno))
        }
        let transfer = Transfer(request, rights: rights, on: engine, log: log) { [unowned self] in report($0) }
        table[request.attempt] = transfer
        report(.launched(request.attempt, transfer.launched))
        transfer.start()
    }

    private func reportState(of transfer: Transfer) {
        report(.launched(transfer.attempt, transfer.launched))
        if !transfer.update.isEmpty { report(.updated(transfer.attempt, transfer.update)) }
        if case .gone(let exit) = transfer.greetingState {
            report(.exited(transfer.attempt, exit, treeIsGone: true))
        }
    }

    /// Ends an attempt. An unknown one is reported as cancelled.
    private func terminate(_ attempt: Attempt, isCancelled: Bool) {
        if let transfer = table[attempt] { return transfer.terminate(isCancelled: isCancelled) }
        let end = ExternalEnd(outcome: .cancelled, cause: "the transfer was not under way", at: Clock.read())
        report(.ended(attempt, end))
    }

    /// Removes an attempt whose end is stored, or that opsd has given up.
    private func forget(_ attempt: Attempt) {
        table.removeValue(forKey: attempt)?.close()
    }
}

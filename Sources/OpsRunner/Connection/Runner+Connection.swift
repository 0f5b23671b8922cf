internal import OpsExecutor
internal import OpsExecutorServer
internal import OpsSystem
internal import OpsSystemd

/// The conversation with opsd.
extension Runner {
    /// Accepts connections of opsd. The newest one replaces those before it.
    func acceptConnections() throws(SystemError) {
        try listener.watch(
            in: loop, received: { [unowned self] in receiveCommands() },
            accepted: { [unowned self] next in
                connection?.close()
                // A staged launch must not start once the opsd that staged it is gone.
                staged.removeAll()
                connection = next
            })
    }

    private func receiveCommands() {
        guard let connection else { return }
        for command in connection.receive() where !connection.isClosed { perform(command) }
    }

    private func perform(_ command: ExecutorCommand) {
        switch command {
        case .hello(let version): greet(version)
        case .launch(let request): launch(request)
        case .terminate(let attempt, let grace, _):
            if let record = table[attempt], record.isAlive { terminate(record, grace: grace) }
        case .freeze(let attempt): setFrozen(attempt, true)
        case .thaw(let attempt): setFrozen(attempt, false)
        case .killStaleTree(let attempt, let socket, let uid): killStaleTree(of: attempt, socket: socket, uid: uid)
        case .acknowledge(let attempt): forget(attempt)
        case .stop(let grace): shutDown(grace: grace)
        case .reexecute: wantsReexecution = true
        case .stage(let request, let after): stage(request, after: after)
        case .revokeStaged:
            staged.removeAll()
            report(.stagingRevoked)
        case .ping: report(.pong)
        // The runner starts what it accepts, and so accepts nothing that has to be released.
        case .release: break
        case .signal(let attempt, let number):
            if let record = table[attempt], record.isAlive { signal([record], number) }
        }
    }

    /// Answers with the greeting and all known attempts. A daemon of a version too far away gets an empty greeting.
    private func greet(_ version: UInt16) {
        guard let connection else { return }
        staged.reset()
        connection.version = version
        guard LaunchProtocol.understands(version) else {
            connection.send(greeting(knowing: []))
            connection.flush()
            return connection.close()
        }
        let known = table.values.sorted { $0.attempt < $1.attempt }
        for record in known { repeatUpdates(of: record, to: connection) }
        connection.send(greeting(knowing: known))
        connection.isGreeted = true
    }

    /// Repeats everything that an attempt has reported, also one that has ended since: an earlier daemon may have lost
    /// it. Updates come before the greeting, which contains ends: an update counts only before the end of its attempt.
    private func repeatUpdates(of record: AttemptRecord, to connection: DaemonConnection) {
        var update = record.update
        // An extension counts from the moment at which it was requested, so only its rest is repeated.
        let rest = record.extendedUntil.map { $0 - Clock.read().monotonic }
        update.extendTimeout = rest.flatMap { $0 > .zero ? $0 : nil }
        record.unreportedUpdate = OperationUpdate()
        if !update.isEmpty { connection.send(.updated(record.attempt, update)) }
    }

    private func greeting(knowing known: [AttemptRecord]) -> ExecutorReport {
        .hello(
            ExecutorGreeting(
                version: LaunchProtocol.version, instance: instance, boot: boot, pid: Identity.pid,
                entries: known.map { .init($0.attempt, $0.attemptState) },
                capabilities: ExecutorCapabilities(
                    hasControlGroups: groups != nil, controllers: groups?.controllers ?? []),
                release: Release.current.text, isEnding: shutdown != nil,
                slotStarts: known.filter { $0.slot >= 0 }.map {
                    .init($0.attempt, SlotStart(slot: $0.slot, at: $0.process.at))
                },
                stagesDependents: true))
    }

    /// Tells opsd that this runner is ending and starts nothing more. The report follows all earlier ones.
    func reportShutdown() { report(greeting(knowing: table.values.sorted { $0.attempt < $1.attempt })) }

    /// Forgets an attempt whose end is stored, or that was given up.
    private func forget(_ attempt: AttemptID) {
        staged.acknowledge(attempt)
        startups[attempt] = nil
        guard let record = table.removeValue(forKey: attempt) else { return }
        // The number may belong to another main process by now.
        if mains[record.process.pid] == attempt { mains[record.process.pid] = nil }
        if record.tree == .descendants { descendants.end(attempt, main: record.process.pid) }
        guard record.isAlive else { return }
        retireNotifySocket(of: record)
        withdrawGroup(of: record)
        if case .group(let group) = record.tree { watchLeftovers(in: group) }
        closeLogs(of: attempt, hasLeftovers: true)
        logErrors { _ = try outputDirectories.release(attempt, hasLeftovers: true) }
    }
}

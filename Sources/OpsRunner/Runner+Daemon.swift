internal import OpsSystem
internal import OpsSystemd

/// The conversation with opsd.
extension Runner {
    /// Takes the connections that wait; the newest daemon is the one that counts.
    func acceptDaemon() {
        do throws(SystemError) {
            while let socket = try UnixSocket.accept(from: listener) { try welcome(socket) }
        } catch {
            // What waits still waits, and would wake us again at once: out of descriptors, there is time.
            Program.complain("opsd-runner: \(error); no new connections for a second")
            noting { () throws(SystemError) in try listenerSource?.setInterest([]) }
            acceptAt = Clock.read().monotonic + Runner.acceptPause
        }
    }

    private static let acceptPause: Int64 = 1_000_000_000

    private func welcome(_ socket: consuming Descriptor) throws(SystemError) {
        let peer = try UnixSocket.peer(of: socket)
        guard peer.uid == Identity.uid || peer.uid == 0 else { return }
        let next = try DaemonConnection(socket, in: loop) { [unowned self] in receiveOrders() }
        connection?.close()
        // Nothing begins behind the back of an opsd that is gone.
        hand.drop()
        connection = next
    }

    /// Listens again after a pause.
    func resumeAccepting(now: Int64) {
        guard let due = acceptAt, due <= now else { return }
        acceptAt = nil
        noting { () throws(SystemError) in try listenerSource?.setInterest(.readable) }
    }

    private func receiveOrders() {
        guard let connection else { return }
        for order in connection.receive() where !connection.isClosed { perform(order) }
    }

    private func perform(_ order: RunnerOrder) {
        switch order {
        case .hello(let version): greet(version)
        case .launch(let request): launch(request)
        case .terminate(let attempt, let grace):
            if let record = table[attempt], record.isAlive { terminate(record, grace: grace) }
        case .freeze(let attempt): setFrozen(attempt, true)
        case .thaw(let attempt): setFrozen(attempt, false)
        case .reap(let attempt, let socket, let uid): reap(attempt, socket: socket, uid: uid)
        case .acknowledge(let attempt): forget(attempt)
        case .stop(let grace): endEverything(grace: grace)
        case .reexecute: wantsReexecution = true
        case .hand(let request, let after): takeInHand(request, after: after)
        case .recall:
            hand.drop()
            report(.emptyHanded)
        case .ping: report(.answer)
        }
    }

    /// Says who we are and what we know; a version too far away hears only that.
    private func greet(_ version: UInt16) {
        guard let connection else { return }
        hand.reset()
        connection.version = version
        guard RunnerProtocol.understands(version) else {
            connection.send(greeting(knowing: []))
            connection.flush()
            return connection.close()
        }
        let known = table.values.sorted { $0.attempt < $1.attempt }
        for record in known { repeatTold(record, to: connection) }
        connection.send(greeting(knowing: known))
        connection.isGreeted = true
    }

    /// What was said may have been lost with the daemon it was said to; of what has ended meanwhile too. It is told
    /// before the greeting that tells of ends, for what is said counts before them.
    private func repeatTold(_ record: AttemptRecord, to connection: DaemonConnection) {
        var told = record.told
        // An extension counts from when it was asked for: it is told once.
        told.extendTimeout = record.untold.extendTimeout
        record.untold = Told()
        if !told.isEmpty { connection.send(.told(record.attempt, told)) }
    }

    private func greeting(knowing known: [AttemptRecord]) -> RunnerReport {
        .hello(
            RunnerGreeting(
                version: RunnerProtocol.version, instance: instance, boot: boot, pid: Identity.pid,
                entries: known.map { .init($0.attempt, $0.greetingState) },
                abilities: RunnerAbilities(hasControlGroups: groups != nil, controllers: groups?.controllers ?? []),
                release: Release.current.text, isEnding: ending != nil,
                places: known.filter { $0.slot >= 0 }.map { .init($0.attempt, slot: $0.slot, at: $0.process.at) },
                handWaits: true))
    }

    /// What is launched from now on is none of ours; everything said before comes before this.
    func tellEnding() { report(greeting(knowing: table.values.sorted { $0.attempt < $1.attempt })) }

    /// The end of the attempt is stored (or it was given up): nothing of it is kept.
    private func forget(_ attempt: Attempt) {
        hand.settle(attempt)
        startups[attempt] = nil
        guard let record = table.removeValue(forKey: attempt) else { return }
        mains[record.process.pid] = mains[record.process.pid] == attempt ? nil : mains[record.process.pid]
        if record.tree == .descent { descent.end(attempt, main: record.process.pid) }
        guard record.isAlive else { return }
        retireLine(of: record)
        keepGroupToItself(record)
        if case .group(let group) = record.tree { leave(group) }
        noting { () throws(SystemError) in try logs.end(attempt, isLeft: true, now: Clock.read().monotonic) }
    }
}

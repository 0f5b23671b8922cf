internal import OpsCore
internal import OpsExecutor
internal import OpsSystem

/// Connections to all executors beside the runner.
final class ExecutorLinks {
    private unowned let daemon: Daemon
    private var links: [String: ExecutorLink] = [:]

    init(daemon: Daemon) { self.daemon = daemon }

    /// Connects to the executors that are configured now, and leaves those that no longer are.
    func configure() {
        let configured = daemon.configuration.executors
        for (name, link) in links where !configured.contains(where: { $0.name == name }) {
            link.end()
            links[name] = nil
        }
        for executor in configured {
            if let link = links[executor.name], link.isFor(executor) { continue }
            links[executor.name]?.end()
            links[executor.name] = ExecutorLink(executor, daemon: daemon)
        }
        connect()
    }

    /// Connects to those that are configured, and to a built-in one that operations wait for.
    func connect() {
        for link in links.values where !link.isBuiltIn || isInUse(link) { link.connect() }
    }

    private func isInUse(_ link: ExecutorLink) -> Bool { daemon.core?.isExecutorInUse(link.name) ?? false }

    func disconnect() { for link in links.values { link.disconnect() } }
    func flush() {
        for link in links.values {
            if link.isBuiltIn, !link.isWanted, isInUse(link) { link.connect() }
            link.flush()
        }
    }

    /// Ends the programs that opsd has started itself; jobs and files of their attempts stay.
    func stopOwn() { for link in links.values { link.stopOwn() } }

    func isConnected(_ name: String) -> Bool { links[name]?.isConnected ?? false }

    /// Wall instant of the last change of a connection.
    func since(_ name: String) -> Int64 { links[name]?.since ?? daemon.startedAt }

    /// Sends a launch; throws what the attempt fails of where it is larger than a frame.
    func send(_ request: LaunchRequest, to name: String) throws(SystemError) { try links[name]?.send(launch: request) }

    func send(_ command: ExecutorCommand, to name: String) { links[name]?.send(command) }

    /// Sends the command for an effect. Without a connection it is dropped: the rules repeat it after the next greeting.
    func perform(_ effect: Effect, on name: String) {
        switch effect {
        case .release(let attempt): send(.release(Attempt(attempt)), to: name)
        case .terminate(let attempt, let grace):
            let isCancelled = daemon.core?.isCancelled(attempt) ?? false
            send(.terminate(Attempt(attempt), grace: grace, isCancelled: isCancelled), to: name)
        case .freeze(let attempt): send(.freeze(Attempt(attempt)), to: name)
        case .thaw(let attempt): send(.thaw(Attempt(attempt)), to: name)
        case .acknowledge(let attempt): send(.acknowledge(Attempt(attempt)), to: name)
        // The rules emit none of these for an executor.
        case .launch, .stage, .revokeStaged, .reap, .external, .submit, .evaluate, .stopEvaluating, .observeStart,
            .observeProduce, .observeFinish:
            break
        }
    }
}

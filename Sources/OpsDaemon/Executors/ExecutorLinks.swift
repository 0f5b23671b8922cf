internal import OpsCore
internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd

/// Connections to all executors other than the runner.
final class ExecutorLinks {
    private let state: String
    private let configurationPath: String
    private let startedAt: WallInstant
    private let turns: Turns
    private let loop: EventLoop
    private let log: DaemonLog
    private var links: [String: ExecutorLink] = [:]

    init(
        state: String, configurationPath: String, startedAt: WallInstant, turns: Turns, loop: EventLoop, log: DaemonLog
    ) {
        self.state = state
        self.configurationPath = configurationPath
        self.startedAt = startedAt
        self.turns = turns
        self.loop = loop
        self.log = log
    }

    /// Connects to the configured executors, and disconnects from those that are no longer configured.
    func configure(_ configured: [ExecutorConfiguration]) {
        for (name, link) in links where !configured.contains(where: { $0.name == name }) {
            link.end()
            links[name] = nil
        }
        for executor in configured {
            if let link = links[executor.name], link.isFor(executor) { continue }
            links[executor.name]?.end()
            links[executor.name] = ExecutorLink(
                executor, state: state, configurationPath: configurationPath, turns: turns, loop: loop, log: log)
        }
        connect()
    }

    /// Connects to those that are configured, and to a built-in one that operations wait for.
    func connect() {
        for link in links.values where !link.isBuiltIn || isInUse(link) { link.connect() }
    }

    private func isInUse(_ link: ExecutorLink) -> Bool { turns.core?.isExecutorInUse(link.name) ?? false }

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

    /// True if the program of an executor knows no attempt after it was killed.
    func forgetsAttempts(_ name: String) -> Bool { links[name]?.forgetsAttempts ?? false }

    /// Instant of the last change of a connection.
    func since(_ name: String) -> WallInstant { links[name]?.since ?? startedAt }

    /// Sends a launch; throws the cause of failure of an attempt that is larger than a frame.
    func send(_ request: LaunchRequest, to name: String) throws(SystemError) { try links[name]?.send(launch: request) }

    func send(_ command: ExecutorCommand, to name: String) { links[name]?.send(command) }

    /// Sends the command for an effect. Without a connection it is dropped: the rules repeat it after the next greeting.
    func perform(_ effect: Effect, on name: String) {
        switch effect {
        case .release(let attempt): send(.release(attempt), to: name)
        case .terminate(let attempt, let grace):
            let isCancelled = turns.core?.isCancelled(attempt) ?? false
            send(.terminate(attempt, grace: grace, isCancelled: isCancelled), to: name)
        case .freeze(let attempt): send(.freeze(attempt), to: name)
        case .thaw(let attempt): send(.thaw(attempt), to: name)
        case .acknowledge(let attempt): send(.acknowledge(attempt), to: name)
        // The rules emit none of these for an executor.
        case .launch, .stage, .revokeStaged, .reap, .external, .submit, .evaluate, .stopEvaluating, .observeStart,
            .observeProduce, .observeFinish:
            break
        }
    }
}

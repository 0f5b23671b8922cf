internal import OpsCore
internal import OpsLinux
internal import OpsStore
internal import OpsWire

/// Pruning, backup, check.
extension Requests {
    func prune(_ request: PruneRequest, _ exchange: Exchange) throws {
        try daemon.authorization.requirePrivilege(exchange.caller, to: "remove finished operations")
        guard let age = DurationText.parse(request.olderThan) else {
            throw invalid("olderThan", "\"\(request.olderThan)\" is no duration such as 30d")
        }
        let pruning = daemon.store.prune(olderThan: Moment.now().wall - age)
        exchange.goOn(
            with: SteppedWork(exchange, daemon, usesStore: true) { [unowned daemon] in
                try daemon.retention.step(pruning)
                if !pruning.isComplete { return false }
                exchange.reply(.with { $0.removed = pruning.removed } as PruneReply)
                return true
            })
    }

    func backup(_ request: BackupRequest, _ exchange: Exchange) throws {
        try daemon.authorization.requirePrivilege(exchange.caller, to: "copy the database")
        guard request.path.hasPrefix("/") else { throw invalid("path", "must be absolute, not \"\(request.path)\"") }
        let source = daemon.store.path
        let path = request.path
        daemon.reading.run(
            { Result { try Self.backUp(source, to: path) } },
            then: { [unowned self] result in
                if exchange.isAbandoned { return }
                switch result {
                case .success(let bytes): exchange.reply(.with { $0.bytes = bytes } as BackupReply)
                case .failure(let error): self.fail(exchange, error)
                }
            })
    }

    /// The size of the copy.
    private static func backUp(_ source: String, to path: String) throws -> Int64 {
        let history = try History.open(path: source)
        let backup: RunningBackup
        do {
            backup = try history.backUp(to: path)
        } catch {
            // The database is well; it is the place for the copy that is not.
            throw ControlError.wrongState(
                id: nil, message: "\(path) cannot be written by the daemon; name a file in a directory of its user")
        }
        while try backup.step() {}
        return try ReadableFile.open(path)?.size ?? 0
    }

    /// Reads all of the database, beside the loop.
    func check(_ exchange: Exchange) throws {
        try daemon.authorization.requirePrivilege(exchange.caller, to: "check the database")
        let path = daemon.store.path
        daemon.reading.run(
            { Result { try History.open(path: path).check() } },
            then: { [unowned self] result in
                if exchange.isAbandoned { return }
                switch result {
                case .success(let problems): exchange.reply(.with { $0.problems = problems } as CheckReply)
                case .failure(let error): self.fail(exchange, error)
                }
            })
    }
}

/// Work that is done a little in each turn, so that others are served meanwhile.
final class SteppedWork: ReplyStream {
    private let exchange: Exchange
    private unowned let daemon: Daemon
    private let usesStore: Bool
    /// Does a little; true when it has answered.
    private let step: () throws -> Bool
    let wantsRoom = false

    init(_ exchange: Exchange, _ daemon: Daemon, usesStore: Bool = false, step: @escaping () throws -> Bool) {
        self.exchange = exchange
        self.daemon = daemon
        self.usesStore = usesStore
        self.step = step
    }

    func resume() {
        guard !exchange.isAbandoned else { return }
        if usesStore, daemon.putOff({ [self] in self.resume() }) { return }
        do {
            if try !step() { daemon.server?.resumeLater(self) }
        } catch {
            daemon.requests.fail(exchange, error)
        }
    }

    func readerLeft() {}
}

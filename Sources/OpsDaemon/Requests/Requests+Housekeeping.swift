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
            with: SteppedWork(exchange, daemon) { [unowned daemon] in
                try daemon.retention.step(pruning)
                if !pruning.isComplete { return false }
                exchange.reply(.with { $0.removed = pruning.removed } as PruneReply)
                return true
            })
    }

    func backup(_ request: BackupRequest, _ exchange: Exchange) throws {
        try daemon.authorization.requirePrivilege(exchange.caller, to: "copy the database")
        guard request.path.hasPrefix("/") else { throw invalid("path", "must be absolute, not \"\(request.path)\"") }
        let backup: RunningBackup
        do {
            backup = try daemon.store.backUp(to: request.path)
        } catch {
            // The database is well; it is the place for the copy that is not.
            throw ControlError.wrongState(
                id: nil,
                message: "\(request.path) cannot be written by the daemon; name a file in a directory of its user")
        }
        exchange.goOn(
            with: SteppedWork(exchange, daemon) {
                if try backup.step(pages: 256) { return false }
                var reply = BackupReply()
                reply.bytes = try ReadableFile.open(backup.path)?.size ?? 0
                exchange.reply(reply)
                return true
            })
    }

    func check(_ exchange: Exchange) throws {
        try daemon.authorization.requirePrivilege(exchange.caller, to: "check the database")
        let problems = try daemon.history.check()
        exchange.reply(.with { $0.problems = problems } as CheckReply)
    }
}

/// Work that is done a little in each turn, so that others are served meanwhile.
final class SteppedWork: ReplyStream {
    private let exchange: Exchange
    private unowned let daemon: Daemon
    /// Does a little; true when it has answered.
    private let step: () throws -> Bool
    let wantsRoom = false

    init(_ exchange: Exchange, _ daemon: Daemon, step: @escaping () throws -> Bool) {
        self.exchange = exchange
        self.daemon = daemon
        self.step = step
    }

    func resume() {
        guard !exchange.isAbandoned else { return }
        do {
            if try !step() { daemon.server?.resumeLater(self) }
        } catch {
            daemon.requests.fail(exchange, error)
        }
    }

    func readerLeft() {}
}

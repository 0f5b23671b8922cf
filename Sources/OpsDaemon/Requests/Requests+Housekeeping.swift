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
        let path = request.path
        readBeside(
            exchange, { try Self.backUp($0, to: path) },
            then: { bytes in exchange.reply(.with { $0.bytes = bytes } as BackupReply) })
    }

    /// The size of the copy.
    private static func backUp(_ history: History, to path: String) throws -> Int64 {
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
        readBeside(
            exchange, { try $0.check() },
            then: { problems in exchange.reply(.with { $0.problems = problems } as CheckReply) })
    }
}

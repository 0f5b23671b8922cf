internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsWire

/// Pruning, backup, check.
extension Requests {
    func prune(_ request: PruneRequest, _ exchange: Exchange) throws {
        let instant = try request.olderThan.map { text in
            guard let age = DurationText.parse(text) else {
                throw invalid("olderThan", "\"\(text)\" is not a duration such as 30d")
            }
            return Moment.now().wall - age
        }
        guard let selection = request.selection else {
            try authorization.requirePrivilege(exchange.caller, to: "remove finished operations")
            guard instant != nil else { throw invalid("olderThan", "is missing; nothing is selected either") }
            return go(store.prune(olderThan: instant), exchange)
        }
        try turns.requireQueue(selection.queue)
        try selection.checkBounds()
        let query = WholeGraphsQuery(TargetsQuery(selection, .all, authorization, exchange.caller))
        change(exchange, after: query) { [unowned self] graphs in
            self.go(store.prune(olderThan: instant ?? .distantFuture, only: graphs), exchange)
        }
    }

    private func go(_ pruning: Pruning, _ exchange: Exchange) {
        exchange.goOn(
            with: SteppedWork(exchange, self, usingStoreOf: turns) { [unowned self] in
                try retention.step(pruning)
                if !pruning.isComplete { return false }
                exchange.reply(.with { $0.removed = pruning.removed } as PruneReply)
                return true
            })
    }

    func backup(_ request: BackupRequest, _ exchange: Exchange) throws {
        try authorization.requirePrivilege(exchange.caller, to: "copy the database")
        guard request.path.hasPrefix("/") else { throw invalid("path", "must be absolute, not \"\(request.path)\"") }
        let path = request.path
        let force = request.force ?? false
        readBeside(
            exchange, { try Self.backUp($0, to: path, replacesAnything: force) },
            then: { bytes in exchange.reply(.with { $0.bytes = bytes } as BackupReply) })
    }

    /// Makes a backup and returns its size. An error does not concern the database: the destination may be invalid or
    /// full.
    private static func backUp(
        _ history: History, to path: String, replacesAnything: Bool
    ) throws(ControlError) -> Int64 {
        do {
            let backup = try history.backUp(to: path, replacesAnything: replacesAnything)
            while try backup.step() {}
            return try ReadableFile.open(path)?.size ?? 0
        } catch let error as StoreError {
            throw .wrongState(
                id: nil,
                message: "\(path) was not written: \(error.message); "
                    + "name a file in a directory that the daemon's user can write and that has room")
        } catch {
            throw .wrongState(id: nil, message: "\(error)")
        }
    }

    /// Reads all of the database, outside the loop.
    func check(_ exchange: Exchange) throws {
        try authorization.requirePrivilege(exchange.caller, to: "check the database")
        readBeside(
            exchange, { try $0.check() },
            then: { problems in exchange.reply(.with { $0.problems = problems } as CheckReply) })
    }
}

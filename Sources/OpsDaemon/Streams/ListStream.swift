internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Rows of a long list, a batch at a time: the next is read when the reader has room, and others have had their turn.
final class ListStream: ReplyStream {
    private unowned let daemon: Daemon
    private let exchange: Exchange
    private let query: OpsStore.Selection
    private var left: Int
    private var last = OperationID(0)
    private(set) var wantsRoom = false
    /// The last so many, found first so that they come in the order of ids.
    private var newest: [OperationID]?

    init(_ exchange: Exchange, _ query: OpsStore.Selection, limit: Int?, newest: Bool, daemon: Daemon) {
        self.exchange = exchange
        self.query = query
        self.daemon = daemon
        left = max(0, limit ?? Int.max)
        self.newest = newest ? [] : nil
        isFirst = true
    }

    private var isFirst: Bool
    private var isOver = false

    func resume() {
        guard !exchange.isAbandoned, !isOver else { return }
        guard exchange.hasRoom else {
            wantsRoom = true
            return
        }
        wantsRoom = false
        do {
            try sendBatch()
        } catch {
            isOver = true
            exchange.fail(ControlError.storageUnavailable("\(error)"))
        }
    }

    private func sendBatch() throws {
        let ids = try nextIDs()
        let rows = try daemon.rows(for: exchange.caller).rows(ids)
        let reply: ListReply = .with { $0.operations = rows }
        let isLast = ids.count < DaemonLimits.rowsInABatch || left == 0
        if isLast {
            isOver = true
            return exchange.reply(reply)
        }
        exchange.replyAndGoOn(reply)
        daemon.server?.resumeLater(self)
    }

    private func nextIDs() throws -> [OperationID] {
        let count = min(left, DaemonLimits.rowsInABatch)
        defer { isFirst = false }
        if newest != nil {
            if isFirst { newest = try daemon.history.selectNewest(query, limit: left) }
            let ids = Array((newest ?? []).suffix(count).reversed())
            newest?.removeLast(ids.count)
            left -= ids.count
            return ids
        }
        let ids = try daemon.history.select(query, after: last, limit: count)
        last = ids.last ?? last
        left -= ids.count
        return ids
    }

    func readerLeft() {}
}

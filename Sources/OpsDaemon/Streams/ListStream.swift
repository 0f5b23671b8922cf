internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Rows of a long list, in batches. The next batch is read when the client has room and others have had their turn.
final class ListStream: ReplyStream {
    private unowned let requests: Requests
    private let rows: OperationRows
    private let exchange: Exchange
    private var left: Int
    private(set) var wantsRoom = false
    private var cursor: SelectionCursor
    /// Ids of the newest operations, the first to send at the end; nil: not found yet. They are found first so that
    /// they can be sent in the order of ids.
    private var newest: [OperationID]?
    private let wantsNewest: Bool
    /// True while a batch is being read.
    private var isReading = false
    private var isOver = false

    init(
        _ exchange: Exchange, _ selection: OpsStore.Selection, limit: Int?, newest: Bool, rows: OperationRows,
        requests: Requests
    ) {
        self.exchange = exchange
        self.rows = rows
        self.requests = requests
        left = limit ?? .max
        wantsNewest = newest
        cursor = SelectionCursor(selection, order: newest ? .newestFirst : .oldestFirst)
    }

    func resume() {
        guard !exchange.isAbandoned, !isOver, !isReading else { return }
        guard exchange.hasRoom else {
            wantsRoom = true
            return
        }
        wantsRoom = false
        isReading = true
        if wantsNewest, newest == nil {
            return ask(SelectionQuery(cursor, limit: left)) { [unowned self] ids in
                self.newest = ids
                self.exchange.resumeLater(self)
            }
        }
        let count = min(left, DaemonLimits.rowsInABatch)
        if let ids = newest?.suffix(count) {
            newest?.removeLast(ids.count)
            ask(ListQuery(ids.reversed(), rows: rows)) { [unowned self] in self.send($0, count) }
        } else {
            ask(ListQuery(cursor, count: count, rows: rows)) { [unowned self] in self.send($0, count) }
        }
    }

    private func ask<Q: Query>(_ query: Q, then answer: @escaping (Q.Answer) -> Void) {
        requests.queries.ask(query, of: exchange) { [self] result in
            isReading = false
            switch result {
            case .success(let value): answer(value)
            case .failure(let error):
                isOver = true
                requests.fail(exchange, error)
            }
        }
    }

    private func send(_ answer: ListQuery.Answer, _ count: Int) {
        if let next = answer.cursor { cursor = next }
        left -= count
        isOver = (newest?.isEmpty ?? answer.isLast) || left == 0
        isReading = true
        requests.send(answer.rows, exchange, isLast: isOver) { [self] in
            isReading = false
            if !isOver { exchange.resumeLater(self) }
        }
    }

    func readerLeft() {}
}

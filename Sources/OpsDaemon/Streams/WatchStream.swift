internal import OpsCore
internal import OpsStore
internal import OpsWire

/// The event stream of one client: what the store has first, then what becomes durable, each once and in order.
///
/// It takes a block of events when all it took before has left, so next to nothing is buffered for a slow reader; one
/// that is too far behind is told where to resume.
final class WatchStream: ReplyStream {
    private unowned let daemon: Daemon
    private let exchange: Exchange
    private let filter: EventFilter?
    /// The last event that was sent, or passed over by the filter.
    private var sent: Int64
    private var hasAll = false
    private var isOver = false

    init(_ exchange: Exchange, since: Int64, filter: EventFilter?, daemon: Daemon) {
        self.exchange = exchange
        self.filter = filter
        self.daemon = daemon
        sent = since
    }

    private var audience: Audience { daemon.publisher.audience }

    var wantsRoom: Bool { !hasAll }

    func hear(ofEventsUpTo last: Int64) {
        hasAll = false
        if exchange.hasDrained {
            daemon.server?.resumeLater(self)
        } else if last - sent > DaemonLimits.eventsBehind {
            leave(with: ControlError.lagged(resume: sent))
        }
    }

    func resume() {
        guard !isOver, !exchange.isAbandoned, exchange.hasDrained else { return }
        do {
            // What a turn has not committed yet is not there and not missed.
            guard let block = try audience.block(after: sent) else {
                hasAll = true
                return
            }
            // What came in between was pruned.
            if sent > 0 && block.first > sent + 1 { return leave(with: ControlError.lagged(resume: block.first - 1)) }
            send(block)
        } catch {
            leave(with: ControlError.storageUnavailable("\(error)"))
        }
    }

    private func send(_ block: EventBlock) {
        sent = block.last
        if let filter {
            let bytes = block.bytes { filter.admits($0, daemon) }
            if !bytes.isEmpty { exchange.forward(bytes) }
        } else {
            exchange.forward(block.bytes)
        }
        hasAll = audience.isNewest(sent)
        // Where the filter admitted nothing, nothing leaves after which it would be called again.
        if !hasAll && exchange.hasDrained { daemon.server?.resumeLater(self) }
    }

    private func leave(with error: ControlError) {
        readerLeft()
        exchange.fail(error)
    }

    func readerLeft() {
        isOver = true
        audience.remove(self)
    }
}

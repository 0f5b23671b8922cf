internal import OpsCore
internal import OpsStore
internal import OpsWire

/// The event stream of one client: what the store has first, then what becomes durable, each once and in order.
///
/// It takes a block of events when all it took before has left, so next to nothing is buffered for a slow reader; one
/// that is too far behind gets the position at which to resume.
final class WatchStream: ReplyStream {
    private unowned let audience: Audience
    private let exchange: Exchange
    private let filter: EventFilter?
    /// The last event that was sent, or passed over by the filter.
    private var sent: Int64
    private var hasAll = false
    private var isOver = false

    init(_ exchange: Exchange, since: Int64, filter: EventFilter?, audience: Audience) {
        self.exchange = exchange
        self.filter = filter
        self.audience = audience
        sent = since
    }

    var wantsRoom: Bool { !hasAll }

    func eventsAvailable(upTo last: Int64) {
        hasAll = false
        if exchange.hasDrained {
            exchange.resumeLater(self)
        } else if last - sent > DaemonLimits.eventsBehind {
            leave(with: ControlError.lagged(resume: sent))
        }
    }

    func resume() {
        guard !isOver, !exchange.isAbandoned, exchange.hasDrained else { return }
        do {
            // Events that a turn has not committed yet are not there and not missed.
            guard let block = try audience.block(after: sent) else {
                hasAll = true
                return
            }
            // The events in between were pruned.
            if sent > 0 && block.first > sent + 1 { return leave(with: ControlError.lagged(resume: block.first - 1)) }
            send(block)
        } catch {
            leave(with: ControlError.storageUnavailable("\(error)"))
        }
    }

    private func send(_ block: EventBlock) {
        sent = block.last
        if let filter {
            let bytes = block.bytes { filter.admits($0) }
            if !bytes.isEmpty { exchange.forward(bytes) }
        } else {
            exchange.forward(block.bytes)
        }
        hasAll = audience.isNewest(sent)
        // If the filter admitted nothing, nothing is sent, and no drained output would call this again.
        if !hasAll && exchange.hasDrained { exchange.resumeLater(self) }
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

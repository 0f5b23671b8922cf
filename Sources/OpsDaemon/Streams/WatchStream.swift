internal import OpsCore
internal import OpsStore
internal import OpsWire

/// The event stream of one client: first stored events, then new ones, each once and in order.
///
/// The next block of events is sent when the last one has been written, so little is buffered for a slow client. A
/// client that is too far behind gets the position at which to resume.
final class WatchStream: ReplyStream {
    private unowned let audience: Audience
    private let exchange: Exchange
    private let filter: EventFilter?
    /// The last event that was sent or that the filter has dropped.
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
            // Events that are not committed yet do not exist, and none is missed.
            guard let block = try audience.block(after: sent) else {
                hasAll = true
                return
            }
            // The events in between were pruned. Since 0 means since the first event that is stored.
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

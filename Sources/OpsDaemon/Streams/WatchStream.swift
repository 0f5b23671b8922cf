internal import OpsCore
internal import OpsStore
internal import OpsWire

/// The event stream of one client: what the store has first, then what becomes durable, each once and in order.
///
/// A reader that falls behind is read to from the store again, so nothing is buffered for it; one that is too far
/// behind is told where to resume.
final class WatchStream: ReplyStream, Follower {
    private unowned let daemon: Daemon
    private let exchange: Exchange
    private let filter: EventFilter?
    /// The last event that was sent, or passed over by the filter.
    private var sent: Int64
    /// Everything up to the last commit was sent: the next one comes as it is published.
    private var isLive = false

    init(_ exchange: Exchange, since: Int64, filter: EventFilter?, daemon: Daemon) {
        self.exchange = exchange
        self.filter = filter
        self.daemon = daemon
        sent = since
    }

    var wantsRoom: Bool { !isLive }

    func resume() {
        guard !exchange.isAbandoned else { return }
        do {
            while !isLive && exchange.hasRoom { try replay() }
        } catch {
            leave(with: ControlError.storageUnavailable("\(error)"))
        }
    }

    /// One batch out of the store; what a turn has not committed yet is not there and not missed.
    private func replay() throws {
        let batch = try daemon.history.events(after: sent, limit: DaemonLimits.eventsInABatch)
        guard let first = batch.first else {
            isLive = true
            return
        }
        // What came in between was pruned.
        if sent > 0 && first.sequence > sent + 1 {
            return leave(with: ControlError.lagged(resume: first.sequence - 1))
        }
        let news = News(batch, EventTranslation())
        for place in batch.indices { send(news, place) }
    }

    func take(_ news: News) {
        guard isLive else { return checkDistance(news) }
        for (place, report) in news.reports.enumerated() where report.sequence > sent {
            guard exchange.hasRoom else {
                // It goes on from the store when the reader has caught up.
                isLive = false
                return
            }
            send(news, place)
        }
    }

    private func send(_ news: News, _ place: Int) {
        let report = news.reports[place]
        sent = report.sequence
        if let filter, !filter.admits(report, daemon) { return }
        exchange.forward(news.frame(place))
    }

    private func checkDistance(_ news: News) {
        guard let last = news.reports.last, last.sequence - sent > DaemonLimits.eventsBehind, !exchange.hasRoom else {
            return
        }
        leave(with: ControlError.lagged(resume: sent))
    }

    private func leave(with error: ControlError) {
        daemon.publisher.remove(self)
        exchange.fail(error)
    }

    func readerLeft() { daemon.publisher.remove(self) }
}

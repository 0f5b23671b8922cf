internal import OpsCore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Sends `Status` again after changes, at most ten times a second.
final class StatusStream: ReplyStream, Follower {
    private unowned let publisher: Publisher
    private let loop: EventLoop
    private let log: DaemonLog
    private let status: () throws -> StatusReply
    private let exchange: Exchange
    private lazy var pace = Alarm(loop, log) { [unowned self] in self.resume() }
    private var nextAt = MonotonicInstant.zero
    private(set) var wantsRoom = false

    private static let interval = TimeSpan.milliseconds(100)

    init(
        _ exchange: Exchange, publisher: Publisher, loop: EventLoop, log: DaemonLog,
        status: @escaping () throws -> StatusReply
    ) {
        self.exchange = exchange
        self.publisher = publisher
        self.status = status
        self.loop = loop
        self.log = log
    }

    func receive(_ reports: [Report]) { resume() }

    func resume() {
        guard !exchange.isAbandoned else { return }
        guard exchange.hasRoom else {
            wantsRoom = true
            return
        }
        wantsRoom = false
        let now = Clock.read().monotonic
        do {
            guard now >= nextAt else {
                pace.set(at: nextAt)
                return
            }
            nextAt = now + Self.interval
            exchange.replyAndGoOn(try status())
        } catch {
            publisher.remove(self)
            exchange.fail(ControlError.storageUnavailable("\(error)"))
        }
    }

    func readerLeft() {
        pace.set(at: nil)
        publisher.remove(self)
    }
}

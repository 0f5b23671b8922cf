internal import OpsCore
internal import OpsSystem
internal import OpsWire

/// `Status` again after every change, at most ten times a second.
final class StatusStream: ReplyStream, Follower {
    private unowned let daemon: Daemon
    private let exchange: Exchange
    private lazy var pace = Alarm(daemon) { [unowned self] in self.resume() }
    private var nextAt: Int64 = 0
    private(set) var wantsRoom = false

    private static let interval: Int64 = 100_000_000

    init(_ exchange: Exchange, daemon: Daemon) {
        self.exchange = exchange
        self.daemon = daemon
    }

    func take(_ reports: [Report]) { resume() }

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
            exchange.replyAndGoOn(try daemon.statusReply())
        } catch {
            daemon.publisher.remove(self)
            exchange.fail(ControlError.storageUnavailable("\(error)"))
        }
    }

    func readerLeft() {
        pace.set(at: nil)
        daemon.publisher.remove(self)
    }
}

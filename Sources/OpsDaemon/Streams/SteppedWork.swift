internal import OpsWire

/// Work that is done a little in each turn, so that others are served meanwhile.
final class SteppedWork: ReplyStream {
    private let exchange: Exchange
    private unowned let daemon: Daemon
    private let usesStore: Bool
    /// Does a little; true when it has answered.
    private let step: () throws -> Bool
    let wantsRoom = false

    init(_ exchange: Exchange, _ daemon: Daemon, usesStore: Bool = false, step: @escaping () throws -> Bool) {
        self.exchange = exchange
        self.daemon = daemon
        self.usesStore = usesStore
        self.step = step
    }

    func resume() {
        guard !exchange.isAbandoned else { return }
        if usesStore, daemon.putOff({ [self] in self.resume() }) { return }
        do {
            if try !step() { exchange.resumeLater(self) }
        } catch {
            daemon.requests.fail(exchange, error)
        }
    }

    func readerLeft() {}
}

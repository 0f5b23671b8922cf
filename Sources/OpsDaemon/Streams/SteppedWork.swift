internal import OpsWire

/// Work that is done in steps, one in each turn, so that others are served meanwhile.
final class SteppedWork: ReplyStream {
    private let exchange: Exchange
    private unowned let requests: Requests
    /// Turns whose long turn the work waits for, while the store is in use outside the loop; nil if the work does not
    /// use the store.
    private let turns: Turns?
    /// Makes one step; returns true after the answer.
    private let step: () throws -> Bool
    let wantsRoom = false

    init(
        _ exchange: Exchange, _ requests: Requests, usingStoreOf turns: Turns? = nil, step: @escaping () throws -> Bool
    ) {
        self.exchange = exchange
        self.requests = requests
        self.turns = turns
        self.step = step
    }

    func resume() {
        // Abandoned work is put off, too: its release may change the store.
        if let turns, turns.putOff({ [self] in self.resume() }) { return }
        guard !exchange.isAbandoned else { return }
        do {
            if try !step() { exchange.resumeLater(self) }
        } catch {
            requests.fail(exchange, error)
        }
    }

    func readerLeft() {}
}

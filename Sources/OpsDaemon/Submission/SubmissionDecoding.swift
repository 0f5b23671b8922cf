internal import OpsCore
internal import OpsSystem
internal import OpsWire

/// Reads the operations of one submission in slices, so that the other clients of a large one are served meanwhile.
final class SubmissionDecoding: ReplyStream {
    private let order: SubmissionOrder
    private let exchange: Exchange
    private unowned let requests: Requests
    private var decoder: GraphDecoder
    private var isStreaming = false
    private var isFinishing = false
    let wantsRoom = false

    /// Operations read before others have their turn.
    static let slice = 2000

    init(_ order: SubmissionOrder, _ exchange: Exchange, requests: Requests, decoder: GraphDecoder? = nil) {
        self.order = order
        self.exchange = exchange
        self.requests = requests
        self.decoder = decoder ?? GraphDecoder(defaults: order.defaults, joinsGraph: order.asChild)
    }

    func add(_ operations: [UInt8]) { decoder.add(operations) }

    /// Reads a slice; most submissions are done with the first.
    func proceed() {
        if exchange.isAbandoned { return }
        let hasMore = decoder.step(maxOperations: Self.slice)
        guard exchange.share.resize(to: decoder.heldBytes) else {
            return requests.fail(exchange, exchange.connection.user.budget.refusal)
        }
        if hasMore {
            if !isStreaming {
                isStreaming = true
                return exchange.goOn(with: self)
            }
            requests.daemon.server?.resumeLater(self)
            return
        }
        let isLarge =
            decoder.count > DaemonLimits.operationsInTheLoop || decoder.heldBytes > DaemonLimits.bytesReadInTheLoop
        guard isLarge else {
            return take(Self.finish(&decoder) { requests.daemon.queueNames })
        }
        isFinishing = true
        let moved = Moved(decoder)
        let queues = requests.daemon.queueNames
        decoder = GraphDecoder()
        requests.parsing.run(
            {
                var decoder = moved.take()
                return Self.finish(&decoder) { queues }
            }, then: { [self] input in self.take(input) })
        if !isStreaming {
            isStreaming = true
            exchange.goOn(with: self)
        }
    }

    private func take(_ input: Result<GraphInput, ControlError>) {
        if exchange.isAbandoned { return }
        do {
            try requests.take(try input.get(), order, exchange)
        } catch {
            requests.fail(exchange, error)
        }
    }

    private static func finish(
        _ decoder: inout GraphDecoder, queues: () -> [String]
    ) -> Result<GraphInput, ControlError> {
        do throws(GraphRefusal) { return .success(try decoder.finish(queues: queues)) } catch {
            return .failure(error.error)
        }
    }

    func resume() {
        if !isFinishing { proceed() }
    }

    func readerLeft() {}
}

/// A submission that comes in several messages; it goes with its connection.
final class SubmissionParts {
    let order: SubmissionOrder
    private(set) var decoder: GraphDecoder
    private let share: BufferShare
    /// The last time that the client has moved it.
    private(set) var touchedAt = Clock.read().monotonic

    init(_ order: SubmissionOrder, of user: ConnectedUsers.User) {
        self.order = order
        share = BufferShare(of: user.budget)
        decoder = GraphDecoder(defaults: order.defaults, joinsGraph: order.asChild)
    }

    var count: Int { decoder.count }

    func touch() { touchedAt = Clock.read().monotonic }

    /// Adds operations; false: there is no room for them.
    func add(_ operations: [UInt8]) -> Bool {
        guard share.resize(to: decoder.heldBytes + operations.count) else { return false }
        decoder.add(operations)
        return true
    }

    /// What reading a slice came to.
    enum Step { case hasMore, isDone, hasNoRoom }

    /// Reads a slice.
    func step() -> Step {
        let hasMore = decoder.step(maxOperations: SubmissionDecoding.slice)
        guard share.resize(to: decoder.heldBytes) else { return .hasNoRoom }
        return hasMore ? .hasMore : .isDone
    }
}

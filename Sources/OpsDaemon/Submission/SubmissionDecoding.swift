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
    /// True if it is read outside the loop, or has been read completely.
    private var isBeside = false
    let wantsRoom = false

    /// Operations read before others have their turn.
    static let slice = 2000

    init(_ order: SubmissionOrder, _ exchange: Exchange, requests: Requests, decoder: GraphDecoder? = nil) {
        self.order = order
        self.exchange = exchange
        self.requests = requests
        self.decoder =
            decoder ?? GraphDecoder(defaults: order.defaults, joinsGraph: order.asChild, now: Moment.now().wall)
    }

    func add(_ operations: [UInt8]) { decoder.add(operations) }

    /// Reads a slice; most submissions are done with the first.
    func proceed() {
        if exchange.isAbandoned { return }
        // A single operation may name very many others.
        guard decoder.heldBytes <= DaemonLimits.bytesReadInTheLoop else { return proceedBeside() }
        proceed(hasMore: decoder.step(maxOperations: Self.slice))
    }

    private func proceedBeside() {
        isBeside = true
        begin()
        let moved = Transferred(decoder)
        decoder = GraphDecoder(now: decoder.now)
        requests.parsing.run(
            {
                var decoder = moved.consume()
                let hasMore = decoder.step(maxOperations: Self.slice)
                return (decoder: Transferred(decoder), hasMore: hasMore)
            },
            then: { [self] slice in
                isBeside = false
                decoder = slice.decoder.consume()
                if !exchange.isAbandoned { proceed(hasMore: slice.hasMore) }
            })
    }

    /// Lets the answer come late.
    private func begin() {
        guard !isStreaming else { return }
        isStreaming = true
        exchange.goOn(with: self)
    }

    /// Continues after a slice.
    private func proceed(hasMore: Bool) {
        guard exchange.share.resize(to: decoder.heldBytes) else {
            return requests.fail(exchange, exchange.connection.user.budget.refusal)
        }
        if hasMore {
            begin()
            exchange.resumeLater(self)
            return
        }
        let isLarge =
            decoder.count > DaemonLimits.operationsInTheLoop || decoder.heldBytes > DaemonLimits.bytesReadInTheLoop
        guard isLarge else {
            // The answer may come after a commit, and the connection goes on with its stream before that.
            isBeside = true
            return finish(with: Self.finish(&decoder) { requests.turns.queueNames })
        }
        isBeside = true
        begin()
        let moved = Transferred(decoder)
        let queues = requests.turns.queueNames
        decoder = GraphDecoder(now: decoder.now)
        requests.parsing.run(
            {
                var decoder = moved.consume()
                return Self.finish(&decoder) { queues }
            }, then: { [self] input in self.finish(with: input) })
    }

    private func finish(with input: Result<GraphInput, ControlError>) {
        if exchange.isAbandoned { return }
        do {
            try requests.handle(try input.get(), order, exchange)
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
        if !isBeside { proceed() }
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
        decoder = GraphDecoder(defaults: order.defaults, joinsGraph: order.asChild, now: Moment.now().wall)
    }

    var count: Int { decoder.count }

    func touch() { touchedAt = Clock.read().monotonic }

    /// Adds operations; false: there is no room for them.
    func add(_ operations: [UInt8]) -> Bool {
        guard share.resize(to: decoder.heldBytes + operations.count) else { return false }
        decoder.add(operations)
        return true
    }

    /// Result of reading a slice.
    enum Step { case hasMore, isDone, hasNoRoom }

    /// True if it is read outside the loop: a single operation may name very many others.
    var isLarge: Bool { decoder.heldBytes > DaemonLimits.bytesReadInTheLoop }

    /// Reads a slice.
    func step() -> Step { stepResult(hasMore: decoder.step(maxOperations: SubmissionDecoding.slice)) }

    /// Reads a slice outside the loop. No other call of the connection is taken meanwhile.
    func step(beside thread: SideWork, then: @escaping (Step) -> Void) {
        let moved = Transferred(decoder)
        decoder = GraphDecoder(now: decoder.now)
        thread.run(
            {
                var decoder = moved.consume()
                let hasMore = decoder.step(maxOperations: SubmissionDecoding.slice)
                return (decoder: Transferred(decoder), hasMore: hasMore)
            },
            then: { [self] slice in
                decoder = slice.decoder.consume()
                then(stepResult(hasMore: slice.hasMore))
            })
    }

    private func stepResult(hasMore: Bool) -> Step {
        guard share.resize(to: decoder.heldBytes) else { return .hasNoRoom }
        return hasMore ? .hasMore : .isDone
    }
}

internal import OpsCore
internal import OpsSystem
internal import OpsWire

/// Decodes the operations of one submission in slices, so that other clients are served while a large one is decoded.
final class SubmissionDecoding: ReplyStream {
    private let options: SubmissionOptions
    private let exchange: Exchange
    private unowned let requests: Requests
    private var decoder: GraphDecoder
    private var isStreaming = false
    /// True if it is read outside the loop, or has been read completely.
    private var isBeside = false
    let wantsRoom = false

    /// Number of operations that are decoded before others have their turn.
    static let slice = 2000

    init(_ options: SubmissionOptions, _ exchange: Exchange, requests: Requests, decoder: GraphDecoder? = nil) {
        self.options = options
        self.exchange = exchange
        self.requests = requests
        self.decoder =
            decoder ?? GraphDecoder(defaults: options.defaults, joinsGraph: options.asChild, now: Moment.now().wall)
    }

    func add(_ operations: [UInt8]) { decoder.add(operations) }

    /// Decodes a slice; most submissions are complete after the first.
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

    /// Delays the next call of the connection until the answer.
    private func begin() {
        guard !isStreaming else { return }
        isStreaming = true
        exchange.goOn(with: self)
    }

    /// Continues after a slice.
    private func proceed(hasMore: Bool) {
        let held = decoder.heldBytes
        guard exchange.share.resize(to: held) else {
            return requests.fail(exchange, exchange.connection.user.budget.refusal)
        }
        if hasMore {
            begin()
            exchange.resumeLater(self)
            return
        }
        let isLarge = decoder.count > DaemonLimits.operationsInTheLoop || held > DaemonLimits.bytesReadInTheLoop
        guard isLarge else {
            // The answer may come after a commit; the connection may resume the stream before that.
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
            try requests.handle(try input.get(), options, exchange)
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

/// A submission in several messages. It is dropped with its connection.
final class SubmissionParts {
    let options: SubmissionOptions
    private(set) var decoder: GraphDecoder
    private let share: BufferShare
    /// Size of the message with the options, which are kept.
    private let bytesOfOptions: Int
    /// Instant of the last message of the client.
    private(set) var touchedAt = Clock.read().monotonic

    /// `message`: the share of the message with the options, which counts for the parts from here on.
    init(_ options: SubmissionOptions, of user: ConnectedUsers.User, message: BufferShare) {
        self.options = options
        bytesOfOptions = message.bytes
        message.set(0)
        share = BufferShare(of: user.budget, bytesOfOptions)
        decoder = GraphDecoder(defaults: options.defaults, joinsGraph: options.asChild, now: Moment.now().wall)
    }

    var count: Int { decoder.count }

    func touch() { touchedAt = Clock.read().monotonic }

    /// Adds operations. Returns false if there is no room for them.
    func add(_ operations: [UInt8]) -> Bool {
        guard share.resize(to: bytesOfOptions + decoder.heldBytes + operations.count) else { return false }
        decoder.add(operations)
        return true
    }

    /// Result of reading a slice.
    enum Step { case hasMore, isDone, hasNoRoom }

    /// True if it is read outside the loop: a single operation may name very many others.
    var isLarge: Bool { decoder.heldBytes > DaemonLimits.bytesReadInTheLoop }

    /// Reads a slice.
    func step() -> Step { stepResult(hasMore: decoder.step(maxOperations: SubmissionDecoding.slice)) }

    /// Decodes a slice outside the loop. No other call of the connection is handled meanwhile.
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
        guard share.resize(to: bytesOfOptions + decoder.heldBytes) else { return .hasNoRoom }
        return hasMore ? .hasMore : .isDone
    }
}

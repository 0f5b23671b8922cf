internal import OpsLinux
internal import OpsWire

/// Reads the operations of one submission in slices, so that the other clients of a large one are served meanwhile.
final class SubmissionDecoding: ReplyStream {
    private let order: SubmissionOrder
    private let exchange: Exchange
    private unowned let requests: Requests
    private var decoder: GraphDecoder
    private var isStreaming = false
    let wantsRoom = false

    /// Operations read before others have their turn.
    static let slice = 2000

    init(_ order: SubmissionOrder, _ exchange: Exchange, requests: Requests, decoder: GraphDecoder? = nil) {
        self.order = order
        self.exchange = exchange
        self.requests = requests
        self.decoder = decoder ?? GraphDecoder(defaults: order.defaults)
    }

    func add(_ operations: [UInt8]) { decoder.add(operations) }

    /// Reads a slice; most submissions are done with the first.
    func proceed() {
        if exchange.isAbandoned { return }
        if decoder.step(maxOperations: Self.slice) {
            if !isStreaming {
                isStreaming = true
                return exchange.goOn(with: self)
            }
            requests.daemon.server?.resumeLater(self)
            return
        }
        do {
            try requests.take(try finish(), order, exchange)
        } catch {
            requests.fail(exchange, error)
        }
    }

    private func finish() throws(ControlError) -> GraphInput {
        do throws(GraphRefusal) {
            return try decoder.finish()
        } catch {
            throw error.error
        }
    }

    func resume() { proceed() }

    func readerLeft() {}
}

/// A submission that comes in several messages; it goes with its connection.
final class SubmissionParts {
    let order: SubmissionOrder
    private(set) var decoder: GraphDecoder

    init(_ order: SubmissionOrder) {
        self.order = order
        decoder = GraphDecoder(defaults: order.defaults)
    }

    var count: Int { decoder.count }

    func add(_ operations: [UInt8]) { decoder.add(operations) }

    /// Reads a slice; true while there is more.
    func step() -> Bool { decoder.step(maxOperations: SubmissionDecoding.slice) }
}

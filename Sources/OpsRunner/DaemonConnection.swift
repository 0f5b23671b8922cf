internal import OpsSystem
internal import OpsSystemd

/// The socket to opsd: bytes in, bytes out, each bounded.
final class DaemonConnection {
    /// Reports that opsd does not read: beyond this it is given up; the next one gets an inventory.
    private static let outgoingLimit = 64 << 20
    private static let readSize = 65_536

    private let socket: Descriptor
    private var source: ReadinessSource?
    private var reader = FrameReader<RunnerOrder>()
    private var outgoing = OutputBuffer()
    /// Somebody waits for what is to be sent.
    private(set) var isUrgent = false
    /// Has said its version, and is understood.
    var isGreeted = false
    /// What it speaks.
    var version: UInt16 = 0
    /// One for each launch in hand; came with its greeting.
    private var tokens: Tokens?
    private(set) var isClosed = false

    init(
        _ socket: consuming Descriptor, in loop: EventLoop, _ ready: @escaping () -> Void
    ) throws(SystemError) {
        self.socket = socket
        source = try loop.watch(self.socket.rawValue, for: .readable) { [unowned self] readiness in
            if readiness.contains(.writable) { flush() }
            if readiness != .writable { ready() }
        }
    }

    deinit { source?.cancel() }

    func close() {
        source?.cancel()
        source = nil
        isClosed = true
    }

    /// The orders that have come; closes itself at the end of the stream and on nonsense.
    func receive() -> [RunnerOrder] {
        var orders: [RunnerOrder] = []
        do {
            var bytes: [UInt8] = []
            var passed: Descriptor?
            let transfer = try socket.read(atMost: DaemonConnection.readSize, onto: &bytes, passed: &passed)
            if let descriptor = passed.take() { tokens = Tokens(descriptor) }
            switch transfer {
            case .moved: reader.append(bytes)
            case .wouldBlock: return []
            case .ended: close()
            }
            while let order = try reader.next() { orders.append(order) }
        } catch {
            Program.complain("opsd-runner: connection dropped: \(error)")
            close()
        }
        return orders
    }

    /// Takes one of the tokens that stand for what is in hand; `false`: opsd has taken them back.
    func takeToken() throws(SystemError) -> Bool { try tokens?.take() ?? false }

    func send(_ report: RunnerReport) {
        guard !isClosed else { return }
        outgoing.append { report.append(to: &$0) }
        isUrgent = isUrgent || !report.isPatient
    }

    var hasOutput: Bool { !outgoing.isEmpty }

    /// Writes what can be written now, and waits for room if something is left.
    func flush() {
        guard !isClosed, hasOutput else { return }
        isUrgent = false
        do throws(SystemError) {
            while !outgoing.isEmpty {
                guard case .moved(let count) = try socket.write(outgoing.rest) else { break }
                outgoing.drop(count)
            }
            if outgoing.count > DaemonConnection.outgoingLimit { return close() }
            try source?.setInterest(outgoing.isEmpty ? .readable : [.readable, .writable])
        } catch {
            close()
        }
    }
}

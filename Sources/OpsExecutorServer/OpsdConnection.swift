internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd

/// Connection to opsd, with limited buffers in both directions.
final class OpsdConnection {
    /// Maximum number of bytes of unread reports. If opsd reads too slowly, the connection is closed; the next one
    /// begins with an inventory.
    private static let outgoingLimit = 64 << 20
    private static let readSize = 65_536

    private let socket: Descriptor
    private var source: ReadinessSource?
    private var reader = FrameReader<ExecutorCommand>()
    private var outgoing = OutputBuffer()
    /// Protocol version of opsd; nil until it has greeted.
    var version: UInt16?
    private(set) var isClosed = false

    init(_ socket: consuming Descriptor, in loop: EventLoop, _ ready: @escaping () -> Void) throws(SystemError) {
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

    /// Returns the commands that have arrived. Closes the connection at the end of the stream and on invalid bytes.
    func receive(by program: String) -> [ExecutorCommand] {
        var commands: [ExecutorCommand] = []
        do {
            var bytes: [UInt8] = []
            switch try socket.read(atMost: Self.readSize, onto: &bytes) {
            case .moved: reader.append(bytes)
            case .wouldBlock: return []
            case .ended: close()
            }
            while let command = try reader.next() { commands.append(command) }
        } catch {
            Program.writeError("\(program): connection dropped: \(error)")
            close()
        }
        return commands
    }

    func send(_ report: ExecutorReport) {
        guard !isClosed else { return }
        outgoing.append { report.append(to: &$0, for: version ?? 0) }
    }

    /// Writes as much as the socket accepts; the rest follows when it is writable.
    func flush() {
        guard !isClosed, !outgoing.isEmpty else { return }
        do throws(SystemError) {
            while !outgoing.isEmpty {
                guard case .moved(let count) = try socket.write(outgoing.rest) else { break }
                outgoing.drop(count)
            }
            if outgoing.count > Self.outgoingLimit { return close() }
            try source?.setInterest(outgoing.isEmpty ? .readable : [.readable, .writable])
        } catch {
            close()
        }
    }
}

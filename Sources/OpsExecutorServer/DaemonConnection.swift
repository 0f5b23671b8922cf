public import OpsExecutor
public import OpsSystem
internal import OpsSystemd

/// Connection to opsd. Both directions are bounded.
public final class DaemonConnection {
    /// Most bytes of unread reports, beyond those of the inventory. A daemon that reads less loses the connection, and
    /// gets an inventory with the next.
    private static let outgoingLimit = 64 << 20
    private static let readSize = 65_536

    private let socket: Descriptor
    /// Name of this program, for messages.
    private let program: String
    private var source: ReadinessSource?
    private var reader = FrameReader<ExecutorCommand>()
    private var outgoing = OutputBuffer()
    /// True if opsd waits for one of the reports that are to be sent.
    public private(set) var isUrgent = false
    /// True if opsd has sent a version that this program understands.
    public var isGreeted = false {
        // The inventory that was just sent does not count: that of a new connection would be as large.
        didSet { limit = outgoing.count + DaemonConnection.outgoingLimit }
    }
    /// Most bytes of unread reports on this connection.
    private var limit = DaemonConnection.outgoingLimit
    /// Protocol version of opsd.
    public var version: UInt16 = 0
    /// One token for each staged launch; came with the greeting of opsd, if this is the runner.
    private var tokens: Tokens?
    public private(set) var isClosed = false

    init(
        _ socket: consuming Descriptor, program: String, in loop: EventLoop, _ received: @escaping () -> Void
    ) throws(SystemError) {
        self.socket = socket
        self.program = program
        source = try loop.watch(self.socket.rawValue, for: .readable) { [unowned self] readiness in
            if readiness.contains(.writable) { flush() }
            if readiness != .writable { received() }
        }
    }

    deinit { source?.cancel() }

    public func close() {
        source?.cancel()
        source = nil
        isClosed = true
    }

    /// Returns the commands that have arrived. Closes the connection at the end of the stream and on invalid bytes.
    public func receive() -> [ExecutorCommand] {
        var commands: [ExecutorCommand] = []
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
            while let command = try reader.next() { commands.append(command) }
        } catch {
            Program.writeError("\(program): connection dropped: \(error)")
            close()
        }
        return commands
    }

    /// Acquires one of the tokens that stand for staged launches. Returns `false` once opsd has revoked them.
    public func acquireToken() throws(SystemError) -> Bool { try tokens?.acquire() ?? false }

    public func send(_ report: ExecutorReport) {
        guard !isClosed else { return }
        outgoing.append { report.append(to: &$0, for: version) }
        isUrgent = isUrgent || !report.canWait
    }

    public var hasOutput: Bool { !outgoing.isEmpty }

    /// Writes as much as the socket takes, and waits for room if something is left.
    public func flush() {
        guard !isClosed, hasOutput else { return }
        isUrgent = false
        do throws(SystemError) {
            while !outgoing.isEmpty {
                guard case .moved(let count) = try socket.write(outgoing.rest) else { break }
                outgoing.drop(count)
            }
            if outgoing.count > limit { return close() }
            try source?.setInterest(outgoing.isEmpty ? .readable : [.readable, .writable])
        } catch {
            close()
        }
    }
}

internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd

/// Connection that the owner has made to the program of an executor: commands out, reports in.
final class ExecutorConnection {
    private let loop: EventLoop
    private let received: () -> Void
    private let handle: (ExecutorReport) -> Void
    private let ended: ((any Error)?) -> Void
    private var descriptor: Descriptor?
    private var source: ReadinessSource?
    private var reader = FrameReader<ExecutorReport>()
    private var output = OutputBuffer()
    /// Protocol version of the program; 0: it has not greeted yet.
    var peerVersion: UInt16 = 0

    /// `received` is called when bytes have arrived, then `handle` for each report in them. `ended` is called if the
    /// program has closed the connection (nil) or the connection cannot be used; its owner closes it.
    init(
        _ loop: EventLoop, received: @escaping () -> Void = {}, handle: @escaping (ExecutorReport) -> Void,
        ended: @escaping ((any Error)?) -> Void
    ) {
        self.loop = loop
        self.received = received
        self.handle = handle
        self.ended = ended
    }

    var isOpen: Bool { descriptor != nil }

    /// Takes over a connected socket.
    func open(_ connected: consuming Descriptor) throws(SystemError) {
        // Nothing fails after this: a source that outlives its descriptor would end the watch of the next one with the
        // same number.
        source = try loop.watch(connected.rawValue, for: .readable) { [unowned self] readiness in
            self.isReady(readiness)
        }
        descriptor = consume connected
    }

    func close() {
        source?.cancel()
        source = nil
        descriptor = nil
        reader = FrameReader()
        output = OutputBuffer()
        peerVersion = 0
    }

    // MARK: Commands

    /// Queues a command; `flush` sends all of them. Without a connection it is dropped.
    func send(_ command: ExecutorCommand) {
        guard isOpen else { return }
        output.append { command.append(to: &$0, for: peerVersion) }
    }

    /// Queues a command, or returns false if it is larger than the program accepts.
    func sendIfItFits(_ command: ExecutorCommand) -> Bool {
        guard isOpen else { return true }
        var fits = true
        output.append { fits = command.appendIfItFits(to: &$0, for: peerVersion) }
        return fits
    }

    func flush() {
        guard isOpen, !output.isEmpty else { return }
        do throws(SystemError) {
            while !output.isEmpty {
                switch try descriptor?.write(output.rest) {
                case .moved(let count): output.drop(count)
                case .wouldBlock: return try source?.setInterest([.readable, .writable]) ?? ()
                // Its last reports are still to be read; the end of the connection follows them.
                case .ended, nil: output = OutputBuffer()
                }
            }
            try source?.setInterest(.readable)
        } catch {
            ended(error)
        }
    }

    // MARK: Reports

    private func isReady(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        guard isOpen, readiness != .writable else { return }
        read()
    }

    private func read() {
        do {
            var bytes: [UInt8] = []
            switch try descriptor?.read(atMost: DaemonLimits.readBytes, onto: &bytes) {
            case .moved:
                reader.append(bytes)
                received()
            case .wouldBlock: return
            case .ended, nil: return ended(nil)
            }
            try handleReceivedReports()
        } catch {
            ended(error)
        }
    }

    /// Handles the reports that have been received completely.
    func handleReceivedReports() throws(ProtocolError) {
        while isOpen, let report = try reader.next() { handle(report) }
    }

    /// Waits for more bytes, and handles the reports in them.
    func waitForReports(milliseconds: Int32) throws(SystemError) {
        if try descriptor?.waitUntil(.readable, milliseconds: milliseconds) == true { read() }
    }
}

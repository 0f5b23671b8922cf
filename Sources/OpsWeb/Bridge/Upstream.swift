internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// One call to the daemon, over a connection of its own. Its replies arrive on the thread of the loop.
final class Upstream {
    enum Event {
        /// A complete message without its NUL.
        case reply([UInt8])
        /// The connection has ended; nil if the daemon closed it.
        case ended(SystemError?)
    }

    private let socket: Descriptor
    private var source: ReadinessSource?
    private var frames = FrameDecoder(limit: .max)
    private var output = OutputBuffer()
    private let handler: (Event) -> Void
    private var isPaused = false

    private static let readSize = 64 << 10

    /// Connects to the daemon and sends a message.
    init(
        _ message: [UInt8], to path: String, loop: EventLoop, handler: @escaping (Event) -> Void
    ) throws(SystemError) {
        socket = try UnixSocket.connect(to: path, nonBlocking: true)
        self.handler = handler
        output.append(message)
        source = try loop.watch(socket.rawValue, for: [.readable, .writable]) { [weak self] ready in
            self?.proceed(ready)
        }
    }

    deinit { source?.cancel() }

    /// Closes the connection. No event follows.
    func cancel() {
        source?.cancel()
        source = nil
    }

    /// Pauses or resumes reading.
    func pause(_ isPaused: Bool) {
        guard isPaused != self.isPaused else { return }
        self.isPaused = isPaused
        updateInterest()
    }

    private func updateInterest() {
        var interest: Readiness = isPaused ? [] : .readable
        if !output.isEmpty { interest.insert(.writable) }
        do throws(SystemError) { try source?.setInterest(interest) } catch { finish(error) }
    }

    private func proceed(_ ready: Readiness) {
        do throws(SystemError) {
            if !output.isEmpty, case .moved(let count) = try socket.write(output.rest) {
                output.drop(count)
                if output.isEmpty { updateInterest() }
            }
            // The end of the connection is reported again and again until it is read. So a pause does not delay the
            // rest, which is at most what the kernel buffers.
            let isEnding = !ready.isDisjoint(with: [.hungUp, .error])
            guard isEnding || !isPaused, ready != .writable else { return }
            var bytes: [UInt8] = []
            switch try socket.read(atMost: Self.readSize, onto: &bytes) {
            case .moved: frames.append(bytes)
            case .wouldBlock: return
            case .ended: return finish(nil)
            }
        } catch {
            return finish(error)
        }
        deliver()
    }

    private func deliver() {
        do {
            // A handler may close the connection.
            while source != nil, let message = try frames.next() { handler(.reply(message)) }
        } catch {
            finish(SystemError("read a reply", errno: SystemError.invalid))
        }
    }

    private func finish(_ error: SystemError?) {
        guard source != nil else { return }
        cancel()
        handler(.ended(error))
    }
}

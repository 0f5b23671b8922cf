public import OpsSystem
public import OpsSystemd

/// Listening socket of an executor, which accepts connections of opsd.
public final class DaemonListener {
    public let socket: Descriptor
    /// Name of this program, for messages.
    private let program: String
    private var source: ReadinessSource?
    /// End of a pause.
    private var timer: TimerSource<MonotonicInstant>?

    /// Time without new connections after an error.
    private static let pause = TimeSpan.seconds(1)

    public init(_ socket: consuming Descriptor, program: String) {
        self.socket = socket
        self.program = program
    }

    /// Takes the descriptor out of the loop while it is open.
    deinit { source?.cancel() }

    /// Passes each accepted connection to `accepted`. `received` is called when bytes of a connection have arrived.
    public func watch(
        in loop: EventLoop, received: @escaping () -> Void, accepted: @escaping (DaemonConnection) -> Void
    ) throws(SystemError) {
        timer = try loop.timer(.monotonic) { [unowned self] in setAccepting(true) }
        source = try loop.watch(socket.rawValue, for: .readable) { [unowned self, unowned loop] _ in
            accept(in: loop, received, accepted)
        }
    }

    /// Accepts the waiting connections.
    private func accept(
        in loop: EventLoop, _ received: @escaping () -> Void, _ accepted: (DaemonConnection) -> Void
    ) {
        do throws(SystemError) {
            while let connected = try UnixSocket.accept(from: socket) {
                let peer = try UnixSocket.peer(of: connected)
                guard peer.uid == Identity.uid || peer.uid == 0 else { continue }
                accepted(try DaemonConnection(connected, program: program, in: loop, received))
            }
        } catch {
            // Without a free descriptor the connection keeps waiting, and would wake the loop again at once.
            Program.writeError("\(program): \(error); no new connections for a second")
            setAccepting(false)
        }
    }

    private func setAccepting(_ isAccepting: Bool) {
        do throws(SystemError) {
            try source?.setInterest(isAccepting ? .readable : [])
            if !isAccepting { try timer?.arm(at: Clock.read().monotonic + Self.pause) }
        } catch {
            Program.writeError("\(program): \(error)")
        }
    }
}

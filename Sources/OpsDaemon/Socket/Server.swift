internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Accepts clients, counts them, and decides when each is served. `Requests` handles their calls.
final class Server {
    let log: DaemonLog
    private let loop: EventLoop
    private var limits: ConnectionLimits
    /// Answers one message of a client.
    private let handler: (_ frame: [UInt8], _ connection: Connection) -> Void

    private let clients: ReadinessGroup
    private var listeners: [Listener] = []
    private var connections: [ObjectIdentifier: Connection] = [:]
    private(set) var users = ConnectedUsers()
    private let authorization: Authorization
    private var accounts = KnownAccounts()

    private var toFlush: [Connection] = []
    private var toContinue: [Connection] = []
    private var toResume: [any ReplyStream] = []
    /// Connections in `toResume`.
    private var awaited: Set<ObjectIdentifier> = []
    private lazy var later = DeferredWork(loop) { [unowned self] in self.doDeferredWork() }
    private lazy var idleAlarm = Alarm(loop, log, accuracy: 1_000_000) { [unowned self] in
        self.closeIdle(at: Clock.read().monotonic)
    }
    private lazy var acceptAlarm = Alarm(loop, log) { [unowned self] in self.setAccepting(true) }

    private struct Listener {
        let source: ReadinessSource
        let socket: ListeningSocket
    }

    init(
        loop: EventLoop, limits: ConnectionLimits, authorization: Authorization, log: DaemonLog,
        handler: @escaping ([UInt8], Connection) -> Void
    ) throws(SystemError) {
        self.loop = loop
        self.limits = limits
        self.authorization = authorization
        self.log = log
        self.handler = handler
        clients = try ReadinessGroup(loop)
    }

    var connectionCount: Int { connections.count }

    func setLimits(_ limits: ConnectionLimits) {
        self.limits = limits
        users.setLimits(limits)
    }

    func listen(on socket: ListeningSocket) throws(SystemError) {
        let source = try loop.watch(socket.descriptor.rawValue, for: .readable) { [unowned self] _ in
            self.accept(from: socket)
        }
        listeners.append(Listener(source: source, socket: socket))
    }

    // MARK: Connections

    private func accept(from socket: ListeningSocket) {
        do {
            // A bounded number of clients is accepted at once, so that other work has its turn.
            for _ in 0..<16 {
                guard let descriptor = try UnixSocket.accept(from: socket.descriptor) else { return }
                // A failure for one client must not affect the others.
                do { try welcome(descriptor) } catch { log.warning("a client was not served: \(error)") }
            }
        } catch {
            log.warning("\(error); no new connections for a second")
            setAccepting(false)
            acceptAlarm.set(after: .seconds(1))
        }
    }

    /// Accepts a client, or refuses it with the reason.
    func welcome(_ descriptor: consuming Descriptor) throws(SystemError) {
        let peer = try UnixSocket.peer(of: descriptor)
        let account = try accounts.account(of: peer.uid, now: Clock.read().monotonic, Account.withUID)
        let caller = Caller(user: peer.uid, group: peer.gid, account: account)
        let user = users.user(of: caller, limits, isPrivileged: authorization.isPrivileged(caller))
        if let refusal = limits.refusal(
            total: connections.count, ofUser: user.connections, isPrivileged: user.isPrivileged)
        {
            // One attempt to write: a client that does not read gets nothing.
            _ = try descriptor.write(Reply.frame(refusal)[...])
            return
        }
        let connection = Connection(descriptor, caller: caller, user: user, server: self)
        try connection.start(in: clients)
        connections[ObjectIdentifier(connection)] = connection
        users.connect(user)
        // Most clients have sent a call by now, so the loop need not wait for it.
        connection.read()
    }

    func forget(_ connection: Connection) {
        guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil else { return }
        users.disconnect(connection.user)
    }

    func closeAll() {
        for listener in listeners { listener.source.cancel() }
        listeners = []
        for connection in Array(connections.values) {
            connection.flush()
            connection.close()
        }
    }

    private func setAccepting(_ accepting: Bool) {
        for listener in listeners {
            do { try listener.source.setInterest(accepting ? .readable : []) } catch { log.error("\(error)") }
        }
    }

    // MARK: Deferred work

    func handle(_ frame: [UInt8], from connection: Connection) { handler(frame, connection) }

    func flushAtEndOfTurn(_ connection: Connection) { toFlush.append(connection) }

    /// Continues with a connection in the next turn, so that the present one can end.
    func continueLater(_ connection: Connection) { toContinue.append(connection) }

    func resumeLater(_ stream: any ReplyStream) {
        if awaited.insert(ObjectIdentifier(stream)).inserted { toResume.append(stream) }
    }

    /// Sends the replies of a turn after its commit, then does the work that was put off.
    func flush() {
        flushOutput()
        guard !toContinue.isEmpty || !toResume.isEmpty else { return }
        later.schedule()
    }

    private func flushOutput() {
        let due = toFlush
        toFlush.removeAll(keepingCapacity: true)
        for connection in due { connection.flush() }
    }

    private func doDeferredWork() {
        let connections = toContinue
        toContinue.removeAll(keepingCapacity: true)
        for connection in connections { connection.processCalls() }
        serveStreams()
    }

    /// Lets streams continue, each once and all together for a bounded time. A thousand watchers take many turns, and a
    /// client with a request waits for only one of them.
    private func serveStreams() {
        guard !toResume.isEmpty else { return }
        let end = Clock.read().monotonic + DaemonLimits.streaming
        var served = 0
        for stream in toResume {
            served += 1
            awaited.remove(ObjectIdentifier(stream))
            stream.resume()
            // Flushed at once, so that the time counts.
            flushOutput()
            if Clock.read().monotonic >= end { break }
        }
        toResume.removeFirst(served)
    }

    // MARK: Idle clients

    /// Starts the timer of a client that has to complete a message or a submission, or to read answers.
    func watchIdle() {
        if idleAlarm.instant == nil { idleAlarm.set(after: DaemonLimits.idle) }
    }

    /// Closes the connections of clients that have been idle for too long.
    func closeIdle(at now: MonotonicInstant) {
        var next: MonotonicInstant?
        for connection in Array(connections.values) {
            guard let (since, idleness) = connection.idle else { continue }
            if now - since >= DaemonLimits.idle {
                log.info("closed a connection of \(connection.caller.name): \(idleness.rawValue)")
                connection.close(saying: idleness.refusal)
            } else {
                next = min(next ?? since, since)
            }
        }
        if let next { idleAlarm.set(at: next + DaemonLimits.idle) }
    }
}

/// Kind of data that an idle client has not completed or read.
enum Idleness: String {
    case incompleteMessage = "a message was incomplete for too long"
    case unreadAnswers = "answers were not read for too long"
    case unfinishedSubmission = "a submission was not continued for too long"

    var refusal: ControlError {
        let seconds = DaemonLimits.idle / 1_000_000_000
        return switch self {
        case .incompleteMessage: .busy("a message was incomplete after \(seconds) s; connect again and send all of it")
        case .unreadAnswers: .busy("nothing was read for \(seconds) s; connect again and read the answers")
        case .unfinishedSubmission:
            .busy("nothing was added to a submission for \(seconds) s, and it is dropped; begin it again")
        }
    }
}

/// A socket to which clients connect.
final class ListeningSocket {
    let descriptor: Descriptor
    init(_ descriptor: consuming Descriptor) { self.descriptor = descriptor }
}

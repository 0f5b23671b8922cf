import Glibc
import OpsExecutor
import OpsStore
import OpsSystem
import OpsSystemd
import OpsWire
import TestSupport
import Testing

@testable import OpsDaemon

/// A daemon in a directory of its own, without listening socket and runner. The test makes its turns.
final class Fixture {
    let daemon: Daemon
    let loop: EventLoop
    private let temporary = TemporaryDirectory()
    let directory: String
    /// Socket of the runner, on which the test listens so that the daemon starts no runner.
    let runnerSocket: Descriptor

    /// - Parameter buffered: Bytes for the clients of an ordinary user; clients of this process's own user have four
    /// times as much.
    /// - Parameter executors: Configured executors. The test listens on their sockets, so that the daemon starts no program.
    init(
        connections: Int = 64, perUser: Int = 64, buffered: Int64 = 256 << 20, executors: [ExecutorConfiguration] = []
    ) throws {
        directory = temporary.path
        loop = try EventLoop()
        var configuration = Configuration(state: directory, socket: directory + "/control.sock")
        configuration.connections = connections
        configuration.connectionsPerUser = perUser
        configuration.workers = 2
        configuration.executors = executors
        runnerSocket = try UnixSocket.listen(
            at: directory + "/" + LaunchProtocol.socketName(), acceptsDescriptors: true)
        let store = try Store.open(directory: directory, boot: "boot")
        let history = try History.open(path: store.path)
        daemon = try Daemon(
            configuration: configuration, options: try CommandLineOptions([]), loop: loop,
            log: DaemonLog(level: .error),
            store: store, history: history)
        let limits = ConnectionLimits(total: connections, perUser: perUser, bytesPerUser: buffered)
        daemon.server = try Server(
            loop: loop, limits: limits, authorization: daemon.authorization, log: daemon.log,
            handler: { [unowned daemon] frame, connection in daemon.requests.handle(frame, from: connection) })
    }

    deinit {
        daemon.server?.closeAll()
    }

    /// Returns questions to the scheduler, in a queue of their own.
    func schedulerQueries(inATurn: TimeSpan = .milliseconds(4)) -> SchedulerQueries {
        SchedulerQueries(
            turns: daemon.turns, loop: loop, log: daemon.log, inATurn: inATurn,
            fail: { [unowned daemon] in daemon.requests.fail($0, $1) })
    }

    /// Returns a connected client of this process's own user.
    func connect() throws -> Client {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw SystemError("socketpair", errno: errno)
        }
        let theirs = Descriptor(owning: ends[1])
        try theirs.setNonBlocking(true)
        try daemon.server?.welcome(theirs)
        let client = Client(Descriptor(owning: ends[0]), self)
        try client.descriptor.setNonBlocking(true)
        return client
    }

    /// Returns a call of a user on a connection of its own.
    func exchange(of user: UInt32) throws -> Exchange {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0, &ends) == 0 else {
            throw SystemError("socketpair", errno: errno)
        }
        close(ends[1])
        let caller = Caller(user: user, group: user, account: nil)
        let server = try #require(daemon.server)
        let connected = ConnectedUsers.User(BufferBudget(of: caller.name, limit: 1 << 20), isPrivileged: false)
        let connection = Connection(Descriptor(owning: ends[0]), caller: caller, user: connected, server: server)
        let call = try Call(frame: Call.frame(StatusRequest()).dropLast())
        return Exchange(call, BufferShare(of: connected.budget), connection)
    }

    /// Turns after which a test fails. Each one waits for at most 20 ms, for work of other threads that many other tests delay.
    static let mostTurns = 15_000

    /// Makes turns until `isDone`.
    func turn(until isDone: () throws -> Bool) throws {
        for _ in 0..<Fixture.mostTurns {
            if try isDone() { return }
            try loop.turn(timeout: 20_000)
        }
        Issue.record("the daemon did not do it within \(Fixture.mostTurns) turns")
    }
}

/// The client's end of a connection.
final class Client {
    let descriptor: Descriptor
    private let fixture: Fixture
    private var decoder = FrameDecoder()
    private(set) var hasEnded = false

    init(_ descriptor: consuming Descriptor, _ fixture: Fixture) {
        self.descriptor = descriptor
        self.fixture = fixture
    }

    func send(_ bytes: [UInt8]) throws {
        var rest = bytes[...]
        while !rest.isEmpty {
            switch try descriptor.write(rest) {
            case .moved(let count): rest = rest.dropFirst(count)
            case .wouldBlock: try fixture.loop.turn(timeout: 1000)
            case .ended: return
            }
        }
    }

    func send(_ request: some WireRequest, more: Bool = false, oneway: Bool = false) throws {
        try send(Call.frame(request, more: more, oneway: oneway))
    }

    /// Returns the next message, or nil at the end of the connection.
    func receive() throws -> ReceivedReply? {
        var reply: ReceivedReply?
        try fixture.turn { [self] in
            if let frame = try decoder.next() {
                reply = try ReceivedReply(frame: frame)
                return true
            }
            var bytes: [UInt8] = []
            switch try descriptor.read(atMost: 1 << 16, onto: &bytes) {
            case .moved: decoder.append(bytes)
            case .wouldBlock: break
            case .ended: hasEnded = true
            }
            return hasEnded && decoder.buffered == 0
        }
        return reply
    }

    /// Returns true if a message has arrived, without a turn of the daemon.
    func hasReply() throws -> Bool {
        var bytes: [UInt8] = []
        if case .moved = try descriptor.read(atMost: 1 << 16, onto: &bytes) { decoder.append(bytes) }
        return decoder.buffered > 0
    }

    /// Calls a method and returns the result.
    func call<Request: WireRequest>(_ request: Request) throws -> Request.Reply {
        try send(request)
        let reply = try #require(try receive())
        if let failure = reply.failure { throw failure }
        return try reply.result()
    }

    /// Calls a method and returns the error, which is expected.
    func refusal(_ request: some WireRequest) throws -> ReplyError? {
        try send(request)
        return try receive()?.failure
    }

    func submit(_ operations: String) throws -> SubmitReply {
        try call(Client.submission(operations))
    }

    static func submission(_ operations: String) -> SubmitRequest {
        .with { $0.operations = RawElements(Array(operations.utf8)) }
    }
}

extension Client {
    /// Closes the sending half of the connection.
    func finishSending() { shutdown(descriptor.rawValue, Int32(SHUT_WR)) }
}

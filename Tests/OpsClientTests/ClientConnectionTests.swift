import Glibc
import OpsSystem
import OpsWire
import Testing

@testable import OpsClient

/// A connection and the daemon's side of it. The daemon's answers are written before the calls.
private final class Conversation {
    let connection: Connection
    private var daemon: Descriptor?

    init() throws {
        let path = "/tmp/opsd-client-\(getpid())-\(UInt32.random(in: 0 ... .max))"
        let listener = try UnixSocket.listen(at: path)
        defer { unlink(path) }
        let connection = try Connection(path: path)
        self.connection = connection
        daemon = try UnixSocket.accept(from: listener)
    }

    func say(_ messages: String...) throws {
        for message in messages { _ = try daemon?.writeAll(Array((message + "\0").utf8)) }
    }

    func sayHalf(_ text: String) throws { _ = try daemon?.writeAll(Array(text.utf8)) }

    func heard() throws -> String {
        var bytes: [UInt8] = []
        _ = try daemon?.read(atMost: 1 << 16, onto: &bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    func hangUp() { daemon = nil }
}

@Suite struct ClientConnectionTests {
    private func failure(of body: () throws(ClientError) -> Void) -> ClientError? {
        do throws(ClientError) {
            try body()
            return nil
        } catch { return error }
    }

    @Test func `a call sends one message and returns its reply`() throws {
        let talk = try Conversation()
        try talk.say(#"{"parameters":{"touched":2,"ids":[4,5]}}"#)
        let reply = try talk.connection.call(CancelRequest.with { $0.selection.refs = ["4", "5"] })
        #expect(reply.ids == [4, 5])
        #expect(
            try talk.heard()
                == #"{"method":"org.opsd.Control.Cancel","parameters":{"selection":{"refs":["4","5"]}}}"# + "\0")
    }

    @Test func `a stream ends with the first reply that does not continue`() throws {
        let talk = try Conversation()
        try talk.say(
            #"{"parameters":{"ended":[],"remaining":1,"succeeded":false},"continues":true}"#,
            #"{"parameters":{"ended":[],"remaining":0,"succeeded":true}}"#, #"{"parameters":{"problems":[]}}"#)
        var replies = try talk.connection.stream(WaitRequest())
        #expect(try replies.next()?.remaining == 1)
        #expect(!replies.isOver)
        #expect(try replies.next()?.succeeded == true)
        #expect(replies.isOver)
        #expect(try replies.next() == nil)
        #expect(try talk.connection.call(CheckRequest()) == CheckReply(), "the next call gets the next reply")
        #expect(
            try talk.heard().hasPrefix(#"{"method":"org.opsd.Control.Wait","parameters":{"selection":{}},"more":true}"#)
        )
    }

    @Test func `a reply that has arrived in part is awaited`() throws {
        let talk = try Conversation()
        var replies = try talk.connection.stream(StatusRequest())
        try talk.sayHalf(#"{"parameters":{"vers"#)
        try replies.receive()
        #expect(try replies.arrived() == nil)
        try talk.say(#"ion":"9"},"continues":true}"#)
        try replies.receive()
        #expect(try replies.arrived()?.version == "9")
        #expect(try replies.arrived() == nil && !replies.isOver)
    }

    @Test func `an error of the daemon is typed`() throws {
        let talk = try Conversation()
        try talk.say(
            #"{"error":"org.opsd.Control.NotFound","parameters":{"kind":"queue","name":"q","nearest":null}}"#,
            #"{"error":"org.varlink.service.MethodNotFound","parameters":{"method":"m"}}"#,
            #"{"error":"org.opsd.Control.Later","parameters":{"x":1}}"#)
        let expected: [ReplyError] = [
            .control(.notFound(kind: "queue", name: "q", nearest: nil)), .service(.methodNotFound("m")),
            .unknown(name: "org.opsd.Control.Later", parameters: #"{"x":1}"#),
        ]
        for error in expected {
            #expect(
                failure { () throws(ClientError) in _ = try talk.connection.call(CheckRequest()) } == .refused(error))
        }
    }

    @Test func `a connection that ends is lost`() throws {
        let talk = try Conversation()
        try talk.say(#"{"parameters":{"problems":["a"]}}"#)
        talk.hangUp()
        let connection = talk.connection
        #expect(try connection.call(CheckRequest()).problems == ["a"], "what was said before it ended is read")
        #expect(failure { () throws(ClientError) in _ = try connection.call(CheckRequest()) } == .lost(errno: nil))
    }

    @Test func `a call returns only what arrives before the deadline`() throws {
        let talk = try Conversation()
        try talk.say(#"{"parameters":{"problems":["a"]}}"#)
        let connection = talk.connection
        connection.deadline = Clock.read().monotonic
        #expect(try connection.call(CheckRequest()).problems == ["a"])
        #expect(failure { () throws(ClientError) in _ = try connection.call(CheckRequest()) } == .timedOut)
    }

    @Test func `without a daemon the path is named`() {
        let path = "/tmp/no/such/socket"
        let error = failure { () throws(ClientError) in _ = try Connection(path: path) }
        #expect(error == .unreachable(path: path, errno: ENOENT))
    }

    @Test func `bytes that are no reply are refused`() throws {
        let talk = try Conversation()
        try talk.say("{", #"{"parameters":{"problems":[1]}}"#, #"{"parameters":{}}"#)
        func answer() -> ClientError? {
            failure { () throws(ClientError) in _ = try talk.connection.call(CheckRequest()) }
        }
        #expect(answer() == .noMessage)
        #expect(answer() == .wrongReply(InvalidParameter("problems", "expected a string; put the value in quotes")))
        #expect(answer() == .wrongReply(InvalidParameter("problems", "is missing")))
    }

    @Test func `a reply of another version is read`() throws {
        let talk = try Conversation()
        try talk.say(
            #"{"parameters":{"event":{"seq":7,"type":"levitated","new":"floating","later":{"x":[]}},"later":1}}"#)
        var replies = try talk.connection.stream(WatchRequest())
        let event = try #require(try replies.next()).event
        #expect(event.seq == 7 && event.type.rawValue == "levitated" && event.new?.rawValue == "floating")
        #expect(event.at.isEmpty && event.outcome == nil)
    }
}

/// A daemon that answers each call by its method, over any number of connections.
private final class AnsweringDaemon: Sendable {
    let path = "/tmp/opsd-answers-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    private let listener: Descriptor
    private let answers: [String: String]

    init(_ answers: [String: String]) throws {
        self.answers = answers
        listener = try UnixSocket.listen(at: path)
    }

    deinit { unlink(path) }

    /// Accepts connections until none has come for two seconds.
    func serve() {
        do {
            while try listener.waitUntil(.readable, milliseconds: 2000) {
                guard let accepted = try UnixSocket.accept(from: listener) else { continue }
                let number = accepted.release()
                let known = answers
                Detached.run {
                    do { try Self.answer(Descriptor(owning: number), known) } catch { Issue.record(error) }
                }
            }
        } catch { Issue.record(error) }
    }

    private static func answer(_ caller: consuming Descriptor, _ answers: [String: String]) throws {
        var bytes: [UInt8] = []
        while true {
            try caller.waitUntil(.readable)
            guard case .moved = try caller.read(atMost: 1 << 16, onto: &bytes) else { return }
            while let end = bytes.firstIndex(of: 0) {
                let call = String(decoding: bytes[..<end], as: UTF8.self)
                bytes.removeSubrange(...end)
                let name = "{\"method\":\"org.opsd.Control."
                guard let known = answers.first(where: { call.hasPrefix(name + $0.key + "\"") }),
                    try caller.writeAll(Array((known.value + "\0").utf8))
                else { return }
            }
        }
    }
}

@Suite struct OpsSessionTests {
    /// Answers of a daemon that has removed the operation with the id 1. Each stream of events is too slow.
    private static let answers = [
        "ListQueues":
            #"{"parameters":{"queues":[{"name":"default","limit":null,"suspended":false,"aging":null,"#
            + #""pending":0,"ready":0,"executing":0}]}}"#,
        "Status":
            #"{"parameters":{"version":"9.9","pid":77,"runnerPid":78,"state":"running","suspended":false,"workers":4,"#
            + #""counts":{"pending":0,"ready":0,"executing":0,"finished":0},"queues":[],"lastSeq":9,"startedAt":""}}"#,
        "Submit": #"{"parameters":{"graph":"g1","existing":false,"first":1,"count":1}}"#,
        "Watch": #"{"error":"org.opsd.Control.Lagged","parameters":{"resume":9}}"#,
        "Show": #"{"error":"org.opsd.Control.NotFound","parameters":{"kind":"operation","name":"1","nearest":null}}"#,
    ]

    @Test func `an operation that was removed before its end was seen has finished`() async throws {
        let daemon = try AnsweringDaemon(Self.answers)
        Detached.run { daemon.serve() }
        let operation = OpsOperation(["true"])
        try OpsQueue(socket: daemon.path).addBarrier(operation)
        #expect(operation.id == 1 && operation.keys.isBarrier)
        var last: OpsOperation.State?
        for await state in operation.states { last = state }
        #expect(last == .finished && operation.outcome == nil)
    }

    @Test func `an operation without a name gets a name that no other one has`() {
        let operations = [OpsOperation(["a"], name: "operation2"), OpsOperation(["b"]), OpsOperation(["c"])]
        #expect(OpsQueue.names(of: operations) == ["operation2", "operation2_", "operation3"])
    }

    @Test func `a dependency can be removed before the operation is added`() {
        let (first, second) = (OpsOperation(["a"]), OpsOperation(["b"]))
        let last = OpsOperation(["c"])
        last.addDependency(first)
        last.addDependency(second)
        last.removeDependency(first)
        #expect(last.dependencies.map(ObjectIdentifier.init) == [ObjectIdentifier(second)])
    }
}

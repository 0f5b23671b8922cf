internal import OpsWire

/// One call of a client, until it is answered for the last time.
final class Exchange {
    let call: Call
    let connection: Connection
    private var isOver = false

    init(_ call: Call, _ connection: Connection) {
        self.call = call
        self.connection = connection
        connection.expectAnswer()
    }

    var caller: Caller { connection.caller }
    /// Nobody reads what is answered.
    var isAbandoned: Bool { connection.isClosed }
    var hasRoom: Bool { connection.hasRoom }
    /// All that was answered so far has left.
    var hasDrained: Bool { connection.hasDrained }

    /// The connection's next call is taken only after this one is answered for the last time: answers come in the
    /// order of the calls, however long one goes on.
    func holdNext() { connection.hold(for: self) }

    /// The last reply.
    func reply(_ result: some WireRecord) { reply(frame: Reply.frame(result)) }

    /// The same, as bytes already.
    func reply(frame: [UInt8]) {
        if !call.oneway { connection.send(frame) }
        end()
    }

    /// A reply that others follow.
    func replyAndGoOn(_ result: some WireRecord) {
        connection.send(Reply.frame(result, continues: true))
    }

    /// A whole message that several clients get alike.
    func forward(_ frame: [UInt8]) { connection.send(frame) }

    func fail(_ error: some WireErrorCases) {
        if !call.oneway { connection.send(Reply.frame(error)) }
        end()
    }

    /// The answer comes in pieces, or late: no other call of the connection is taken until then.
    func goOn(with stream: any ReplyStream) {
        if !isAbandoned { connection.begin(stream, of: self) }
    }

    private func end() {
        precondition(!isOver, "a call is answered once")
        isOver = true
        connection.answered()
        connection.letGo(of: self)
    }
}

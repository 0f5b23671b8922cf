internal import OpsWire

/// One call of a client, until its last reply.
final class Exchange {
    let call: Call
    let connection: Connection
    /// Part of the user's budget that the message, its decoded form and an unfinished answer hold.
    let share: BufferShare
    private(set) var isOver = false
    /// True if the call was refused because too much waits for the clients of its user: further replies are dropped.
    private var isRefused = false

    init(_ call: Call, _ share: BufferShare, _ connection: Connection) {
        self.call = call
        self.share = share
        self.connection = connection
        connection.expectAnswer()
    }

    var caller: Caller { connection.caller }
    /// True if the answer is not read.
    var isAbandoned: Bool { connection.isClosed || isRefused }
    var hasRoom: Bool { connection.hasRoom }
    /// True if all replies so far were sent.
    var hasDrained: Bool { connection.hasDrained }

    /// Lets a stream of this call continue in the next turn.
    func resumeLater(_ stream: any ReplyStream) { connection.resumeLater(stream) }

    /// Delays the next call of the connection until the last reply to this one: answers are sent in the order of the
    /// calls, however long one takes.
    func pauseReading() { connection.pauseReading(for: self) }

    /// Sends the last reply.
    func reply(_ result: some WireRecord) { reply(frame: Reply.frame(result)) }

    /// Sends the last reply, which is encoded already.
    func reply(frame: [UInt8]) {
        if isRefused { return }
        // The memory of the request is released with this call.
        share.set(0)
        if call.oneway { return end() }
        guard frame.count <= Limits.frameBytes else {
            return fail(ControlError.tooLarge(what: "the answer", limit: Limits.frameBytes))
        }
        guard connection.sendIfThereIsRoom(frame) else { return fail(connection.user.budget.refusal) }
        end()
    }

    /// Sends a reply that others follow.
    func replyAndGoOn(_ result: some WireRecord) { forward(Reply.frame(result, continues: true)) }

    /// Sends an encoded message that several clients get.
    func forward(_ frame: [UInt8]) {
        if isAbandoned || connection.sendIfThereIsRoom(frame) { return }
        let stream = connection.stream
        fail(connection.user.budget.refusal)
        isRefused = true
        stream?.readerLeft()
    }

    func fail(_ error: some WireErrorCases) {
        if isRefused { return }
        if !call.oneway { connection.send(Reply.frame(error)) }
        end()
    }

    /// Reserves more bytes of the user's budget until the call is answered.
    func reserve(_ bytes: Int) throws(ControlError) {
        guard share.resize(to: share.bytes + bytes) else { throw connection.user.budget.refusal }
    }

    /// Answers with a stream. No other call of the connection is handled until its end.
    func goOn(with stream: any ReplyStream) {
        if !isAbandoned { connection.begin(stream, of: self) }
    }

    private func end() {
        precondition(!isOver, "a call is answered once")
        isOver = true
        share.set(0)
        connection.answered()
        connection.resumeReading(for: self)
    }
}

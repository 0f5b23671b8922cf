internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// One client: bytes in, calls out; replies in, bytes out. What waits in either direction is bounded.
///
/// Calls are processed and answered in order: a call whose answer continues after its turn delays the next one.
final class Connection {
    let caller: Caller
    let user: ConnectedUsers.User
    private let descriptor: Descriptor
    private unowned let server: Server
    private var source: ReadinessGroup.Member?
    private var decoder = FrameDecoder()
    private var output = OutputBuffer()
    /// Part of the user's budget that these two hold.
    private let share: BufferShare
    private var isWaitingForFlush = false
    /// The stream of a call with several replies. It makes replies while the output has room.
    private(set) var stream: (any ReplyStream)?
    /// Number of handled calls whose answers wait for the end of the turn.
    private var unanswered = 0
    private var isHandling = false
    /// The unfinished call, or the large message being read, that delays the next call.
    private var holder: AnyObject?
    /// Reply that is sent after all others, before the connection closes.
    private var finalReply: [UInt8]?
    /// True if the last read found a message, so that another may follow it.
    private var mayHoldMore = false
    /// True if the client sends no more, but may still read.
    private var inputHasEnded = false
    private(set) var isClosed = false
    /// A submission that comes in parts.
    var parts: SubmissionParts? {
        didSet { if parts != nil { server.watchIdle() } }
    }
    /// Arrival of an incomplete message, if there is one.
    private var incompleteSince: MonotonicInstant?
    /// Instant at which the client last read some of the waiting answers, if there are any.
    private var unreadSince: MonotonicInstant?

    init(_ descriptor: consuming Descriptor, caller: Caller, user: ConnectedUsers.User, server: Server) {
        self.descriptor = descriptor
        self.caller = caller
        self.user = user
        share = BufferShare(of: user.budget)
        self.server = server
    }

    func resumeLater(_ stream: any ReplyStream) { server.resumeLater(stream) }

    func start(in group: ReadinessGroup) throws(SystemError) {
        source = try group.watch(descriptor.rawValue, for: .readable) { [unowned self] readiness in
            self.isReady(readiness)
        }
    }

    /// True if the output has room for another reply.
    var hasRoom: Bool { output.count < DaemonLimits.outputBytes }
    var hasDrained: Bool { output.isEmpty }
    /// The oldest thing that the client has to continue, and the instant since which it has not.
    var idle: (since: MonotonicInstant, Idleness)? {
        var owed: [(since: MonotonicInstant, Idleness)] = []
        if let incompleteSince { owed.append((incompleteSince, .incompleteMessage)) }
        if let unreadSince { owed.append((unreadSince, .unreadAnswers)) }
        if let parts, holder == nil, unanswered == 0 { owed.append((parts.touchedAt, .unfinishedSubmission)) }
        return owed.min { $0.since < $1.since }
    }
    private var held: Int { decoder.buffered + output.count }

    // MARK: Input

    private func isReady(_ readiness: Readiness) {
        if readiness.contains(.writable) { flush() }
        guard !isClosed else { return }
        if readiness.contains(.readable) && !inputHasEnded {
            // Bytes before the end count: they may be a one-way call.
            read()
        } else if readiness.contains(.hungUp) || readiness.contains(.error) {
            close()
        }
    }

    /// Reads the bytes that have arrived.
    func read() {
        var bytes: [UInt8] = []
        do {
            switch try descriptor.read(atMost: DaemonLimits.readBytes, onto: &bytes) {
            case .wouldBlock: return
            case .ended: inputHasEnded = true
            case .moved:
                decoder.append(bytes)
                mayHoldMore = true
                guard share.resize(to: held) else {
                    server.log.info("connection of \(caller.name) closed: buffered-per-user is used up")
                    return refuse(Reply.frame(user.budget.refusal))
                }
            }
        } catch {
            server.log.debug("connection of \(caller.name): \(error)")
            return close()
        }
        processCalls()
    }

    /// Passes the received calls to the server, until one continues after its turn or the output is full.
    func processCalls() {
        guard !isHandling, !isClosed else { return }
        isHandling = true
        defer { isHandling = false }
        var taken = 0
        while holder == nil, hasRoom, unanswered < DaemonLimits.unanswered, !isClosed {
            guard taken < DaemonLimits.callsInARow else {
                server.continueLater(self)
                break
            }
            let frame: [UInt8]?
            do throws(FrameDecoder.TooLarge) {
                frame = try decoder.next()
            } catch {
                server.log.info("connection of \(caller.name) closed: a message of more than \(error.limit) bytes")
                return refuse(Reply.frame(ControlError.tooLarge(what: "a message", limit: error.limit)))
            }
            guard let frame else {
                mayHoldMore = false
                break
            }
            mayHoldMore = true
            taken += 1
            share.set(held)
            server.handle(frame, from: self)
        }
        updateInterest()
        closeIfDone()
    }

    /// Refuses an invalid message, which ends the input: the beginning of the next message is unknown.
    func refuse(_ reply: [UInt8]) {
        inputHasEnded = true
        mayHoldMore = false
        decoder = FrameDecoder()
        share.set(held)
        finalReply = reply
        sendFinalReply()
        updateInterest()
    }

    private func sendFinalReply() {
        guard unanswered == 0, let reply = finalReply else { return }
        finalReply = nil
        send(reply)
    }

    /// Stops handling calls until `resumeReading(for:)` with the same holder.
    func pauseReading(for holder: AnyObject) { self.holder = holder }

    /// Releases the connection for a holder. Does nothing for a holder that holds nothing.
    func resumeReading(for holder: AnyObject) {
        guard self.holder === holder else { return }
        self.holder = nil
        stream = nil
        if !isClosed { server.continueLater(self) }
    }

    /// Counts a call whose answer is outstanding; `answered` counts it no longer.
    func expectAnswer() { unanswered += 1 }

    func answered() {
        precondition(unanswered > 0, "every call is answered once")
        unanswered -= 1
        parts?.touch()
        // Handling had stopped at the limit, and one-way calls cause no flush that would continue it.
        if unanswered == DaemonLimits.unanswered - 1, mayHoldMore { server.continueLater(self) }
        sendFinalReply()
    }

    /// Closes the connection of a client that sends no more once all its calls are answered.
    private func closeIfDone() {
        guard inputHasEnded, unanswered == 0, holder == nil, output.isEmpty, !mayHoldMore else { return }
        close()
    }

    // MARK: Output

    /// Sends an answer, unless too much waits for the clients of this user already.
    func sendIfThereIsRoom(_ bytes: [UInt8]) -> Bool {
        guard share.resize(to: held + bytes.count) else { return false }
        send(bytes)
        return true
    }

    /// Queues the bytes of a reply, which are sent at the end of the turn.
    func send(_ bytes: [UInt8]) {
        guard !isClosed else { return }
        output.append(bytes)
        share.set(held)
        if !isWaitingForFlush {
            isWaitingForFlush = true
            server.flushAtEndOfTurn(self)
        }
    }

    /// Writes as much as the kernel accepts, then lets a stream continue.
    func flush() {
        isWaitingForFlush = false
        defer { share.set(held) }
        do {
            while !output.isEmpty {
                switch try descriptor.write(output.rest) {
                case .moved(let count):
                    output.drop(count)
                    unreadSince = nil
                case .wouldBlock: return waitForReader()
                case .ended: return close()
                }
            }
        } catch {
            server.log.debug("connection of \(caller.name): \(error)")
            return close()
        }
        updateInterest()
        if let stream {
            if stream.wantsRoom && hasRoom { server.resumeLater(stream) }
        } else if holder == nil, mayHoldMore {
            server.continueLater(self)
        }
        closeIfDone()
    }

    private func waitForReader() {
        unreadSince = unreadSince ?? Clock.read().monotonic
        server.watchIdle()
        updateInterest()
    }

    private func updateInterest() {
        guard let source, !isClosed else { return }
        var interest: Readiness = []
        if !output.isEmpty { interest.insert(.writable) }
        // While a stream continues, only the end of the connection matters, and a few calls that the client sends
        // ahead.
        if !inputHasEnded && hasRoom && unanswered < DaemonLimits.unanswered
            && decoder.buffered <= Limits.frameBytes && (holder == nil || decoder.buffered == 0)
        {
            interest.insert(.readable)
        }
        do {
            try source.setInterest(interest)
        } catch {
            server.log.error("\(error)")
            close()
        }
        let isHalf = holder == nil && decoder.isInsideMessage && !mayHoldMore
        incompleteSince = isHalf ? (incompleteSince ?? Clock.read().monotonic) : nil
        if isHalf { server.watchIdle() }
    }

    // MARK: Streams

    func begin(_ stream: any ReplyStream, of holder: AnyObject) {
        precondition(self.stream == nil, "one call of a connection goes on at a time")
        pauseReading(for: holder)
        self.stream = stream
        server.resumeLater(stream)
    }

    /// Closes the connection with an error as the last reply, as far as the kernel accepts it. A client that waits for
    /// an answer gets none: it would mistake the error for its answer.
    func close(saying error: ControlError) {
        if unanswered == 0 { send(Reply.frame(error)) }
        flush()
        close()
    }

    func close() {
        guard !isClosed else { return }
        isClosed = true
        source?.cancel()
        source = nil
        decoder = FrameDecoder()
        output = OutputBuffer()
        parts = nil
        share.set(0)
        let ended = stream
        stream = nil
        // An unfinished call keeps this connection alive, so the connection must not keep the call: it may never be
        // answered.
        holder = nil
        ended?.readerLeft()
        server.forget(self)
    }
}

/// A call with replies after its turn.
protocol ReplyStream: AnyObject {
    /// Makes replies while the connection has room. It is called again when there is room again, if `wantsRoom`.
    func resume()
    /// True if the stream has stopped because the connection had no room.
    var wantsRoom: Bool { get }
    /// Called when the client no longer reads.
    func readerLeft()
}

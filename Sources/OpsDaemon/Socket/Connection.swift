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
    /// The call whose replies go on; it produces while the output has room.
    private(set) var stream: (any ReplyStream)?
    /// Calls taken whose answer waits for the end of the turn.
    private var unanswered = 0
    private var isHandling = false
    /// The unfinished call, or the large message being read, that delays the next call.
    private var holder: AnyObject?
    /// The last reply of all, when the owed ones have been made.
    private var finalReply: [UInt8]?
    /// The last look at the input found a message, so another may be behind it.
    private var mayHoldMore = false
    /// The client will send no more, but may still read.
    private var inputHasEnded = false
    private(set) var isClosed = false
    /// A submission that comes in parts.
    var parts: SubmissionParts? {
        didSet { if parts != nil { server.watchIdle() } }
    }
    /// Arrival of an incomplete message, if there is one.
    private var incompleteSince: Int64?
    /// The last time that some of the answers were taken that wait, if any do.
    private var unreadSince: Int64?

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

    /// True if another reply may be made without piling up.
    var hasRoom: Bool { output.count < DaemonLimits.outputBytes }
    var hasDrained: Bool { output.isEmpty }
    /// The first of what the client is to move on, and since when it has not.
    var idle: (since: Int64, Idleness)? {
        var owed: [(since: Int64, Idleness)] = []
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
            // Bytes that came before the end count: there may be nothing but a one-way call.
            read()
        } else if readiness.contains(.hungUp) || readiness.contains(.error) {
            close()
        }
    }

    /// Takes what has come, if anything has.
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
                return refuse(Reply.frame(ControlError.tooLarge(what: "message", limit: error.limit)))
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

    /// A message that cannot be read ends the input: where the next one begins is not known.
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

    /// No further call is taken until `letGo` of the same.
    func pauseReading(for holder: AnyObject) { self.holder = holder }

    /// Releases the connection for a holder. Does nothing for a holder that holds nothing.
    func resumeReading(for holder: AnyObject) {
        guard self.holder === holder else { return }
        self.holder = nil
        stream = nil
        if !isClosed { server.continueLater(self) }
    }

    /// One more call whose answer is to come, or one less.
    func expectAnswer() { unanswered += 1 }

    func answered() {
        precondition(unanswered > 0, "every call is answered once")
        unanswered -= 1
        parts?.touch()
        // It stopped at the limit, and one-way calls bring no flush that would go on.
        if unanswered == DaemonLimits.unanswered - 1, mayHoldMore { server.continueLater(self) }
        sendFinalReply()
    }

    /// A client that closed its sending half is served until all it asked is answered.
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

    /// Bytes of a reply; they leave at the end of the turn.
    func send(_ bytes: [UInt8]) {
        guard !isClosed else { return }
        output.append(bytes)
        share.set(held)
        if !isWaitingForFlush {
            isWaitingForFlush = true
            server.flushAtEndOfTurn(self)
        }
    }

    /// Writes what the kernel takes, then lets a stream go on.
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
        // While a call goes on only the reader's departure is of interest, and a little of what it sends ahead.
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

    /// The reason goes as far as the kernel takes it: a client that does not read gets none. Nor does one that waits for
    /// an answer, which it would take this for.
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
        // The call that goes on keeps this connection, and must not be kept by it: it may never be answered.
        holder = nil
        ended?.readerLeft()
        server.forget(self)
    }
}

/// A call whose replies go on after its turn.
protocol ReplyStream: AnyObject {
    /// Makes replies while the connection has room; called again when it has room again and this is wanted.
    func resume()
    /// It stopped because the connection had no room.
    var wantsRoom: Bool { get }
    /// Called when the client no longer reads.
    func readerLeft()
}

internal import OpsSystem
public import OpsWire

/// One session with opsd over its socket. Replies arrive in the order of the calls.
///
/// Calls block. A program that also waits for other descriptors polls `descriptor`, and then calls
/// `ReplyStream.receive`.
public final class Connection {
    private let socket: Descriptor
    private var frames = FrameDecoder(limit: .max)
    /// Size of the next read: small for a single reply, as most calls get, and larger while more arrives.
    private var readSize = 1 << 13
    /// Instant at which calls and streams stop waiting for a reply; nil for never.
    public var deadline: MonotonicInstant?

    /// Connects to the daemon that listens at a path. `SocketPath` finds the path.
    public init(path: String) throws(ClientError) {
        do throws(SystemError) {
            socket = try UnixSocket.connect(to: path)
        } catch {
            throw .unreachable(path: path, errno: error.errno)
        }
    }

    /// Connects to the daemon of another host, and waits until it answers.
    ///
    /// - Parameter isSilent: True if ssh should write no messages.
    public init(host: RemoteHost, isSilent: Bool = false) throws(ClientError) {
        let companion: Companion
        do throws(SystemError) {
            let started = try Companion.start(host.command, silent: isSilent)
            companion = started.companion
            socket = Descriptor(owning: started.socket)
        } catch {
            throw .unreachableHost(host.name, .notStarted(errno: error.errno))
        }
        do throws(ClientError) {
            try send(Call.frame(GetInfoRequest()))
            guard try nextReply(milliseconds: Int32(1000 * host.patience)) != nil else {
                _ = companion.end()
                throw .unreachableHost(host.name, .silent(seconds: host.patience))
            }
        } catch {
            guard case .lost = error else { throw error }
            throw .unreachableHost(host.name, .ended(status: companion.end()))
        }
    }

    /// Returns the next reply; nil if none arrives within this time.
    fileprivate func nextReply(milliseconds: Int32) throws(ClientError) -> ReceivedReply? {
        let end = Clock.read().monotonic + .milliseconds(Int64(milliseconds))
        while true {
            if let reply = try arrivedReply() { return reply }
            let left = Int32(max(0, (end - Clock.read().monotonic).milliseconds))
            do throws(SystemError) {
                guard try socket.waitUntil(.readable, milliseconds: left) else { return nil }
            } catch {
                throw .lost(errno: error.errno)
            }
            try receive()
        }
    }

    public var descriptor: Int32 { socket.rawValue }

    /// True if the daemon has closed its end; false while a reply may come.
    var isClosed: Bool {
        get throws(ClientError) {
            do throws(SystemError) { return try socket.waitUntil(.readable, milliseconds: 0) } catch {
                throw .lost(errno: error.errno)
            }
        }
    }

    /// Calls a method and returns its reply.
    public func call<Request: WireRequest>(_ request: Request) throws(ClientError) -> Request.Reply {
        try reply(to: Call.frame(request))
    }

    /// Sends the message of a call and returns its reply.
    func reply<Reply: WireRecord>(to message: [UInt8]) throws(ClientError) -> Reply {
        try send(message)
        return try nextReply().decoded()
    }

    /// Calls a method that returns a stream of replies.
    public func stream<Request: WireRequest>(_ request: Request) throws(ClientError) -> ReplyStream<Request.Reply> {
        try send(Call.frame(request, more: true))
        return ReplyStream(self)
    }

    private func send(_ message: [UInt8]) throws(ClientError) {
        do throws(SystemError) {
            // A daemon that has refused and closed the connection may have sent the reason, which can still be read.
            _ = try socket.writeAll(message)
        } catch {
            throw .lost(errno: error.errno)
        }
    }

    /// Waits for the next reply that is not an error, and returns it.
    fileprivate func nextReply() throws(ClientError) -> ReceivedReply {
        while true {
            if let reply = try arrivedReply() { return reply }
            try receive()
        }
    }

    /// Returns the next reply if it has arrived completely.
    fileprivate func arrivedReply() throws(ClientError) -> ReceivedReply? {
        let reply: ReceivedReply
        do {
            guard let message = try frames.next() else { return nil }
            reply = try ReceivedReply(frame: message, isTolerant: true)
        } catch {
            throw .noMessage
        }
        if let failure = reply.failure { throw .refused(failure) }
        return reply
    }

    /// Waits until bytes arrive and reads them.
    fileprivate func receive() throws(ClientError) {
        // A process that blocks in `read` would also be woken when the daemon reads, which slows the daemon down.
        guard try waitForBytes() else { throw .timedOut }
        var bytes: [UInt8] = []
        let transfer: Transfer
        do throws(SystemError) {
            transfer = try socket.read(atMost: readSize, onto: &bytes)
        } catch {
            throw .lost(errno: error.errno)
        }
        if case .ended = transfer { throw .lost(errno: nil) }
        if bytes.count == readSize { readSize = min(2 * readSize, 1 << 17) }
        frames.append(bytes)
    }

    /// Waits until bytes arrive; returns false if none do before the deadline.
    private func waitForBytes() throws(ClientError) -> Bool {
        do throws(SystemError) {
            guard let deadline else { return try socket.waitUntil(.readable) }
            repeat {
                let left = Int32(clamping: max(0, (deadline - Clock.read().monotonic).milliseconds))
                if try socket.waitUntil(.readable, milliseconds: left) { return true }
            } while Clock.read().monotonic < deadline
            return false
        } catch {
            throw .lost(errno: error.errno)
        }
    }
}

/// Replies to one call, in the order in which they arrive.
public struct ReplyStream<Reply: WireRecord> {
    public let connection: Connection
    /// True after the last reply has been returned.
    public private(set) var isOver = false

    fileprivate init(_ connection: Connection) { self.connection = connection }

    public var descriptor: Int32 { connection.descriptor }

    /// Waits for the next reply and returns it; nil after the last one.
    public mutating func next() throws(ClientError) -> Reply? {
        isOver ? nil : try decode(try connection.nextReply())
    }

    /// Returns the next reply; nil if none arrives within this time, or after the last one.
    mutating func next(within milliseconds: Int32) throws(ClientError) -> Reply? {
        guard !isOver, let reply = try connection.nextReply(milliseconds: milliseconds) else { return nil }
        return try decode(reply)
    }

    /// Waits until bytes arrive and reads them; `arrived` returns the completed replies.
    public func receive() throws(ClientError) { try connection.receive() }

    /// Returns the next reply if it has arrived completely.
    public mutating func arrived() throws(ClientError) -> Reply? {
        guard !isOver, let reply = try connection.arrivedReply() else { return nil }
        return try decode(reply)
    }

    private mutating func decode(_ reply: ReceivedReply) throws(ClientError) -> Reply {
        isOver = !reply.continues
        return try reply.decoded()
    }
}

extension ReceivedReply {
    fileprivate func decoded<Result: WireRecord>() throws(ClientError) -> Result {
        do throws(InvalidParameter) { return try result() } catch { throw .wrongReply(error) }
    }
}

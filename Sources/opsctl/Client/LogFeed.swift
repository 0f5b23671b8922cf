internal import OpsClient
internal import OpsWire

/// Output of one operation, attempt after attempt, over a connection of its own.
///
/// It knows the attempt and the offset that it has reached, so it can continue after a restart of the daemon.
final class LogFeed {
    struct Request {
        var errors = false
        /// The only attempt to read; nil for all.
        var attempt: Int?
        /// Number of last lines to read from the first attempt that is read.
        var lines: Int?
        /// Instant at or after which lines must have been written, in every attempt.
        var since: Instant?
        /// Instant at or before which lines must have been written.
        var until: Instant?
        /// True to get the time of each line.
        var wantsTimes = false
        /// Pattern that lines must match.
        var pattern: LinePattern?
        var follows = false
    }

    private let session: Session
    private let request: Request
    let id: Int64
    let name: String?
    let graph: String
    private var attempt: Int
    /// The last attempt to read; nil to read until the operation has ended.
    private let lastAttempt: Int?
    /// True if an operation whose output goes elsewhere, and so has no log, is not an error.
    private let isOptional: Bool
    private let isShared: Bool
    private var mask: SecretMask
    private var offset: Int64?
    /// Offset at the time when the connection was opened.
    private var firstOffset: Int64?
    private var replies: ReplyStream<LogReply>?
    private(set) var isOpen = true

    /// Reads the newest attempt, or those that `request` asks for, of the operation that `ref` currently names.
    ///
    /// - Parameter isShared: True to use the connection of all calls, for feeds that are read one after the other.
    init(
        _ session: Session, _ ref: String, _ request: Request, isOptional: Bool = false, isShared: Bool = false
    ) throws(Failure) {
        self.session = session
        self.isShared = isShared
        self.request = request
        let reply = try session.call(ShowRequest.with { $0.ref = ref })
        id = reply.operation.id
        name = reply.operation.name
        graph = reply.operation.graph
        mask = SecretMask(reply.details.secrets, directory: reply.operation.directory)
        let newest = reply.operation.attempt
        var first = max(1, newest)
        if let since = request.since {
            let isWanted = { (attempt: AttemptRow) in attempt.finishedAt.instant.map { $0 >= since } ?? true }
            first = reply.attempts.first(where: isWanted)?.attempt ?? newest + 1
        }
        attempt = request.attempt ?? first
        self.isOptional = isOptional
        // Without -f, the log ends with the newest attempt. A group has no attempts; the daemon refuses it.
        lastAttempt = request.attempt ?? (request.follows ? nil : max(newest, request.since == nil ? 1 : 0))
        isOpen = lastAttempt.map { attempt <= $0 } ?? true
        if isOpen { try open() }
    }

    /// Reads the only operation of a new submission from its first attempt on.
    ///
    /// - Parameter hasSecrets: True if its output is masked.
    init(_ session: Session, id: Int64, errors: Bool, hasSecrets: Bool) throws(Failure) {
        self.session = session
        request = Request(errors: errors, follows: true)
        (self.id, name, graph) = (id, nil, "")
        (attempt, lastAttempt, isOptional, isShared) = (1, nil, true, false)
        let shown = try hasSecrets ? session.call(ShowRequest.with { $0.ref = "\(id)" }) : nil
        mask = SecretMask(shown?.details.secrets, directory: shown?.operation.directory)
        try open()
    }

    /// Descriptor to wait for; -1 if no more output will come.
    var descriptor: Int32 { isOpen ? replies?.descriptor ?? -1 : -1 }

    /// Waits for the next pieces and passes them to `each`. With -f, a restart of the daemon is survived.
    func read(_ each: (LogReply, [UInt8]) throws(Failure) -> Void) throws(Failure) {
        guard isOpen else { return }
        do throws(Failure) {
            try session.speaking { () throws(ClientError) in try replies?.receive() }
            while isOpen, let reply = try session.speaking({ () throws(ClientError) in try replies?.arrived() }) {
                try take(reply, each)
            }
        } catch {
            // If a pager pauses for a long time, the daemon closes the connection.
            guard error.isLoss, request.follows || offset != firstOffset else { return try end(with: error) }
            try session.awaitReturn(after: error)
            try open()
        }
    }

    private func take(_ reply: LogReply, _ each: (LogReply, [UInt8]) throws(Failure) -> Void) throws(Failure) {
        let data = Base64.decode(reply.data) ?? []
        if !data.isEmpty {
            tellGap(before: reply.offset)
            offset = reply.offset + Int64(data.count)
            try show(mask.take(data), of: reply, each)
        }
        guard replies?.isOver ?? true else { return }
        try show(mask.finish(), of: reply, each)
        if let lastAttempt, attempt >= lastAttempt {
            isOpen = false
        } else {
            attempt += 1
            offset = 0
            let next = demand
            replies = try session.speaking { () throws(ClientError) in try replies?.connection.stream(next) }
        }
    }

    private func show(
        _ data: [UInt8], of reply: LogReply, _ each: (LogReply, [UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        if data.isEmpty { return }
        if mask.isEmpty { return try each(reply, data) }
        var masked = reply
        masked.data = Base64.encode(data)
        try each(masked, data)
    }

    /// Reports bytes that were dropped because of the limit of the log, at their position in the output.
    private func tellGap(before place: Int64) {
        let expected = offset ?? (request.lines == nil ? 0 : place)
        guard place > expected, !session.wantsJSON else { return }
        StandardError.line("opsctl: operation \(id): \(place - expected) bytes of its output were dropped (log-limit)")
    }

    /// Ends the feed if the failure says that the operation has ended and has no further attempt.
    private func end(with failure: Failure) throws(Failure) {
        let isEnd = failure.status == .notFound && (request.attempt == nil || isOptional)
        // An error such as too many connections must not shorten the output.
        guard !failure.isBusy, isEnd || isOptional && failure.status == .refused else { throw session.named(failure) }
        isOpen = false
    }

    private func open() throws(Failure) {
        firstOffset = offset
        replies = try isShared ? session.openShared(demand) : session.open(demand)
    }

    private var demand: LogRequest {
        .with {
            $0.ref = "\(id)"
            $0.attempt = attempt
            $0.stderr = request.errors.ifTrue
            $0.lines = offset == nil ? request.lines : nil
            $0.offset = offset
            $0.since = request.since?.rfc3339
            $0.until = request.until?.rfc3339
            $0.times = request.wantsTimes.ifTrue
            $0.follow = request.follows.ifTrue
        }
    }
}

internal import OpsClient
internal import OpsWire

/// Output of one operation, attempt after attempt, over a connection of its own.
///
/// It knows which attempt it reads and how far it has come, so a daemon that was away is asked for the rest.
final class LogFeed {
    struct Request {
        var errors = false
        /// This attempt alone.
        var attempt: Int?
        /// The last so many lines of the first attempt that is read.
        var lines: Int?
        /// Lines that were written at this time or later, of every attempt.
        var since: Instant?
        /// Lines that were written at this time or earlier.
        var until: Instant?
        /// The time of each line is wanted.
        var wantsTimes = false
        /// Lines in which this is found.
        var pattern: LinePattern?
        var follows = false
    }

    private let session: Session
    private let request: Request
    let id: Int64
    let name: String?
    let graph: String
    private var attempt: Int
    /// The last attempt to read; nil: until the operation has ended.
    private let lastAttempt: Int?
    /// An output that goes elsewhere has no log, and its reader does not mind.
    private let isOptional: Bool
    private let isShared: Bool
    private var mask: SecretMask
    private var offset: Int64?
    /// The same when the connection was opened.
    private var firstOffset: Int64?
    private var replies: ReplyStream<LogReply>?
    private(set) var isOpen = true

    /// The newest attempt, or what `request` asks for, of the operation that `ref` names now.
    ///
    /// `isShared`: over the connection of all calls, for feeds that are read one after the other.
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
        // Without following, the log ends with the newest attempt. A group has no attempts, and the daemon refuses it.
        lastAttempt = request.attempt ?? (request.follows ? nil : max(newest, request.since == nil ? 1 : 0))
        isOpen = lastAttempt.map { attempt <= $0 } ?? true
        if isOpen { try open() }
    }

    /// The only operation of a submission just made, from its first attempt on. `hasSecrets`: its output is masked.
    init(_ session: Session, id: Int64, errors: Bool, hasSecrets: Bool) throws(Failure) {
        self.session = session
        request = Request(errors: errors, follows: true)
        (self.id, name, graph) = (id, nil, "")
        (attempt, lastAttempt, isOptional, isShared) = (1, nil, true, false)
        let shown = try hasSecrets ? session.call(ShowRequest.with { $0.ref = "\(id)" }) : nil
        mask = SecretMask(shown?.details.secrets, directory: shown?.operation.directory)
        try open()
    }

    /// To wait for; -1 when nothing more will come.
    var descriptor: Int32 { isOpen ? replies?.descriptor ?? -1 : -1 }

    /// Waits for the next pieces and passes them to `each`; a feed that follows outlives a restart of the daemon.
    func read(_ each: (LogReply, [UInt8]) throws(Failure) -> Void) throws(Failure) {
        guard isOpen else { return }
        do throws(Failure) {
            try session.speaking { () throws(ClientError) in try replies?.receive() }
            while isOpen, let reply = try session.speaking({ () throws(ClientError) in try replies?.arrived() }) {
                try take(reply, each)
            }
        } catch {
            // A pager that rests for long lets the daemon end the connection.
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

    /// Names the bytes that the cap took away where they were: the gap is no end and no beginning.
    private func tellGap(before place: Int64) {
        let expected = offset ?? (request.lines == nil ? 0 : place)
        guard place > expected, !session.wantsJSON else { return }
        StandardError.line("opsctl: operation \(id): \(place - expected) bytes of its output were dropped (log-limit)")
    }

    /// Ends the feed, if the failure says that the operation has ended and has no further attempt.
    private func end(with failure: Failure) throws(Failure) {
        let isEnd = failure.status == .notFound && (request.attempt == nil || isOptional)
        // Too many connections, for one, are no reason to show less.
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

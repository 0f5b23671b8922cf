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

        /// True if lines of all attempts are selected, unless one attempt is named.
        var selectsAllAttempts: Bool { since != nil || until != nil || pattern != nil && lines == nil }
    }

    private let session: Session
    private let request: Request
    let id: Int64
    let name: String?
    let graph: String
    private var attempt: Int
    private let firstAttempt: Int
    /// The last attempt to read; nil to read until the operation has ended.
    private let lastAttempt: Int?
    /// True if an operation whose output goes elsewhere, and so has no log, is not an error.
    private let isOptional: Bool
    private let isShared: Bool
    private var mask: SecretMask
    /// Offset that is to be read next; nil if the daemon finds the beginning of the selection.
    private var offset: Int64?
    /// True if output of the attempt has been read.
    private var hasOutput = false
    /// True if output has been read since the connection was opened.
    private var hasAdvanced = false
    private var replies: ReplyStream<LogReply>?
    private(set) var isOpen = true
    /// True if the log was left out because it belongs to another user.
    private(set) var isDenied = false

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
        if request.selectsAllAttempts {
            let isWanted = { (attempt: AttemptRow) in
                guard let since = request.since, let end = attempt.finishedAt.instant else { return true }
                return end >= since
            }
            first = reply.attempts.first(where: isWanted)?.attempt ?? newest + 1
        }
        firstAttempt = request.attempt ?? first
        attempt = firstAttempt
        self.isOptional = isOptional
        // Without -f, the log ends with the newest attempt. A group has no attempts; the daemon refuses it.
        lastAttempt = request.attempt ?? (request.follows ? nil : max(newest, request.selectsAllAttempts ? 0 : 1))
        isOpen = lastAttempt.map { attempt <= $0 } ?? true
        guard isOpen else { return }
        do throws(Failure) { try open() } catch { try end(with: error) }
    }

    /// Reads the log of one of several selected operations. A log that does not exist, or that belongs to another user,
    /// is left out. Returns nil if the operation was removed after it was selected.
    static func ofSelected(
        _ session: Session, _ id: Int64, _ request: Request, isShared: Bool = false
    ) throws(Failure) -> LogFeed? {
        do throws(Failure) {
            return try LogFeed(session, "\(id)", request, isOptional: true, isShared: isShared)
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }

    /// Reads the only operation of a new submission from its first attempt on.
    ///
    /// - Parameter hasSecrets: True if its output is masked.
    init(_ session: Session, id: Int64, errors: Bool, hasSecrets: Bool) throws(Failure) {
        self.session = session
        request = Request(errors: errors, follows: true)
        (self.id, name, graph) = (id, nil, "")
        (attempt, firstAttempt, lastAttempt, isOptional, isShared) = (1, 1, nil, true, false)
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
                try handle(reply, each)
            }
        } catch {
            // If a pager pauses for a long time, the daemon closes the connection.
            guard error.isLoss, request.follows || hasAdvanced else { return try end(with: error) }
            try session.awaitReturn(after: error)
            try open()
        }
    }

    private func handle(_ reply: LogReply, _ each: (LogReply, [UInt8]) throws(Failure) -> Void) throws(Failure) {
        let data = Base64.decode(reply.data) ?? []
        if !data.isEmpty {
            reportGap(before: reply)
            let isFirst = !hasOutput && reply.offset > 0 && reply.offset == reply.dropped
            let isCut = isFirst || reply.offset > offset ?? reply.offset
            offset = reply.offset + Int64(data.count)
            (hasOutput, hasAdvanced) = (true, true)
            try show(mask.add(data, at: reply.offset, isCut: isCut), of: reply, each)
        }
        guard replies?.isOver ?? true else { return }
        try showRest(of: reply, each)
        if let lastAttempt, attempt >= lastAttempt {
            isOpen = false
        } else {
            attempt += 1
            (offset, hasOutput, hasAdvanced) = (nil, false, true)
            mask.begin(selectingFrom: 0)
            try findSelection()
            let next = demand
            replies = try session.speaking { () throws(ClientError) in try replies?.connection.stream(next) }
        }
    }

    private func show(
        _ piece: SecretMask.Piece, of reply: LogReply, _ each: (LogReply, [UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        if piece.bytes.isEmpty { return }
        if mask.isEmpty { return try each(reply, piece.bytes) }
        var masked = reply
        masked.offset = piece.offset
        masked.data = Base64.encode(piece.bytes)
        try each(masked, piece.bytes)
    }

    /// Shows the output that was held back because it may be the beginning of a secret, unless it still may be. The
    /// rest of the secret may be after the selection.
    private func showRest(
        of reply: LogReply, _ each: (LogReply, [UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        guard mask.holdsBack else { return }
        // Asked before the rest is read, since the log of an attempt that has ended does not grow.
        let mayGrow = request.follows ? false : try isRunning()
        if let offset { mask.endSelection(at: offset) }
        while mask.holdsBack {
            let rest = try session.call(
                LogRequest.with {
                    $0.ref = "\(id)"
                    $0.attempt = attempt
                    $0.stderr = request.errors.ifTrue
                    $0.offset = mask.end
                })
            guard let data = Base64.decode(rest.data), !data.isEmpty else { break }
            let isCut = rest.offset > mask.end
            try show(mask.add(data, at: rest.offset, isCut: isCut), of: reply, each)
        }
        try show(mask.finish(mayGrow ? .growing : .final), of: reply, each)
    }

    private func isRunning() throws(Failure) -> Bool {
        let attempts = try session.call(ShowRequest.with { $0.ref = "\(id)" }).attempts
        return attempts.contains { $0.attempt == attempt && $0.finishedAt == nil }
    }

    /// Finds the offset at which the selection begins, if output is masked, so that it is read from an earlier offset
    /// on: a secret may begin before the selection and end in it.
    private func findSelection() throws(Failure) {
        guard offset == nil, !mask.isEmpty, maySkipOutput else { return }
        var question = demand
        question.follow = nil
        question.times = nil
        do throws(Failure) {
            let first = try session.call(question)
            reportGap(before: first)
            mask.begin(selectingFrom: first.offset)
            offset = max(0, first.offset - Int64(mask.reach))
        } catch {
            // The attempt has not started, so all of its output will be selected.
            guard error.status == .notFound else { throw error }
            offset = 0
        }
    }

    /// True if the selection may begin after the first byte of the log.
    private var maySkipOutput: Bool { lines != nil || request.since != nil }

    /// Number of last lines to read of this attempt.
    private var lines: Int? { attempt == firstAttempt ? request.lines : nil }

    /// Reports bytes that were dropped because of the limit of the log, at their position in the output.
    private func reportGap(before reply: LogReply) {
        let missing =
            if let offset {
                reply.offset - max(offset, mask.selectionStart)
            } else if lines == nil, reply.offset == reply.dropped {
                reply.offset
            } else {
                Int64(0)
            }
        guard missing > 0, !session.wantsJSON else { return }
        StandardError.line("opsctl: operation \(id): \(missing) bytes of its output were dropped (log-limit)")
    }

    /// Ends the feed if the failure says that the operation has ended and has no further attempt.
    private func end(with failure: Failure) throws(Failure) {
        let isEnd = failure.status == .notFound && (request.attempt == nil || isOptional)
        // An error such as too many connections must not shorten the output.
        guard !failure.isBusy, isEnd || isOptional && failure.status == .refused else { throw session.named(failure) }
        (isOpen, isDenied) = (false, failure.isDenied)
    }

    private func open() throws(Failure) {
        hasAdvanced = false
        try findSelection()
        replies = try isShared ? session.openShared(demand) : session.open(demand)
    }

    private var demand: LogRequest {
        .with {
            $0.ref = "\(id)"
            $0.attempt = attempt
            $0.stderr = request.errors.ifTrue
            $0.lines = offset == nil ? lines : nil
            $0.offset = offset
            $0.since = offset == nil || mask.isEmpty ? request.since?.rfc3339 : nil
            $0.until = request.until?.rfc3339
            $0.times = request.wantsTimes.ifTrue
            $0.follow = request.follows.ifTrue
        }
    }
}

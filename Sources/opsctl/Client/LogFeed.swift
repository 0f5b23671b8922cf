internal import OpsWire

/// What one operation writes, attempt after attempt, over a connection of its own.
///
/// It knows which attempt it reads and how far it has come, so a daemon that was away is asked for the rest.
final class LogFeed {
    struct Request {
        var errors = false
        /// This attempt alone.
        var attempt: Int?
        /// The last so many lines of the first attempt that is read.
        var lines: Int?
        /// Every attempt that was going on at this time, or began later.
        var since: Instant?
        var follows = false
    }

    private let session: Session
    private let request: Request
    let id: Int
    let name: String?
    let graph: String
    private var attempt: Int
    /// The last attempt to read; nil: until the operation has ended.
    private let lastAttempt: Int?
    /// An output that goes elsewhere has no log, and its reader does not mind.
    private let isOptional: Bool
    private var offset: Int?
    /// The same when the connection was opened.
    private var firstOffset: Int?
    private var connection: Connection?
    private(set) var isOpen = true

    /// The newest attempt, or what `request` asks for, of the operation that `ref` names now.
    init(_ session: Session, _ ref: String, _ request: Request, isOptional: Bool = false) throws(Failure) {
        self.session = session
        self.request = request
        let reply = try session.call("Show") { $0.member("ref", ref) }
        let operation = reply["operation"]
        id = operation?["id"]?.integer ?? 0
        name = operation?["name"]?.text
        graph = operation?["graph"]?.text ?? ""
        let newest = operation?["attempt"]?.integer ?? 0
        var first = max(1, newest)
        if let since = request.since {
            let attempts = reply["attempts"]?.elements ?? []
            let isWanted = { (attempt: JSONView) in attempt["finishedAt"]?.instant.map { $0 >= since } ?? true }
            first = attempts.first(where: isWanted)?["attempt"]?.integer ?? newest + 1
        }
        attempt = request.attempt ?? first
        self.isOptional = isOptional
        // What is not followed ends with what there is; a group has no attempts, and the daemon's word on that.
        lastAttempt = request.attempt ?? (request.follows ? nil : max(newest, request.since == nil ? 1 : 0))
        isOpen = lastAttempt.map { attempt <= $0 } ?? true
        if isOpen { try open() }
    }

    /// The only operation of a submission just made, from its first attempt on.
    init(_ session: Session, id: Int, errors: Bool) throws(Failure) {
        self.session = session
        request = Request(errors: errors, follows: true)
        (self.id, name, graph) = (id, nil, "")
        (attempt, lastAttempt, isOptional) = (1, nil, true)
        try open()
    }

    /// To wait for; -1 when nothing more will come.
    var descriptor: Int32 { isOpen ? connection?.descriptor ?? -1 : -1 }

    /// Waits for the next piece and gives it to `each`; followed ones outlive a restart of the daemon.
    func read(_ each: (JSONView, [UInt8]) throws(Failure) -> Void) throws(Failure) {
        guard isOpen, let connection else { return }
        do throws(Failure) {
            guard try connection.fill() else { throw Refusal.lost(nil) }
            while isOpen, let reply = try connection.takeReply() { try take(reply, each) }
        } catch {
            // A pager that rests for long lets the daemon end the connection.
            guard error.isLoss, request.follows || offset != firstOffset else { return try end(with: error) }
            try session.awaitReturn(after: error)
            try open()
        }
    }

    private func take(_ reply: Connection.Reply, _ each: (JSONView, [UInt8]) throws(Failure) -> Void) throws(Failure) {
        let data = reply.parameters["data"]?.text.flatMap { Base64.decode($0) } ?? []
        if !data.isEmpty {
            tellGap(before: reply.parameters["offset"]?.integer ?? 0)
            offset = (reply.parameters["offset"]?.integer ?? offset ?? 0) + data.count
            try each(reply.parameters, data)
        }
        guard !reply.continues else { return }
        if let lastAttempt, attempt >= lastAttempt {
            isOpen = false
        } else {
            attempt += 1
            offset = 0
            try ask()
        }
    }

    /// What the cap has taken away is no end and no beginning: it is named where it was.
    private func tellGap(before place: Int) {
        let expected = offset ?? (request.lines == nil ? 0 : place)
        guard place > expected, !session.wantsJSON else { return }
        StandardError.line("opsctl: operation \(id): \(place - expected) bytes of its output were dropped (log-limit)")
    }

    /// After the last attempt of an operation that has ended there is none.
    private func end(with failure: Failure) throws(Failure) {
        let isEnd = failure.status == .notFound && (request.attempt == nil || isOptional)
        guard isEnd || isOptional && failure.status == .refused else { throw session.named(failure) }
        isOpen = false
    }

    private func open() throws(Failure) {
        connection = try session.connect()
        firstOffset = offset
        try ask()
    }

    private func ask() throws(Failure) {
        try connection?.send(
            "Log", more: true,
            parameters: JSONWriter.object {
                $0.member("ref", "\(id)")
                $0.member("attempt", attempt)
                $0.member("stderr", request.errors)
                $0.member("lines", offset == nil ? request.lines : nil)
                $0.member("offset", offset)
                $0.member("follow", request.follows)
            })
    }
}

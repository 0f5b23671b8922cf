internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Sends the output of an operation to a client: the present output and, if the client follows it, all until the end.
final class LogStream: ReplyStream, Follower {
    struct Request {
        let operation: OperationID
        /// User whose processes write to the log.
        let user: UInt32
        /// Number of the attempt; nil: the newest one and, if the client follows the output, later ones.
        let attempt: Int32?
        let stream: Logs.Stream
        let offset: Int64
        let lines: Int?
        let window: LogReader.Window
        let wantsTimes: Bool
        let follows: Bool
    }

    /// Part of a log that was read outside the loop.
    private struct Part: Sendable {
        let reader: LogReader
        let bytes: [UInt8]
        let times: [LogTime]?

        /// Reads the next part of a log.
        init(of reader: LogReader, withTimes: Bool) throws(SystemError) {
            self.reader = reader
            var bytes = try reader.next()
            times = withTimes && !bytes.isEmpty ? try reader.times(of: &bytes) : nil
            self.bytes = bytes
        }
    }

    private let threads: UserThreads
    private let logs: Logs
    private let fileWatch: FileWatch
    private let history: History
    private unowned let publisher: Publisher
    private let exchange: Exchange
    private let request: Request
    /// The attempt that is being read; 0: none has started.
    private var current: Int32
    /// Reader of the log of that attempt; nil if the log was not opened yet.
    private var reader: LogReader?
    /// True while the next part is being read outside the loop.
    private var isReading = false
    /// True if something has changed since that read was requested: it may find less than there is now.
    private var isStale = false
    private var watched: FileWatch.Token?
    /// Newest attempt of the operation; 0: none has started.
    private var newest: Int32
    /// Newest attempt, if it comes after the one that is being read and the client wants it too.
    private var newer: Int32? { request.attempt == nil && newest > current ? newest : nil }
    /// True if nothing more will be written to the log that is being read.
    private var attemptHasEnded: Bool
    private var operationHasEnded: Bool
    private var isOver = false
    private var hasReplied = false
    private(set) var wantsRoom = false

    init(
        _ exchange: Exchange, _ request: Request, current: Int32, newest: Int32, attemptHasEnded: Bool,
        operationHasEnded: Bool, threads: UserThreads, logs: Logs, fileWatch: FileWatch, history: History,
        publisher: Publisher
    ) {
        self.exchange = exchange
        self.request = request
        self.threads = threads
        self.logs = logs
        self.fileWatch = fileWatch
        self.history = history
        self.publisher = publisher
        self.current = current
        self.newest = newest
        self.attemptHasEnded = attemptHasEnded
        self.operationHasEnded = operationHasEnded
    }

    func resume() {
        guard !isOver, !exchange.isAbandoned else { return }
        wantsRoom = false
        isStale = isReading
        if !isReading { failOnError(readOn) }
    }

    private func failOnError(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            leave()
            exchange.fail(
                ControlError.wrongState(id: request.operation.rawValue, message: "cannot read its log: \(error)"))
        }
    }

    /// Starts to read the next part, if the connection has room for it.
    private func readOn() throws {
        guard exchange.hasRoom else {
            wantsRoom = true
            return
        }
        guard current > 0 else { return try handleEnd() }
        let open = try opener()
        let wantsTimes = request.wantsTimes
        let read: @Sendable () -> Result<Part?, any Error> = {
            Result {
                guard let reader = try open() else { return nil }
                return try Part(of: reader, withTimes: wantsTimes)
            }
        }
        try threads.run(read, for: request.user, ownedBy: self) { [weak self] result in self?.handle(result) }
        isReading = true
        isStale = false
    }

    /// Returns a function that returns the reader of the current log, and opens the log if needed; it returns nil if
    /// there is no log (yet).
    private func opener() throws -> @Sendable () throws -> LogReader? {
        if let reader { return { reader } }
        let attempt = AttemptID(request.operation, current)
        let path = logs.path(attempt, request.stream)
        // Offset and number of lines apply to the first attempt alone.
        let offset = hasReplied ? 0 : request.offset
        let lines = hasReplied ? nil : request.lines
        var window = request.window
        if window.since != nil || window.until != nil || request.wantsTimes {
            window.start = try history.start(of: attempt) ?? .zero
        }
        return { [window] in try LogReader.open(path, offset: offset, lines: lines, window: window) }
    }

    /// Sends a part, and continues.
    private func handle(_ result: Result<Part?, any Error>) {
        isReading = false
        guard !isOver, !exchange.isAbandoned else { return }
        failOnError {
            let part = try result.get()
            if let part, reader == nil {
                reader = part.reader
                stopWatching()
            }
            if let part, !part.bytes.isEmpty {
                send(part.bytes, part.times)
                if !isOver { try readOn() }
            } else if isStale {
                try readOn()
            } else {
                try handleEnd()
            }
        }
    }

    /// Continues after everything in the current log was sent.
    private func handleEnd() throws {
        if let newer, attemptHasEnded || reader == nil {
            begin(newer)
            try readOn()
        } else if !request.follows || (operationHasEnded || request.attempt != nil) && attemptHasEnded {
            try finish()
        } else {
            try watch()
        }
    }

    private func begin(_ attempt: Int32) {
        stopWatching()
        current = attempt
        reader = nil
        attemptHasEnded = operationHasEnded
        hasReplied = true
    }

    private func send(_ bytes: [UInt8], _ times: [LogTime]?) {
        var reply = LogReply()
        reply.id = request.operation.rawValue
        reply.attempt = Int(current)
        let end = reader?.offset ?? 0
        reply.offset = end - Int64(bytes.count)
        reply.data = Base64.encode(bytes)
        if let dropped = reader?.dropped, dropped > 0 { reply.dropped = dropped }
        reply.times = times?.map { time in
            .with {
                $0.offset = time.length
                $0.at = InstantText.format(time.at)
            }
        }
        if exchange.call.more {
            hasReplied = true
            exchange.replyAndGoOn(reply)
        } else {
            // A client that does not follow gets one part, and continues at the next offset with another call.
            leave()
            exchange.reply(reply)
        }
    }

    private func finish() throws {
        // The client has waited for an attempt, and the operation has ended without it.
        if let attempt = request.attempt, reader == nil,
            let last = try history.brief(of: request.operation)?.attempt, last < attempt
        {
            leave()
            return exchange.fail(ControlError.notFound(kind: "attempt", name: "\(attempt)", nearest: "\(last)"))
        }
        var reply = LogReply()
        reply.id = request.operation.rawValue
        reply.attempt = Int(current)
        reply.offset = reader?.offset ?? 0
        leave()
        exchange.reply(reply)
    }

    /// Watches the file, or the directory in which it will appear.
    private func watch() throws(SystemError) {
        guard watched == nil, current > 0 else { return }
        let path: String
        if reader == nil {
            try logs.makeDirectory(for: request.operation)
            path = logs.directory(of: request.operation)
        } else {
            path = logs.path(AttemptID(request.operation, current), request.stream)
        }
        watched = try fileWatch.watch(path) { [unowned self] in self.resume() }
        // The file may have appeared or grown before the watch began.
        exchange.resumeLater(self)
    }

    private func stopWatching() {
        if let watched { fileWatch.cancel(watched) }
        watched = nil
    }

    func receive(_ reports: [Report]) {
        guard !isOver else { return }
        var isOurs = false
        for report in reports where report.operation == request.operation {
            isOurs = true
            switch report.kind {
            case .started: noteStart(report)
            // Clients may wait for an attempt after the one that has ended.
            case .retrying, .interrupted: if newest >= current { attemptHasEnded = true }
            case .finished:
                attemptHasEnded = true
                operationHasEnded = true
            case .submitted, .ready, .progress, .produced, .cancelling, .suspended, .resumed, .edited, .conditionFalse,
                .fired, .skipped, .missed, .refused:
                break
            }
        }
        if isOurs { resume() }
    }

    private func noteStart(_ report: Report) {
        let number = report.detail.flatMap { Int32($0) } ?? newest + 1
        newest = max(newest, number)
        if let wanted = request.attempt {
            if number > wanted { attemptHasEnded = true }
            if number == wanted { attemptHasEnded = false }
        } else if current == 0 {
            current = number
            attemptHasEnded = false
        } else if number > current {
            attemptHasEnded = true
        }
    }

    private func leave() {
        isOver = true
        threads.cancel(for: request.user, ownedBy: self)
        stopWatching()
        publisher.remove(self)
    }

    func readerLeft() { leave() }
}

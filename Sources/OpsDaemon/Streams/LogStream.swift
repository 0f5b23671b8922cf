internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Sends the output of an operation to a client: the present output and, if the client follows it, all until the end.
final class LogStream: ReplyStream, Follower {
    struct Request {
        let operation: OperationID
        /// Number of the attempt; nil: the newest one and, if the client follows the output, later ones.
        let attempt: Int32?
        let stream: Logs.Stream
        let offset: Int64
        let lines: Int?
        let window: LogReader.Window
        let wantsTimes: Bool
        let follows: Bool
    }

    private let logs: Logs
    private let fileWatch: FileWatch
    private let history: History
    private unowned let publisher: Publisher
    private let exchange: Exchange
    private let request: Request
    /// The attempt that is being read; 0: none has started.
    private var current: Int32
    private var reader: LogReader?
    private var watched: FileWatch.Token?
    /// The newest attempt after the one that is being read.
    private var newer: Int32?
    /// True if nothing more will be written to the log that is being read.
    private var attemptHasEnded: Bool
    private var operationHasEnded: Bool
    private var isOver = false
    private var hasReplied = false
    private(set) var wantsRoom = false

    init(
        _ exchange: Exchange, _ request: Request, current: Int32, attemptHasEnded: Bool, operationHasEnded: Bool,
        logs: Logs, fileWatch: FileWatch, history: History, publisher: Publisher
    ) {
        self.exchange = exchange
        self.request = request
        self.logs = logs
        self.fileWatch = fileWatch
        self.history = history
        self.publisher = publisher
        self.current = current
        self.attemptHasEnded = attemptHasEnded
        self.operationHasEnded = operationHasEnded
    }

    func resume() {
        guard !isOver, !exchange.isAbandoned else { return }
        wantsRoom = false
        do {
            try readOn()
        } catch {
            leave()
            exchange.fail(
                ControlError.wrongState(id: request.operation.rawValue, message: "cannot read its log: \(error)"))
        }
    }

    private func readOn() throws {
        while !isOver {
            guard exchange.hasRoom else {
                wantsRoom = true
                return
            }
            try openIfNeeded()
            var bytes = try reader?.next() ?? []
            if !bytes.isEmpty {
                let times = request.wantsTimes ? try reader?.times(of: &bytes) : nil
                send(bytes, times)
                continue
            }
            if let newer, attemptHasEnded || reader == nil {
                begin(newer)
            } else if !request.follows || (operationHasEnded || request.attempt != nil) && attemptHasEnded {
                return try finish()
            } else {
                return try watch()
            }
        }
    }

    private func openIfNeeded() throws {
        guard reader == nil, current > 0 else { return }
        let path = logs.path(AttemptID(request.operation, current), request.stream)
        // Offset and number of lines apply to the first attempt alone.
        let isFirst = !hasReplied
        var window = request.window
        if window.since != nil || window.until != nil || request.wantsTimes {
            window.start = try history.start(of: AttemptID(request.operation, current)) ?? .zero
        }
        reader = try LogReader.open(
            path, offset: isFirst ? request.offset : 0, lines: isFirst ? request.lines : nil, window: window)
        if reader != nil { stopWatching() }
    }

    private func begin(_ attempt: Int32) {
        stopWatching()
        current = attempt
        reader = nil
        newer = nil
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
            case .retrying, .interrupted: attemptHasEnded = true
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
        let number = report.detail.flatMap { Int32($0) } ?? current + 1
        if let wanted = request.attempt {
            if number > wanted { attemptHasEnded = true }
            if number == wanted { attemptHasEnded = false }
        } else if current == 0 {
            current = number
            attemptHasEnded = false
        } else if number > current {
            attemptHasEnded = true
            newer = number
        }
    }

    private func leave() {
        isOver = true
        stopWatching()
        publisher.remove(self)
    }

    func readerLeft() { leave() }
}

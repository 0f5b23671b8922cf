internal import OpsDrawing
internal import OpsWire

/// `log`: shows the output of operations.
enum LogVerb {
    static let follow = Option.flag("follow", "f", "follow the output until the operation ends")
    private static let attempt = Option.value(
        "attempt", "N", .integer,
        "output of this attempt (default: the newest; with --since, --until, or --grep without -n: all)")
    private static let stderr = Option.flag("stderr", "standard error, if it is kept apart (output: split)")
    static let lines = Option.value("lines", "n", "N", .integer, "the last N lines")
    private static let since = Option.value("since", "TIME", .past, "lines written at TIME or later")
    private static let until = Option.value("until", "TIME", .past, "lines written at TIME or earlier")
    private static let grep = Option.value(
        "grep", "REGEX", .text, "lines that contain a match of the regular expression, as for grep -E")
    private static let time = Option.flag("time", "print the time at which each line was written before the line")

    static let verb = Verb(
        "log", aliases: ["logs"], .looking, "show the output of operations",
        forms: ["SELECTION [-f] [-n LINES] [--since TIME] [--until TIME] [--grep REGEX] [--time] [--attempt N]"],
        about: [
            "With -f it waits for an operation that has not started, and survives a restart of the daemon. "
                + "Lines from several operations are prefixed with the name.",
            "opsd records the length of each log about once a second, so the time of a line is accurate to "
                + "within a second.",
            "On a terminal, only colours take effect: each other control character and each invisible character is "
                + "shown as a question mark. In the log of one operation, without --grep and --time, carriage returns "
                + "and backspaces take effect, too. A file or a pipe gets the output unchanged.",
        ],
        operands: .any(.operation, "OPERATION"),
        options: [OptionGroup("Reading", [follow, lines, since, until, grep, time, attempt, stderr]), .selection],
        examples: [
            .init("The whole log", "opsctl log build"),
            .init("Follow it, beginning with the last 20 lines", "opsctl log -f -n 20 build"),
            .init("A whole graph while it runs", "opsctl log -f --graph g7"),
            .init("Output of the first attempt", "opsctl log 12 --attempt 1"),
            .init("Lines of the last hour", "opsctl log backup --since 1h"),
            .init("Errors of a graph, with their times", "opsctl log --graph g7 --grep 'error|warning' --time"),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let request = try request(session)
        let selection = try Steering.selection(session)
        let writer = LogLineWriter(session, request)
        guard selection.isBroad else {
            let feed = try LogFeed(session, selection.refs?.first ?? "", request)
            var lines = LogLines()
            var terminal = TerminalOutput(allowsOverwriting: true)
            var attempt: Int?
            var isLineOpen = false
            while feed.isOpen {
                try feed.read { (reply, data) throws(Failure) in
                    if writer.needsLines {
                        try lines.add(reply, data) { (line) throws(Failure) in try writer.write(line, of: feed, "") }
                    } else if session.wantsJSON {
                        try session.row(reply)
                    } else {
                        // An attempt whose last line has no end must not continue in the output of the next one.
                        if isLineOpen, attempt != reply.attempt {
                            try session.output.write(terminal.finish())
                            try session.output.write("\n")
                        }
                        (attempt, isLineOpen) = (reply.attempt, data.last != UInt8(ascii: "\n"))
                        try session.output.write(session.screen.isTerminal ? terminal.add(data) : data)
                    }
                }
                if request.follows { try session.output.flush() }
            }
            try lines.finish { (line) throws(Failure) in try writer.write(line, of: feed, "") }
            try session.output.write(terminal.finish())
            return .done
        }
        // A list of names is short; a broad selection may contain any number of operations.
        if !selection.isListOfNames { return try LogOfSelection(session, selection, request).run() }
        try LogMerge(session, selection.refs ?? [], request).run()
        return .done
    }

    private static func request(_ session: Session) throws(Failure) -> LogFeed.Request {
        let arguments = session.arguments
        for bound in [since, until] where arguments.has(bound) && arguments.has(lines) {
            throw session.refuse("--\(bound.name) and --lines cannot be used together", "leave one out")
        }
        if arguments.has(until), arguments.has(follow) {
            throw session.refuse("--until and --follow cannot be used together", "leave one out")
        }
        var pattern: LinePattern?
        if let expression = arguments.text(grep) {
            switch LinePattern.compile(expression) {
            case .success(let compiled): pattern = compiled
            case .failure(let problem):
                throw session.refuse(
                    "--grep takes a regular expression, not \"\(expression)\": \(problem.text)",
                    "see grep(1), option -E")
            }
        }
        return LogFeed.Request(
            errors: arguments.has(stderr), attempt: arguments.integer(attempt), lines: arguments.integer(lines),
            since: arguments.text(since).flatMap { Instant.past($0, now: .now) },
            until: arguments.text(until).flatMap { Instant.past($0, now: .now) }, wantsTimes: arguments.has(time),
            pattern: pattern, follows: arguments.has(follow))
    }
}

/// Logs of several operations, line by line as they arrive, each line with the name of its operation.
private struct LogMerge {
    private let session: Session
    private let request: LogFeed.Request
    private let writer: LogLineWriter
    private let sources: [LogSource]

    init(_ session: Session, _ refs: [String], _ request: LogFeed.Request) throws(Failure) {
        self.session = session
        self.request = request
        writer = LogLineWriter(session, request)
        var feeds: [LogFeed] = []
        for ref in refs {
            let feed = try LogFeed(session, ref, request)
            if !feeds.contains(where: { $0.id == feed.id }) { feeds.append(feed) }
        }
        var bearers: [String: Int] = [:]
        for feed in feeds { bearers[feed.name ?? "", default: 0] += 1 }
        let labels = feeds.map { feed in
            guard let name = feed.name else { return "\(feed.id)" }
            return bearers[name] == 1 ? name.printable : "\(name.printable)@\(feed.graph)"
        }
        let width = labels.map { DisplayWidth.of($0) }.max() ?? 0
        sources = feeds.enumerated().map { index, feed in
            LogSource(feed, name: DisplayWidth.pad(labels[index], width), index: index, session.style)
        }
    }

    func run() throws(Failure) {
        // Without -f, one log after another is easier to read.
        guard request.follows else {
            for source in sources { while source.feed.isOpen { try source.read(session, writer) } }
            return
        }
        while true {
            let open = sources.filter(\.feed.isOpen)
            guard !open.isEmpty else { return }
            for index in Readable.among(open.map(\.feed.descriptor)) { try open[index].read(session, writer) }
            try session.output.flush()
        }
    }
}

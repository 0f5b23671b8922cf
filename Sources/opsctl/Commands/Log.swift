internal import OpsDrawing
internal import OpsWire

/// `log`: what operations have written.
enum LogVerb {
    static let follow = Option.flag("follow", "f", "follow the output until the operation ends")
    private static let attempt = Option.value("attempt", "N", .integer, "output of this attempt (default: the newest)")
    private static let stderr = Option.flag("stderr", "standard error, if it is kept apart (output: split)")
    static let lines = Option.value("lines", "n", "N", .integer, "the last N lines")
    private static let since = Option.value(
        "since", "TIME", .past, "attempts that ran at TIME or started later")

    static let verb = Verb(
        "log", aliases: ["logs"], .looking, "show the output of operations",
        forms: ["SELECTION [-f] [-n LINES] [--since TIME | --attempt N] [--stderr]"],
        about: [
            "With -f it waits for an operation that has not started, and survives a restart of the daemon. "
                + "Lines from several operations are prefixed with the name.",
            "Output has no timestamps, so --since selects whole attempts.",
        ],
        operands: .any(.operation, "OPERATION"),
        options: [OptionGroup("Reading", [follow, lines, since, attempt, stderr]), .selection],
        examples: [
            .init("All of it", "opsctl log build"),
            .init("As it comes, after the last 20 lines", "opsctl log -f -n 20 build"),
            .init("A whole graph while it runs", "opsctl log -f --graph g7"),
            .init("Output of the first attempt", "opsctl log 12 --attempt 1"),
            .init("All attempts of the last hour", "opsctl log backup --since 1h"),
        ],
        action: run)

    private static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let request = try request(session)
        let selection = try Steering.selection(session)
        guard selection.isBroad else {
            let feed = try LogFeed(session, selection.refs?.first ?? "", request)
            while feed.isOpen {
                try feed.read { (reply, data) throws(Failure) in
                    if session.wantsJSON { try session.row(reply) } else { try session.output.write(data) }
                }
                if request.follows { try session.output.flush() }
            }
            return .done
        }
        // Named ones are few; of a broad selection there may be any number.
        if !selection.isListOfNames { return try LogOfSelection(session, selection, request).run() }
        try LogMerge(session, selection.refs ?? [], request, isOptional: false).run()
        return .done
    }

    private static func request(_ session: Session) throws(Failure) -> LogFeed.Request {
        let arguments = session.arguments
        if let count = arguments.integer(lines), count < 0 {
            throw session.refuse("-n takes 0 or more, not \(count)", nil)
        }
        for option in [attempt, lines] where arguments.has(since) && arguments.has(option) {
            throw session.refuse("--since and --\(option.name) exclude each other", "give one of them")
        }
        return LogFeed.Request(
            errors: arguments.has(stderr), attempt: arguments.integer(attempt), lines: arguments.integer(lines),
            since: arguments.text(since).flatMap { Instant.past($0, now: .now) }, follows: arguments.has(follow))
    }
}

/// The logs of several operations, line by line as they come, each line with the name of its operation.
private final class LogMerge {
    private struct Source {
        let feed: LogFeed
        let label: String
        let colour: Style.Colour
        var partial: [UInt8] = []
    }

    private let session: Session
    private let request: LogFeed.Request
    private var sources: [Source] = []
    private static let colours: [Style.Colour] = [.cyan, .yellow, .green, .magenta, .blue, .red]

    init(_ session: Session, _ refs: [String], _ request: LogFeed.Request, isOptional: Bool) throws(Failure) {
        self.session = session
        self.request = request
        var feeds: [LogFeed] = []
        for ref in refs { feeds.append(try LogFeed(session, ref, request, isOptional: isOptional)) }
        var bearers: [String: Int] = [:]
        for feed in feeds { bearers[feed.name ?? "", default: 0] += 1 }
        let labels = feeds.map { feed in
            guard let name = feed.name else { return "\(feed.id)" }
            return bearers[name] == 1 ? name : "\(name)@\(feed.graph)"
        }
        let width = labels.map { DisplayWidth.of($0) }.max() ?? 0
        for (index, feed) in feeds.enumerated() {
            sources.append(
                Source(
                    feed: feed, label: DisplayWidth.pad(labels[index], width),
                    colour: Self.colours[index % Self.colours.count]))
        }
    }

    func run() throws(Failure) {
        // Without following, one after another is what a person wants to read.
        guard request.follows else {
            for index in sources.indices { while sources[index].feed.isOpen { try read(index) } }
            return
        }
        while true {
            let open = sources.indices.filter { sources[$0].feed.isOpen }
            guard !open.isEmpty else { return }
            for place in Readable.among(open.map { sources[$0].feed.descriptor }) { try read(open[place]) }
            try session.output.flush()
        }
    }

    private func read(_ index: Int) throws(Failure) {
        try sources[index].feed.read { (reply, data) throws(Failure) in
            if session.wantsJSON { return try session.row(reply) }
            sources[index].partial += data
            try writeLines(index)
        }
        guard !sources[index].feed.isOpen, !sources[index].partial.isEmpty else { return }
        try write(sources[index].partial[...], index)
        sources[index].partial = []
    }

    /// Whole lines; what has begun waits for its end.
    private func writeLines(_ index: Int) throws(Failure) {
        let bytes = sources[index].partial
        var start = 0
        while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            try write(bytes[start..<end], index)
            start = end + 1
        }
        sources[index].partial = Array(bytes[start...])
    }

    private func write(_ line: ArraySlice<UInt8>, _ index: Int) throws(Failure) {
        try session.output.write(session.style(sources[index].colour, sources[index].label + " |") + " ")
        try session.output.line(line)
    }
}

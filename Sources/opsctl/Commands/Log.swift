internal import OpsWire

/// `log`: what operations have written.
enum LogVerb {
    static let follow = Option.flag("follow", "f", "go on as it is written, until the operation ends")
    static let attempt = Option.value("attempt", "N", .integer, "that of an earlier attempt (the newest)")
    static let stderr = Option.flag("stderr", "standard error, where it is kept apart (output: split)")
    static let lines = Option.value("lines", "n", "N", .integer, "the last N lines")

    static let verb = Verb(
        "log", aliases: ["logs"], .looking, "what operations have written",
        forms: ["OPERATION... [-f] [-n LINES] [--attempt N] [--stderr]"],
        about: ["With -f it waits for one that has not started. Lines of several operations bear their names."],
        operands: .some(.operation, "OPERATION"),
        options: [OptionGroup("Reading", [follow, lines, attempt, stderr])],
        examples: [
            .init("All of it", "opsctl log build"),
            .init("As it comes, after the last 20 lines", "opsctl log -f -n 20 build"),
            .init("What the first attempt said", "opsctl log 12 --attempt 1"),
        ],
        action: run)

    static func run(_ session: Session) throws(Failure) -> ExitStatus {
        let arguments = session.arguments
        if let count = arguments.integer(lines), count < 0 {
            throw session.refuse("-n takes 0 or more, not \(count)", nil)
        }
        guard arguments.operands.count > 1 else {
            let ref = arguments.operands[0]
            try session.stream("Log") {
                write(ref, arguments, to: &$0)
            } each: { (reply) throws(Failure) in
                try show(reply, session) { (bytes) throws(Failure) in try session.output.write(bytes) }
                if arguments.has(follow) { try session.output.flush() }
                return true
            }
            return .done
        }
        try LogMerge(session, arguments.operands).run()
        return .done
    }

    static func write(_ ref: String, _ arguments: Arguments, to text: inout JSONWriter) {
        text.member("ref", ref)
        text.member("attempt", arguments.integer(attempt))
        text.member("stderr", arguments.has(stderr))
        text.member("lines", arguments.integer(lines))
        text.member("follow", arguments.has(follow))
    }

    /// The bytes that a reply brings.
    static func data(_ reply: JSONView) -> [UInt8] {
        reply["data"]?.text.flatMap { Base64.decode($0) } ?? []
    }

    static func show(
        _ reply: JSONView, _ session: Session, _ write: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        if session.wantsJSON { return try session.row(reply) }
        try write(LogVerb.data(reply))
    }
}

/// The logs of several operations, line by line as they come, each line with the name of its operation.
private final class LogMerge {
    private struct Source {
        let connection: Connection
        let label: String
        let colour: Style.Colour
        var partial: [UInt8] = []
        var isOpen = true
    }

    private let session: Session
    private var sources: [Source] = []
    private static let colours: [Style.Colour] = [.cyan, .yellow, .green, .magenta, .blue, .red]

    init(_ session: Session, _ refs: [String]) throws(Failure) {
        self.session = session
        let width = refs.map { DisplayWidth.of($0) }.max() ?? 0
        for (index, ref) in refs.enumerated() {
            let connection = try session.connect()
            let parameters = JSONWriter.object { LogVerb.write(ref, session.arguments, to: &$0) }
            try connection.send("Log", more: true, parameters: parameters)
            sources.append(
                Source(
                    connection: connection, label: DisplayWidth.pad(ref.printable, width),
                    colour: Self.colours[index % Self.colours.count]))
        }
    }

    func run() throws(Failure) {
        // Without following, one after another is what a person wants to read.
        guard session.arguments.has(LogVerb.follow) else {
            for index in sources.indices {
                while sources[index].isOpen { try take(index, sources[index].connection.receive()) }
            }
            return
        }
        while sources.contains(where: \.isOpen) {
            let open = sources.indices.filter { sources[$0].isOpen }
            for place in Readable.among(open.map { sources[$0].connection.descriptor }) {
                let index = open[place]
                guard try sources[index].connection.fill() else { throw Refusal.lost(nil) }
                while sources[index].isOpen, let reply = try reply(of: index) { try take(index, reply) }
            }
            try session.output.flush()
        }
    }

    private func reply(of index: Int) throws(Failure) -> Connection.Reply? {
        do throws(Failure) {
            return try sources[index].connection.takeReply()
        } catch {
            throw session.named(error)
        }
    }

    private func take(_ index: Int, _ reply: Connection.Reply) throws(Failure) {
        try LogVerb.show(reply.parameters, session) { (bytes) throws(Failure) in
            sources[index].partial += bytes
            while let end = sources[index].partial.firstIndex(of: 0x0a) {
                try write(sources[index].partial[..<end], index)
                sources[index].partial.removeFirst(end + 1)
            }
        }
        guard !reply.continues else { return }
        sources[index].isOpen = false
        if !sources[index].partial.isEmpty { try write(sources[index].partial[...], index) }
    }

    private func write(_ line: ArraySlice<UInt8>, _ index: Int) throws(Failure) {
        try session.output.write(session.style(sources[index].colour, sources[index].label + " |") + " ")
        try session.output.line(line)
    }
}

internal import OpsWire

/// Combines the pieces of one operation's output into whole lines.
struct LogLines {
    struct Line {
        let bytes: ArraySlice<UInt8>
        let attempt: Int
        /// Time at which the line was begun; nil if times were not requested.
        let at: Instant?
    }

    /// An incomplete line, and its time.
    private var partial: [UInt8] = []
    private var begunAt: Instant?
    private var attempt = 0

    /// Adds a piece and passes the completed lines to `each`.
    mutating func add(
        _ reply: LogReply, _ data: [UInt8], _ each: (Line) throws(Failure) -> Void
    ) throws(Failure) {
        if attempt != reply.attempt { try finish(each) }
        attempt = reply.attempt
        var times = (reply.times ?? [])[...]
        var start = data.startIndex
        while start < data.endIndex {
            // Last known time at or before this offset.
            while let next = times.dropFirst().first, next.offset <= reply.offset + Int64(start) { times.removeFirst() }
            if partial.isEmpty { begunAt = times.first.flatMap { Instant.rfc3339($0.at) } }
            guard let end = data[start...].firstIndex(of: UInt8(ascii: "\n")) else { break }
            if partial.isEmpty {
                try each(Line(bytes: data[start..<end], attempt: attempt, at: begunAt))
            } else {
                partial += data[start..<end]
                try each(Line(bytes: partial[...], attempt: attempt, at: begunAt))
                partial = []
            }
            start = end + 1
        }
        partial += data[start...]
    }

    /// Passes on the last line if it has no newline.
    mutating func finish(_ each: (Line) throws(Failure) -> Void) throws(Failure) {
        guard !partial.isEmpty else { return }
        try each(Line(bytes: partial[...], attempt: attempt, at: begunAt))
        partial = []
    }
}

/// Writes the lines that match, with their times if requested.
struct LogLineWriter {
    private let session: Session
    private let wantsTime: Bool
    private let pattern: LinePattern?

    init(_ session: Session, _ request: LogFeed.Request) {
        self.session = session
        wantsTime = request.wantsTimes
        pattern = request.pattern
    }

    /// False if pieces can be written as they arrive.
    var needsLines: Bool { wantsTime || pattern != nil }

    /// Writes a line.
    ///
    /// - Parameter label: Name before the line, or empty.
    func write(_ line: LogLines.Line, of feed: LogFeed, _ label: String) throws(Failure) {
        if let pattern, !pattern.isFound(in: line.bytes) { return }
        if session.wantsJSON { return try session.row(LogLineRow(line, of: feed)) }
        if wantsTime { try session.output.write((line.at?.dateAndClock ?? "-") + " ") }
        if !label.isEmpty { try session.output.write(label + " ") }
        try session.writeOutput(line.bytes)
    }
}

/// A line of a log as JSON.
private struct LogLineRow: WireRecord {
    static let typeName = "LogLine"
    private var id: Int64 = 0
    private var name: String?
    private var attempt = 0
    private var at: String?
    private var line = ""

    init() {}

    init(_ line: LogLines.Line, of feed: LogFeed) {
        id = feed.id
        name = feed.name
        attempt = line.attempt
        at = line.at?.rfc3339
        self.line = String(decoding: line.bytes, as: UTF8.self)
    }

    mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("id", &id)
        try visitor.field("name", &name)
        try visitor.field("attempt", &attempt)
        try visitor.field("at", &at)
        try visitor.field("line", &line)
    }
}

internal import OpsClient
internal import OpsDrawing
internal import OpsWire

/// Lines about operations for a pipe: one for each start and end in the order of time, and the output of each failure
/// after its end.
final class Chronicle {
    private let session: Session
    /// True to write successes from before the display began, too.
    private let includesPastSuccesses: Bool
    private var started: Set<Int64> = []
    private var ended: Set<Int64> = []
    private var isBegun = false

    init(_ session: Session, includesPastSuccesses: Bool) {
        self.session = session
        self.includesPastSuccesses = includesPastSuccesses
    }

    /// Writes the starts and ends of operations that have not been written yet, in the order of time.
    func write(past rows: [OperationRow]) throws(Failure) {
        let includesSuccesses = isBegun || includesPastSuccesses
        isBegun = true
        var lines: [(at: Instant, row: OperationRow, isEnd: Bool)] = []
        for row in rows {
            if row.state == .finished, !includesSuccesses, !row.isUnsuccessful {
                ended.insert(row.id)
                started.insert(row.id)
            }
            if let start = row.startedAt.instant, !row.isGroup { lines.append((start, row, false)) }
            if row.state == .finished, let end = row.finishedAt.instant { lines.append((end, row, true)) }
        }
        lines.sort { ($0.at, $0.row.id, $0.isEnd ? 1 : 0) < ($1.at, $1.row.id, $1.isEnd ? 1 : 0) }
        for line in lines {
            if line.isEnd { try writeEnd(line.row) } else { try writeStart(line.row) }
        }
    }

    /// Writes the line for an event.
    func write(_ event: EventRow, of id: Int64) throws(Failure) {
        switch event.type {
        case .started:
            guard event.attempt != nil, !started.contains(id), let found = try row(of: id) else { return }
            try writeStart(found)
        case .finished:
            guard !ended.contains(id), let found = try row(of: id), found.state == .finished else { return }
            try writeEnd(found)
        case .retrying: forget(id)
        default: if event.old == .finished { forget(id) }
        }
    }

    /// Forgets an operation that runs again, so that its next start and end are written.
    private func forget(_ id: Int64) {
        started.remove(id)
        ended.remove(id)
    }

    /// Returns the row of an operation; nil if the operation was removed meanwhile.
    private func row(of id: Int64) throws(Failure) -> OperationRow? {
        do throws(Failure) {
            return try session.call(ShowRequest.with { $0.ref = "\(id)" }).operation
        } catch {
            guard error.status == .notFound else { throw error }
            return nil
        }
    }

    private func writeStart(_ row: OperationRow) throws(Failure) {
        guard started.insert(row.id).inserted else { return }
        try session.output.line("\(session.style(.cyan, "●")) \(title(row)) started")
    }

    private func writeEnd(_ row: OperationRow) throws(Failure) {
        guard ended.insert(row.id).inserted else { return }
        if row.startedAt != nil, !row.isGroup { try writeStart(row) }
        let standing = row.standing
        let cause = row.cause.map { ": " + $0.printable } ?? ""
        try session.output.line(
            "\(session.style(standing.colour, standing.symbol)) \(title(row)) \(standing.word)\(cause)")
        if row.isUnsuccessful { try writeOutput(of: row.id, row.exitCode, row.signal, lines: nil) }
    }

    private func title(_ row: OperationRow) -> String {
        "\(row.id)" + (row.title.isEmpty ? "" : " " + DisplayWidth.fit(row.title, 60))
    }

    /// Writes the output of a failed operation, or its last lines.
    func writeOutput(of id: Int64, _ exitCode: Int?, _ signal: Int?, lines: Int?) throws(Failure) {
        guard exitCode != nil || signal != nil else { return }
        for errors in [false, true] {
            let request = LogFeed.Request(errors: errors, lines: lines)
            guard let feed = try LogFeed.ofSelected(session, id, request) else { return }
            var lines = LogLines()
            while feed.isOpen {
                try feed.read { (reply, data) throws(Failure) in
                    try lines.add(reply, data) { (line) throws(Failure) in try write(line) }
                }
            }
            try lines.finish { (line) throws(Failure) in try write(line) }
        }
    }

    private func write(_ line: LogLines.Line) throws(Failure) {
        try session.output.write("  | ")
        try session.writeOutput(line.bytes)
    }
}

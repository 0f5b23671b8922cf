internal import OpsWire

/// Time until a graph is done: the longest chain of what is left of it, or all that is left on as many slots as are in
/// use, whichever is longer. An operation takes as long as others with its command took, here or in earlier graphs, else
/// as long as all did.
struct Forecast {
    private let earlier: RunTimes
    private let ids: [Int64]
    private let before: [[Int]]
    /// Places in `ids`, each after all that it follows.
    private let order: [Int]

    /// A larger graph is not looked at four times a second.
    private static let mostNodes = 20_000

    /// `earlier` is what ran before and elsewhere, as far as its commands are those of this graph.
    init?(_ picture: GraphPicture, earlier: some Collection<OperationRow> = []) {
        guard picture.nodes.count <= Self.mostNodes else { return nil }
        self.earlier = RunTimes(earlier)
        ids = picture.nodes.map(\.id)
        before = picture.sequence()
        let layers = Layering.layers(before)
        order = layers.indices.sorted { (layers[$0], $0) < (layers[$1], $1) }
    }

    /// Nil while nothing is known about how long anything takes.
    func left(_ rows: [Int64: OperationRow], now: Instant) -> Span? {
        let here = RunTimes(rows.values)
        guard let fallback = here.mean ?? earlier.mean else { return nil }
        var ends = [Int64](repeating: 0, count: ids.count)
        var (work, slots, longest) = (Int64(0), Int64(0), Int64(0))
        for place in order {
            var left: Int64 = 0
            if let row = rows[ids[place]], !row.isGroup, row.outcome == nil {
                let isRunning = row.state == .executing
                let spent = isRunning ? row.startedAt.instant.map { (now - $0).nanoseconds } ?? 0 : 0
                let usual = here.joined(with: earlier, for: row.command ?? []) ?? fallback
                left = max(0, usual - spent)
                if isRunning { slots += 1 }
            }
            ends[place] = left + (before[place].map { ends[$0] }.max() ?? 0)
            work += left
            longest = max(longest, ends[place])
        }
        return Span(nanoseconds: max(longest, work / max(1, slots)))
    }
}

/// Run times of commands that have succeeded.
private struct RunTimes {
    private struct Sum {
        var total: Int64 = 0
        var count: Int64 = 0

        var mean: Int64? { count == 0 ? nil : total / count }
    }

    private var ofCommand: [[String]: Sum] = [:]
    private var all = Sum()

    init(_ rows: some Collection<OperationRow>) {
        for row in rows where !row.isGroup && row.outcome == .succeeded {
            guard let started = row.startedAt.instant, let finished = row.finishedAt.instant else { continue }
            let command = row.command ?? []
            let time = (finished - started).nanoseconds
            all = Sum(total: all.total + time, count: all.count + 1)
            ofCommand[command, default: Sum()].total += time
            ofCommand[command, default: Sum()].count += 1
        }
    }

    var mean: Int64? { all.mean }

    func joined(with others: RunTimes, for command: [String]) -> Int64? {
        let (mine, theirs) = (ofCommand[command] ?? Sum(), others.ofCommand[command] ?? Sum())
        return Sum(total: mine.total + theirs.total, count: mine.count + theirs.count).mean
    }
}

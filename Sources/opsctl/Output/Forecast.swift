internal import OpsWire

/// Estimates the time until a graph is finished: the longest remaining chain, or all remaining work divided by the
/// slots in use, whichever is longer. The duration of an operation is that of others with the same command, in this
/// graph or earlier ones; without any, the average of all.
struct Forecast {
    private let earlier: RunTimes
    private let ids: [Int64]
    private let before: [[Int]]
    /// Indices in `ids`, each after all its dependencies.
    private let order: [Int]

    /// Maximum number of nodes. A larger graph would be too slow to examine four times a second.
    private static let mostNodes = 20_000

    /// - Parameter earlier: Operations of other graphs with commands of this one.
    init?(_ picture: GraphPicture, earlier: some Collection<OperationRow> = []) {
        guard picture.nodes.count <= Self.mostNodes else { return nil }
        self.earlier = RunTimes(earlier)
        ids = picture.nodes.map(\.id)
        before = picture.sequence()
        let layers = Layering.layers(before)
        order = layers.indices.sorted { (layers[$0], $0) < (layers[$1], $1) }
    }

    /// Returns the remaining time; nil while no duration is known.
    func left(_ rows: [Int64: OperationRow], now: Instant) -> Span? {
        let here = RunTimes(rows.values)
        guard let fallback = here.mean ?? earlier.mean else { return nil }
        // Nanoseconds; the sum for a large graph may exceed 64 bits.
        var ends = [Double](repeating: 0, count: ids.count)
        var (work, longest, slots) = (0.0, 0.0, 0)
        for index in order {
            var left = 0.0
            if let row = rows[ids[index]], !row.isGroup, row.outcome == nil {
                let isRunning = row.state == .executing
                let spent = isRunning ? row.startedAt.instant.map { Double((now - $0).nanoseconds) } ?? 0 : 0
                let usual = here.joined(with: earlier, for: row.command ?? []) ?? fallback
                left = max(0, usual - spent)
                if isRunning { slots += 1 }
            }
            ends[index] = left + (before[index].map { ends[$0] }.max() ?? 0)
            work += left
            longest = max(longest, ends[index])
        }
        let whole = max(longest, work / Double(max(1, slots)))
        return Span(nanoseconds: Int64(min(whole, Double(Limits.duration.nanoseconds))))
    }
}

/// Run times of commands that have succeeded, in nanoseconds.
private struct RunTimes {
    private struct Sum {
        var total = 0.0
        var count = 0

        var mean: Double? { count == 0 ? nil : total / Double(count) }
    }

    private var ofCommand: [[String]: Sum] = [:]
    private var all = Sum()

    init(_ rows: some Collection<OperationRow>) {
        for row in rows where !row.isGroup && row.outcome == .succeeded {
            guard let started = row.startedAt.instant, let finished = row.finishedAt.instant else { continue }
            let command = row.command ?? []
            let time = Double((finished - started).nanoseconds)
            all = Sum(total: all.total + time, count: all.count + 1)
            ofCommand[command, default: Sum()].total += time
            ofCommand[command, default: Sum()].count += 1
        }
    }

    var mean: Double? { all.mean }

    func joined(with others: RunTimes, for command: [String]) -> Double? {
        let (mine, theirs) = (ofCommand[command] ?? Sum(), others.ofCommand[command] ?? Sum())
        return Sum(total: mine.total + theirs.total, count: mine.count + theirs.count).mean
    }
}

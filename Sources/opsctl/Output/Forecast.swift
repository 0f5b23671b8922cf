/// How long a graph will take yet: the longest chain of what is left of it, or all that is left on as many slots as are
/// in use, whichever is longer. What runs takes as long as others with its command took, else as long as all did.
struct Forecast {
    private let ids: [Int]
    private let before: [[Int]]
    /// Places in `ids`, each after all that it follows.
    private let order: [Int]

    /// A larger graph is not looked at four times a second.
    private static let mostNodes = 20_000

    init?(_ picture: GraphPicture) {
        guard picture.nodes.count <= Self.mostNodes else { return nil }
        ids = picture.nodes.map(\.id)
        before = picture.sequence()
        let layers = Layering.layers(before)
        order = layers.indices.sorted { (layers[$0], $0) < (layers[$1], $1) }
    }

    /// Nil while nothing is known about how long anything takes.
    func left(_ rows: [Int: OperationRow], now: Instant) -> Span? {
        guard let usual = Usual(rows.values) else { return nil }
        var ends = [Int64](repeating: 0, count: ids.count)
        var (work, slots, longest) = (Int64(0), Int64(0), Int64(0))
        for place in order {
            var left: Int64 = 0
            if let row = rows[ids[place]], !row.isGroup, row.outcome == nil {
                let isRunning = row.state == "executing"
                let spent = isRunning ? row.startedAt.map { (now - $0).nanoseconds } ?? 0 : 0
                left = max(0, usual.time(row) - spent)
                if isRunning { slots += 1 }
            }
            ends[place] = left + (before[place].map { ends[$0] }.max() ?? 0)
            work += left
            longest = max(longest, ends[place])
        }
        return Span(nanoseconds: max(longest, work / max(1, slots)))
    }

    /// Mean run times of what has finished.
    private struct Usual {
        private var ofCommand: [[String]: (total: Int64, count: Int64)] = [:]
        private var all: (total: Int64, count: Int64) = (0, 0)

        init?(_ rows: some Collection<OperationRow>) {
            for row in rows where !row.isGroup && row.outcome == "succeeded" {
                guard let started = row.startedAt, let finished = row.finishedAt else { continue }
                let time = (finished - started).nanoseconds
                all = (all.total + time, all.count + 1)
                let known = ofCommand[row.command] ?? (0, 0)
                ofCommand[row.command] = (known.total + time, known.count + 1)
            }
            if all.count == 0 { return nil }
        }

        func time(_ row: OperationRow) -> Int64 {
            let known = ofCommand[row.command] ?? all
            return known.total / known.count
        }
    }
}

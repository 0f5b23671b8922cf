public import OpsCore

/// Numbers that only grow: how many operations have finished, and how long they waited and ran, by queue; and how long
/// turns and commits took. They count pruned operations too.
public struct Counters: Equatable, Sendable {
    public struct OfQueue: Equatable, Sendable {
        /// Finished operations by the stored number of their outcome.
        var finished = [Int64](repeating: 0, count: Outcome.allCases.count)
        /// Times from the instant at which an operation became ready, but not before its start time, to the start of its
        /// last attempt.
        public internal(set) var waiting = Histogram.ofOperations
        /// Running times of last attempts.
        public internal(set) var running = Histogram.ofOperations

        public init() {}

        public subscript(outcome: Outcome) -> Int64 { finished[Int(outcome.stored)] }
    }

    /// Counters by the row of the queue.
    var queues: [Int64: OfQueue] = [:]
    public internal(set) var commits = Histogram.ofTurns
    public internal(set) var turns = Histogram.ofTurns

    public init() {}

    public func of(queue: Int64) -> OfQueue { queues[queue] ?? OfQueue() }

    var isEmpty: Bool { queues.isEmpty && commits.isEmpty && turns.isEmpty }
}

// MARK: Rows

extension Counters {
    /// One row: the number of durations or operations in a part (a bucket, an outcome), and the sum of the durations.
    struct Row {
        var family: Family
        /// Row of the queue; 0 for a family that does not belong to queues.
        var queue: Int64
        var part: Int
        var count: Int64
        var sum: Int64
    }

    /// The numbers are on disk: cases are only added, each with a new number.
    enum Family: Int64 {
        case finished = 0
        case waiting, running, commits, turns
    }

    /// Rows of all parts that count something.
    var rows: [Row] {
        var rows: [Row] = []
        func add(_ histogram: Histogram, _ family: Family, _ queue: Int64 = 0) {
            for (part, count) in histogram.counts.enumerated() where count > 0 {
                rows.append(Row(family: family, queue: queue, part: part, count: count, sum: 0))
            }
            // The row of the last bucket has the sum of all.
            guard histogram.sum > 0 else { return }
            let last = histogram.bounds.count
            if let index = rows.lastIndex(where: { $0.family == family && $0.queue == queue && $0.part == last }) {
                rows[index].sum = histogram.sum
            } else {
                rows.append(Row(family: family, queue: queue, part: last, count: 0, sum: histogram.sum))
            }
        }
        for (queue, counters) in queues {
            for (part, count) in counters.finished.enumerated() where count > 0 {
                rows.append(Row(family: .finished, queue: queue, part: part, count: count, sum: 0))
            }
            add(counters.waiting, .waiting, queue)
            add(counters.running, .running, queue)
        }
        add(commits, .commits)
        add(turns, .turns)
        return rows
    }

    /// Adds a stored row. A part that this version does not know is left out.
    mutating func add(_ row: Row) {
        switch row.family {
        case .finished:
            guard row.part < Outcome.allCases.count else { return }
            queues[row.queue, default: OfQueue()].finished[row.part] += row.count
        case .waiting: queues[row.queue, default: OfQueue()].waiting.add(row)
        case .running: queues[row.queue, default: OfQueue()].running.add(row)
        case .commits: commits.add(row)
        case .turns: turns.add(row)
        }
    }

    static func read(_ rows: Statement) throws(StoreError) -> Counters {
        var counters = Counters()
        while try rows.step() {
            guard let family = Family(rawValue: rows.int(0)) else { continue }
            counters.add(
                Row(
                    family: family, queue: rows.int(1), part: Int(rows.int(2)), count: rows.int(3), sum: rows.int(4)))
        }
        return counters
    }

    static let select = "SELECT family, queue, part, count, sum FROM counter"
}

extension Histogram {
    fileprivate mutating func add(_ row: Counters.Row) {
        guard counts.indices.contains(row.part) else { return }
        counts[row.part] += row.count
        sum += row.sum
    }
}

/// Times at which operations were ready and executed, by the machine's clock.
struct Executions {
    /// Times of all attempts of all users, except transfers.
    private(set) var all: [Spans.Span] = []
    private(set) var ofQueue: [String: [Spans.Span]] = [:]
    /// Instant at which each operation last became ready before its first start, and instant of that start.
    private(set) var firstReady: [Int: Double] = [:]
    private(set) var firstStart: [Int: Double] = [:]
    /// Times from the last mark of an attempt to the event of its end.
    private(set) var ends: [(id: Int, span: Spans.Span)] = []

    private let evidence: Evidence

    init(_ evidence: Evidence) {
        self.evidence = evidence
        var begun: [Int: Double] = [:]
        var attempts: [Int: Int] = [:]
        for event in evidence.events {
            guard let id = event.id else { continue }
            if event.new == "ready", firstStart[id] == nil { firstReady[id] = firstReady[id] ?? event.instant }
            if event.new == "pending", firstStart[id] == nil { firstReady[id] = nil }
            if event.type == "started" {
                begun[id] = event.instant
                attempts[id, default: 0] += 1
                if firstStart[id] == nil { firstStart[id] = event.instant }
            } else if event.old == "executing", event.new != "executing", let start = begun[id] {
                add(.init(id: id, number: attempts[id] ?? 0), from: start, to: event.instant)
                begun[id] = nil
            }
        }
        for (id, start) in begun { add(.init(id: id, number: attempts[id] ?? 0), from: start, to: .infinity) }
    }

    /// Adds an attempt. The marks of its process are more exact than the daemon's events.
    private mutating func add(_ attempt: Marks.Attempt, from begun: Double, to ended: Double) {
        let row = evidence.rows[attempt.id]
        if row?.isGroup == true { return }
        guard let queue = row?.queue ?? evidence.strangers[attempt.id] else { return }
        let mark = evidence.marks.startsOf[attempt.id]?.first { $0.attempt == attempt }
        let first = min(begun, mark?.at ?? begun)
        var last = ended
        if let end = evidence.marks.ends[attempt], let row, endsWithItsMark(row), end.at < ended, end.at >= first {
            last = end.at
            if ended < .infinity { ends.append((attempt.id, end.at...ended)) }
        }
        if last < first { return }
        // A transfer takes no slot.
        if !evidence.isTransfer(attempt.id) { all.append(first...last) }
        ofQueue[queue, default: []].append(first...last)
    }

    private func endsWithItsMark(_ row: Evidence.Row) -> Bool {
        guard let plan = evidence.planned[row.name] else { return false }
        return !plan.hasGrandchild && !plan.tellsItsEnd && plan.product == nil
    }
}

/// History of a limit during a run.
struct Limits {
    /// Instants at which the limit may have changed.
    let changes: [Double]
    private let first: Int
    private let settings: [Ledger.Limit]

    /// Collects the limits of a queue, or of the pool if `queue` is nil.
    init(_ evidence: Evidence, queue: String?, first: Int) {
        self.first = first
        settings = evidence.ledger.limits.filter { $0.queue == queue }.sorted { $0.after < $1.after }
        changes = settings.map(\.after) + settings.map(\.before).filter { $0 < .infinity }
    }

    /// Returns the times in which the executions left no room. In `given`, a start took the last slot. In `limited`,
    /// the limit was lowered to the number of operations that already executed.
    func room(for executions: [Spans.Span]) -> (given: Spans, limited: Spans) {
        var steps = executions.flatMap { [($0.lowerBound, 1), ($0.upperBound, -1)] } + changes.map { ($0, 0) }
        steps.sort { $0.0 < $1.0 }
        var spans = (given: [Spans.Span](), limited: [Spans.Span]())
        var count = 0
        var since: Double? = first <= 0 ? -.infinity : nil
        var hasStarted = false
        var rest = steps[...]
        while let instant = rest.first?.0 {
            while let step = rest.first, step.0 == instant {
                count += step.1
                if step.1 > 0 { hasStarted = true }
                rest.removeFirst()
            }
            if count >= least(instant) {
                since = since ?? instant
                continue
            }
            if let since {
                if hasStarted { spans.given.append(since...instant) } else { spans.limited.append(since...instant) }
            }
            since = nil
            hasStarted = false
        }
        if let since { spans.limited.append(since...(.infinity)) }
        return (Spans(spans.given), Spans(spans.limited))
    }

    /// Returns the lowest value that the limit may have had at an instant.
    func least(_ instant: Double) -> Int {
        let begun = settings.prefix { $0.after <= instant }
        // The last setting that was certainly in force replaces all that were in force before it was requested.
        guard let certain = begun.last(where: { $0.before <= instant }) else {
            return min(first, begun.map(\.value).min() ?? first)
        }
        return begun.filter { $0.before > certain.after }.map(\.value).min() ?? first
    }
}

/// Times in which everything, a queue or a graph was suspended.
struct Suspensions {
    private(set) var ofAll = Spans([])
    private(set) var ofQueue: [String: Spans] = [:]
    private(set) var ofGraph: [String: Spans] = [:]
    /// Operations that were suspended individually at some time.
    private(set) var operations: Set<Int> = []

    private struct Level: Hashable { var queue: String?, graph: String? }

    init(_ evidence: Evidence) {
        var open: [Level: Double] = [:]
        var closed: [Level: [Spans.Span]] = [:]
        for event in evidence.events where event.type == "suspended" || event.type == "resumed" {
            if let id = event.id {
                operations.insert(id)
                continue
            }
            let level = Level(queue: event.detail, graph: event.graph)
            if event.type == "suspended" {
                open[level] = open[level] ?? event.instant
            } else if let begun = open.removeValue(forKey: level) {
                closed[level, default: []].append(begun...max(begun, event.instant))
            }
        }
        for (level, begun) in open { closed[level, default: []].append(begun...(.infinity)) }
        for (level, spans) in closed {
            if let graph = level.graph {
                ofGraph[graph] = Spans(spans)
            } else if let queue = level.queue {
                ofQueue[queue] = Spans(spans)
            } else {
                ofAll = Spans(spans)
            }
        }
    }
}

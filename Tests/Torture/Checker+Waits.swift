import Foundation

/// Checks how long operations and calls of honest users waited for opsd alone.
extension Checker {
    /// Longest time in seconds that an operation or a call may wait without a reason. The programs of a debug build are
    /// several times slower, and tests run beside them: there the bound finds only what is never done.
    #if DEBUG
        static let longestWait = 30.0
    #else
        static let longestWait = 6.0
    #endif

    /// Checks that an operation starts soon when pool and queue have a free slot for it.
    mutating func waits() -> Int {
        let ways = knownWays
        for sample in ways.starts() {
            waiting.starts.append(sample)
            if sample.longest > Self.longestWait {
                find("operation \(sample.id) waited \(sample.longest) s for its start while a slot was free")
            }
        }
        return waiting.starts.count
    }

    /// Checks that no barrier of another user holds back an operation without dependencies.
    mutating func readiness() -> Int {
        let roots = knownWays.roots()
        for (id, isReady) in roots where !isReady {
            find("operation \(id) has no dependencies and was not ready at once")
        }
        return roots.count
    }

    /// Checks that opsd notices the end of a process soon.
    mutating func ends() -> Int {
        let ways = knownWays
        for sample in ways.ends() {
            waiting.ends.append(sample)
            if sample.longest > Self.longestWait {
                find("the end of operation \(sample.id) was noticed after \(sample.longest) s")
            }
        }
        return waiting.ends.count
    }

    private var knownWays: Ways {
        mutating get {
            let known = ways ?? Ways(evidence)
            ways = known
            return known
        }
    }

    mutating func answers() -> Int {
        let ways = knownWays
        for answer in evidence.ledger.answered {
            let sample = ways.sample(0, answer.time)
            waiting.answers.append(sample)
            if sample.longest > Self.longestWait {
                find(
                    "\(answer.method), called at \(Date(timeIntervalSince1970: answer.time.lowerBound).ISO8601Format()), was "
                        + "answered after \(sample.longest) s")
            }
        }
        return waiting.answers.count
    }
}

/// Measurements of the waits, for the report.
struct Waiting {
    struct Sample {
        var id: Int
        /// Longest wait in seconds, without the time in which faults of the torture caused a delay.
        var longest: Double
        /// Last wait in seconds, if no fault affected it.
        var undisturbed: Double?
    }
    var starts: [Sample] = []
    var ends: [Sample] = []
    var answers: [Sample] = []

    static func summary(_ samples: [Sample]) -> String {
        let times = samples.compactMap(\.undisturbed).sorted()
        guard let last = times.last else { return "none unaffected by faults" }
        let shown = [times[times.count / 2], times[times.count * 99 / 100], last].map {
            "\(Int(($0 * 1000).rounded()))"
        }
        return "\(times.count) unaffected by faults: median \(shown[0]) ms, 99 % within \(shown[1]) ms, "
            + "longest \(shown[2]) ms"
    }
}

/// Times in which an operation of each queue could start.
struct Ways {
    private let evidence: Evidence
    /// Times in which a fault delayed everything, or had just ended.
    private let disturbed: Spans
    private var ofQueue: [String: Way] = [:]
    private let suspensions: Suspensions
    private let executions: Executions

    /// Times in which operations of a queue could or could not start.
    private struct Way {
        /// A slot was free, nothing was suspended, and there was no disturbance.
        var open: Spans
        /// No slot was free, because another operation had taken the last one. A new wait begins afterwards.
        var given: Spans
        /// Starts were impossible for other reasons.
        var blocked: Spans
    }

    /// Seconds that the programs need to recover after a fault.
    private static let recovery = 1.0

    init(_ evidence: Evidence) {
        self.evidence = evidence
        disturbed = Spans(
            evidence.faults.filter { !$0.isSabotage }.map { $0.began...($0.ended + Self.recovery) })
        suspensions = Suspensions(evidence)
        executions = Executions(evidence)
        let pool = Limits(evidence, queue: nil, first: evidence.workers).room(for: executions.all)
        for queue in Set(evidence.rows.values.map(\.queue)) {
            let limits = Limits(evidence, queue: queue, first: Planner.queueLimits[queue] ?? .max)
            let room = limits.room(for: executions.ofQueue[queue] ?? [])
            let suspended = suspensions.ofAll.union(suspensions.ofQueue[queue] ?? Spans([]))
            let given = pool.given.union(room.given)
            let blocked = pool.limited.union(room.limited).union(suspended).union(disturbed)
            ofQueue[queue] = Way(open: given.union(blocked).complement, given: given, blocked: blocked)
        }
    }

    /// Measures a wait, without the parts that faults of the torture explain.
    func sample(_ id: Int, _ span: Spans.Span) -> Waiting.Sample {
        let length = span.upperBound - span.lowerBound
        return .init(
            id: id, longest: length - disturbed.length(within: span),
            undisturbed: disturbed.meets(span) ? nil : length)
    }

    /// Returns the wait before the first start of each operation. If an operation needs more than a slot, only the time
    /// from its start event to the mark of its process counts.
    func starts() -> [Waiting.Sample] {
        evidence.rows.values.compactMap { row in
            guard !row.isGroup, let start = evidence.marks.startsOf[row.id]?.first, start.attempt.number == 1,
                let begun = executions.firstStart[row.id], !suspensions.operations.contains(row.id)
            else { return nil }
            let own = sample(row.id, min(begun, start.at)...start.at)
            let last = min(begun, start.at)
            guard let ready = executions.firstReady[row.id], ready < last, needsSlotAlone(row),
                !(suspensions.ofGraph[row.graph]?.meets(ready...start.at) ?? false), let way = ofQueue[row.queue]
            else { return own }
            var sample = own
            for span in way.given.complement.within(ready...last) {
                var length = way.open.length(within: span)
                if span.upperBound == last {
                    // This part of the wait continues until the start of the process.
                    length += own.longest
                    sample.undisturbed = way.blocked.meets(span) ? nil : own.undisturbed.map { _ in length }
                }
                sample.longest = max(sample.longest, length)
            }
            return sample
        }
    }

    /// Returns operations that need only a slot and have no dependencies, and whether each was ready at its submission.
    func roots() -> [(id: Int, isReady: Bool)] {
        evidence.events.compactMap { event in
            guard event.type == "submitted", let row = event.id.flatMap({ evidence.rows[$0] }), needsSlotAlone(row),
                evidence.planned[row.name]?.after.isEmpty == true
            else { return nil }
            return (row.id, event.new == "ready")
        }
    }

    /// Returns the times from the last mark of a process to the event about its end.
    func ends() -> [Waiting.Sample] {
        executions.ends.compactMap { id, span in
            suspensions.operations.contains(id) ? nil : sample(id, span)
        }
    }

    private func needsSlotAlone(_ row: Evidence.Row) -> Bool {
        guard let plan = evidence.planned[row.name] else { return false }
        return plan.parent == nil && !plan.hasCategories && !plan.hasCondition && !plan.isHeld && plan.delay == nil
    }
}

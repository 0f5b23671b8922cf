internal import OpsCore
internal import OpsStore
internal import OpsWire

/// What a set of operations comes to in numbers.
struct Statistics {
    private var states: [OperationState: Int] = [:]
    private var outcomes: [Outcome: Int] = [:]
    /// Nanoseconds between being ready and the start, and between start and end.
    private var waits: [Int64] = []
    private var runs: [Int64] = []
    private var firstStart = Int64.max
    private var lastEnd = Int64.min
    private var runOf: [OperationID: Int64] = [:]
    private var dependencies: [OperationID: [OperationID]] = [:]
    private var order: [OperationID] = []

    mutating func add(_ node: GraphNode) {
        states[node.state, default: 0] += 1
        if let outcome = node.outcome { outcomes[outcome, default: 0] += 1 }
        order.append(node.id)
        guard let started = node.startedAt else { return }
        waits.append(max(0, started - (node.readyAt ?? node.submittedAt)))
        firstStart = min(firstStart, started)
        guard let finished = node.finishedAt, finished >= started, !node.isGroup else { return }
        runs.append(finished - started)
        runOf[node.id] = finished - started
        lastEnd = max(lastEnd, finished)
    }

    mutating func add(_ edge: Snapshot.Edge) { dependencies[edge.from, default: []].append(edge.on) }

    func result(workers: Int) -> JSONObject {
        var members: [JSONValue.Member] = [
            .init("count", .integer(Int64(order.count))),
            .init(
                "states",
                .object(OperationState.allCases.map { .init(StateName($0).rawValue, .integer(Int64(states[$0] ?? 0))) })
            ),
            .init(
                "outcomes",
                .object(Outcome.allCases.map { .init(OutcomeName($0).rawValue, .integer(Int64(outcomes[$0] ?? 0))) })),
            .init("waitSeconds", percentiles(waits)), .init("runSeconds", percentiles(runs)),
        ]
        let (path, length) = criticalPath()
        members.append(.init("criticalPath", .array(path.map { .integer($0.rawValue) })))
        members.append(.init("criticalPathSeconds", .double(seconds(length))))
        let span = lastEnd > firstStart ? lastEnd - firstStart : 0
        members.append(.init("spanSeconds", .double(seconds(span))))
        let busy = runs.reduce(0, +)
        let utilisation = span > 0 && workers > 0 ? Double(busy) / (Double(span) * Double(workers)) : 0
        members.append(.init("utilisation", .double(min(1, utilisation))))
        return JSONObject(members)
    }

    private func percentiles(_ values: [Int64]) -> JSONValue {
        guard !values.isEmpty else { return .null }
        let sorted = values.sorted()
        let at: (Double) -> JSONValue = { share in
            .double(seconds(sorted[min(sorted.count - 1, Int(share * Double(sorted.count)))]))
        }
        return .object([
            .init("min", at(0)), .init("p50", at(0.5)), .init("p90", at(0.9)), .init("p99", at(0.99)),
            .init("max", at(1)),
            .init("mean", .double(seconds(sorted.reduce(0, +) / Int64(sorted.count)))),
        ])
    }

    /// The chain of dependencies whose run times add up to the most; ids rise along the edges but for those added
    /// later, which are left out.
    private func criticalPath() -> ([OperationID], Int64) {
        var best: [OperationID: Int64] = [:]
        var before: [OperationID: OperationID] = [:]
        var end: OperationID?
        for id in order.sorted() {
            var longest: Int64 = 0
            for on in dependencies[id] ?? [] where on < id {
                guard let length = best[on], length >= longest else { continue }
                longest = length
                before[id] = on
            }
            best[id] = longest + (runOf[id] ?? 0)
            if best[id] ?? 0 > end.flatMap({ best[$0] }) ?? 0 { end = id }
        }
        var path: [OperationID] = []
        var next = end
        while let id = next {
            path.append(id)
            next = before[id]
        }
        return (path.reversed(), end.flatMap { best[$0] } ?? 0)
    }

    private func seconds(_ nanoseconds: Int64) -> Double { Double(nanoseconds / 1000) / 1e6 }
}

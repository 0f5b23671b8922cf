internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Numbers about a set of operations.
struct Statistics {
    /// Operations by state, except those that are held or wait for an instant.
    private var states: [OperationState: Int] = [:]
    private var scheduled = 0
    private var held = 0
    private var outcomes: [Outcome: Int] = [:]
    /// Times from ready to the start, and from the start to the end.
    private var waits: [TimeSpan] = []
    private var runs: [TimeSpan] = []
    private var firstStart = WallInstant.distantFuture
    private var lastEnd = WallInstant.distantPast
    private var count = 0
    private var path = CriticalPath()

    /// Bytes of the times and of the longest path.
    var heldBytes: Int { count * 150 }

    mutating func add(_ node: GraphNode) {
        if node.isHeld {
            held += 1
        } else if node.isScheduled {
            scheduled += 1
        } else {
            states[node.state, default: 0] += 1
        }
        if let outcome = node.outcome { outcomes[outcome, default: 0] += 1 }
        count += 1
        path.add(node)
        guard let started = node.startedAt else { return }
        waits.append(max(.zero, started - (node.readyAt ?? node.submittedAt)))
        firstStart = min(firstStart, started)
        guard let finished = node.finishedAt, finished >= started, !node.isGroup else { return }
        runs.append(finished - started)
        lastEnd = max(lastEnd, finished)
    }

    mutating func add(_ edge: Snapshot.Edge) { path.add(edge) }

    func result(workers: Int) -> JSONObject {
        var members: [JSONValue.Member] = [
            .init("count", .integer(Int64(count))),
            .init("states", .object(stateCounts)),
            .init(
                "outcomes",
                .object(
                    OutcomeName.known.map { name in
                        let number = outcomes.reduce(0) { $0 + (OutcomeName($1.key) == name ? $1.value : 0) }
                        return .init(name.rawValue, .integer(Int64(number)))
                    })),
            .init("notNeeded", .integer(Int64(outcomes[.notNeeded] ?? 0))),
            .init("waitSeconds", percentiles(waits)), .init("runSeconds", percentiles(runs)),
        ]
        let (longest, length) = path.longest()
        members.append(.init("criticalPath", .array(longest.map { .integer($0.rawValue) })))
        members.append(.init("criticalPathSeconds", .double(seconds(length))))
        let span = lastEnd > firstStart ? lastEnd - firstStart : .zero
        members.append(.init("spanSeconds", .double(seconds(span))))
        let busy = runs.reduce(0) { $0 + Double($1.nanoseconds) }
        let utilisation = span > .zero && workers > 0 ? busy / (Double(span.nanoseconds) * Double(workers)) : 0
        members.append(.init("utilisation", .double(min(1, utilisation))))
        return JSONObject(members)
    }

    private var stateCounts: [JSONValue.Member] {
        var counts = OperationState.allCases.map { (StateName($0).rawValue, states[$0] ?? 0) }
        counts += [("scheduled", scheduled), ("held", held)]
        return counts.map { JSONValue.Member($0.0, .integer(Int64($0.1))) }
    }

    private func percentiles(_ values: [TimeSpan]) -> JSONValue {
        guard !values.isEmpty else { return .null }
        let sorted = values.sorted()
        // The smallest value that this share of all values does not exceed.
        let at: (Double) -> JSONValue = { share in
            .double(seconds(sorted[max(0, Int((share * Double(sorted.count)).rounded(.up)) - 1)]))
        }
        return .object([
            .init("min", at(0)), .init("p50", at(0.5)), .init("p90", at(0.9)), .init("p99", at(0.99)),
            .init("max", at(1)),
            .init("mean", .double(seconds(mean(sorted)))),
        ])
    }

    /// Returns the mean without computing the sum, which overflows after 110,000 days in nanoseconds.
    private func mean(_ values: [TimeSpan]) -> TimeSpan {
        let count = Int64(values.count)
        let rest = values.reduce(0) { $0 + $1.nanoseconds % count } / count
        return values.reduce(.nanoseconds(rest)) { $0 + $1 / count }
    }

    private func seconds(_ span: TimeSpan) -> Double { Double(span.nanoseconds / 1000) / 1e6 }
}

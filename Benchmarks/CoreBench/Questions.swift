internal import OpsCore

/// Measures the slowest questions: each is about the last of `count` operations that wait for the same.
func questions(_ count: Int) {
    let last = OperationID(Int64(count) + 1)
    ask("why: all workers busy", last, Array(repeating: Draft(), count: count + 1))
    ask("why: one category", last, Array(repeating: Draft(categories: 0), count: count + 1))
    ask(
        "why: a join", last, Array(repeating: Draft(), count: count + 1),
        edges: (0..<count).map { DraftEdge(from: Int32(count), on: .local(Int32($0))) })
    ask("why: a barrier", last, Array(repeating: Draft(), count: count) + [Draft(flags: .barrier)])
    ask("why: a group", OperationID(1), [Draft(flags: .group)] + Array(repeating: Draft(group: 0), count: count))
}

private func ask(_ name: String, _ id: OperationID, _ operations: [Draft], edges: [DraftEdge] = []) {
    var submission = Submission()
    submission.categorySets = [[CategoryUse(name: "only")]]
    submission.operations = operations
    submission.edges = edges
    var driven = Driven(workers: 64)
    precondition(driven.handle(.submit(submission)), "nothing is wrong with it")
    driven.endTurn()
    show(measure(name, operations.count) { precondition(!driven.why(id).isEmpty, "it waits for something") })
    let change = Event.cancel([id], by: "bench", reason: nil, force: false)
    show(measure("  what if", operations.count) { driven.whatIf(change) })
    guard operations[0].categories == 0 else { return }
    show(measure("categories", operations.count) { _ = driven.scheduler.categoryStandings })
}

private func show(_ row: Measurement) {
    print(
        left(row.name, 34), right(grouped(Double(row.count)), 12), right(tenths(Double(row.nanoseconds) / 1e6), 10),
        "ms")
}

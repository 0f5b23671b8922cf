extension Checker {
    /// Checks dependencies. For an operation that a user has retried, it is enough that the dependency was met earlier.
    mutating func order() -> Int {
        var checked = 0
        let firsts = firstSequences()
        let starts = Dictionary(grouping: evidence.events.filter { $0.type == "started" }) { $0.id ?? 0 }
        for (name, plan) in evidence.planned {
            guard let id = evidence.idOf[name] else { continue }
            for edge in plan.after {
                guard let on = evidence.idOf[edge.on], !isInDoubt(id, on) else { continue }
                checked += 1
                check(id, after: on, edge.when, firsts)
            }
        }
        for (edge, by) in evidence.ledger.edgesAdded where !isInDoubt(edge.id, edge.on) {
            checked += 1
            check(edge, storedBy: by, starts[edge.id] ?? [], firsts)
        }
        return checked
    }

    /// Checks an edge that was added to an existing operation. It applies to later starts.
    private mutating func check(
        _ edge: Ledger.Edge, storedBy by: Int, _ starts: [Evidence.Event], _ firsts: Firsts
    ) {
        guard let other = evidence.rows[edge.on], other.run == 1 else { return }
        for event in starts where event.sequence > by && event.sequence < firsts.finished[edge.on] ?? .max {
            find("event \(event.sequence): \(edge.id) starts before \(edge.on), a dependency since event \(by)")
        }
    }

    private func isInDoubt(_ id: Int, _ on: Int) -> Bool {
        evidence.ledger.edgesInDoubt.contains { $0.id == id && $0.on == on }
    }

    private struct Firsts { var started: [Int: Int] = [:], finished: [Int: Int] = [:] }

    private func firstSequences() -> Firsts {
        var firsts = Firsts()
        for event in evidence.events {
            guard let id = event.id else { continue }
            if event.type == "started", firsts.started[id] == nil { firsts.started[id] = event.sequence }
            if event.type == "finished", firsts.finished[id] == nil { firsts.finished[id] = event.sequence }
        }
        return firsts
    }

    private mutating func check(_ id: Int, after on: Int, _ when: String, _ firsts: Firsts) {
        guard let row = evidence.rows[id], let other = evidence.rows[on] else { return }
        if let started = firsts.started[id], row.run == 1 || other.run == 1 {
            let bound = when == "started" ? firsts.started[on] : firsts.finished[on]
            if bound ?? .max > started, row.run == 1 {
                find("event \(started): operation \(id) starts before \(on) has \(when)")
            }
        }
        guard other.run == 1, when != "started" else { return }
        // In the marks of the processes, no mark of a dependency comes after a start of its dependent.
        for process in processes(of: id) {
            for start in evidence.marks.startsOf[process] ?? [] {
                for before in processes(of: on) where (evidence.marks.lastPlaceOf[before] ?? -1) > start.place {
                    find(
                        "operation \(process) started while \(before), which it waits for, had not ended (mark \(start.place))"
                    )
                }
            }
        }
        let hasStarted = row.attempt > 0
        let isRight =
            switch when {
            case "succeeded": other.outcome == "succeeded"
            case "failed": other.outcome != "succeeded"
            default: true
            }
        if hasStarted, row.run == 1, !isRight {
            find(
                "operation \(id) executed although \(on), which had to have \(when), is \(other.outcome ?? "unfinished")"
            )
        }
    }

    /// Returns an operation and the child that it submits, or the children of a group.
    func processes(of id: Int) -> [Int] {
        guard let row = evidence.rows[id] else { return [id] }
        if !row.isGroup {
            return [id] + [evidence.planned[row.name]?.product].compactMap { $0.flatMap { evidence.idOf[$0] } }
        }
        return (evidence.planned[row.name]?.children ?? []).compactMap { evidence.idOf[$0] }
    }
}

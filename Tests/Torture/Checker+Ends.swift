extension Checker {
    mutating func outcomes() -> Int {
        for row in evidence.rows.values {
            guard row.state == "finished", let outcome = row.outcome else {
                find("operation \(row.id) has not settled: it is \(row.state)")
                continue
            }
            if row.cause.isEmpty, outcome != "succeeded" { find("operation \(row.id) is \(outcome) without a cause") }
            if row.isNotNeeded, outcome != "skipped" { find("operation \(row.id) is not needed, yet \(outcome)") }
            let plan = evidence.planned[row.name]
            switch outcome {
            case "cancelled" where !mayBeCancelled(row):
                find("operation \(row.id) is cancelled and no client requested that: \(row.cause)")
            case "timedOut" where plan?.hasTimeout != true && row.deadline == nil:
                find("operation \(row.id) is timedOut without a timeout: \(row.cause)")
            case "skipped" where row.unsatisfied.isEmpty && plan?.hasCondition != true && row.group == nil:
                find("operation \(row.id) is skipped without a reason: \(row.cause)")
            case "succeeded" where row.run == 1 && row.unsatisfied.contains { evidence.rows[$0]?.run == 1 }:
                find("operation \(row.id) succeeded with unsatisfied dependencies \(row.unsatisfied)")
            case "succeeded", "failed", "cancelled", "timedOut", "skipped", "interrupted": break
            default: find("operation \(row.id) has the outcome \(outcome), which does not exist")
            }
        }
        return evidence.rows.count
    }

    func mayBeCancelled(_ row: Evidence.Row) -> Bool {
        if evidence.ledger.mayBeCancelled.contains(row.id) { return true }
        if evidence.ledger.graphsThatMayBeCancelled.contains(row.graph) { return true }
        guard let parent = row.group.flatMap({ evidence.rows[$0] }) else { return false }
        // A producer that times out ends its children too.
        let mayTimeOut = evidence.planned[parent.name]?.hasTimeout == true || parent.deadline != nil
        return mayBeCancelled(parent) || mayTimeOut
    }

    /// Checks that the recorded exit of every attempt is the one that its process wrote.
    mutating func exits() -> Int {
        var checked = 0
        let spans = evidence.spans
        for row in evidence.rows.values where !row.isGroup {
            guard let plan = evidence.planned[row.name], plan.transfer == nil else { continue }
            for attempt in row.attempts {
                checked += 1
                check(attempt, of: row, plan, spans)
            }
            if let last = row.attempts.last, row.outcome == "succeeded", last.outcome != "succeeded" {
                find("operation \(row.id) succeeded although its last attempt is \(last.outcome ?? "open")")
            }
        }
        return checked
    }

    private mutating func check(
        _ attempt: Evidence.Attempt, of row: Evidence.Row, _ plan: Planned,
        _ spans: [Marks.Attempt: ClosedRange<Int>]
    ) {
        let name = "attempt \(attempt.number) of operation \(row.id)"
        let end = evidence.marks.ends[.init(id: row.id, number: attempt.number)]
        let wanted = plan.ending(attempt: attempt.number)
        guard let span = spans[.init(id: row.id, number: attempt.number)] else {
            return find("\(name) has no start event")
        }
        switch attempt.outcome {
        case "succeeded":
            if attempt.exitCode ?? (plan.tellsItsEnd ? 0 : nil) != 0 {
                find("\(name) succeeded with exit code \(String(describing: attempt.exitCode))")
            }
            if end == nil { find("\(name) succeeded and its process wrote no end mark") }
            if wanted.code != 0 { find("\(name) succeeded and had to fail") }
        case "failed" where attempt.exitCode == nil && attempt.signal == nil && end == nil:
            let hadNoRoom = evidence.faults.contains { $0.harm.contains(.noRoom) && $0.overlaps(span) }
            if !hadNoRoom { find("\(name) could not be started: \(attempt.cause)") }
        case "failed":
            if attempt.exitCode != wanted.code || attempt.signal != wanted.signal || wanted.code == 0 {
                find(
                    "\(name) failed with code \(String(describing: attempt.exitCode)), signal \(String(describing: attempt.signal)); "
                        + "wanted \(wanted); its mark: \(String(describing: end?.code)); \(row.cause)")
            }
            if end == nil { find("\(name) failed and its process wrote no end mark: \(row.cause)") }
        case "interrupted":
            let isExplained = evidence.faults.contains { $0.harm.contains(.interruption) && $0.overlaps(span) }
            if !isExplained { find("\(name) is interrupted and its runner did not die") }
        case "cancelled": if !mayBeCancelled(row) { find("\(name) is cancelled and no client requested that") }
        case "timedOut": if !plan.hasTimeout, row.deadline == nil { find("\(name) is timedOut without a timeout") }
        case "skipped": find("\(name) is skipped although it started")
        default: find("\(name) has the outcome \(attempt.outcome ?? "none") at the end")
        }
    }

    mutating func groups() -> Int {
        var checked = 0
        for row in evidence.rows.values where row.isGroup {
            checked += 1
            let children = processes(of: row.id).compactMap { evidence.rows[$0] }
            let allSucceeded = children.allSatisfy {
                $0.outcome == "succeeded" || $0.outcome == "skipped" && $0.isNotNeeded
            }
            if row.outcome == "succeeded", !allSucceeded {
                find("group \(row.id) succeeded and not all its children did")
            }
            if row.outcome == "failed", allSucceeded {
                find("group \(row.id) failed and all its children succeeded: \(row.cause)")
            }
        }
        return checked
    }

    /// Checks that opsctl shows exactly the output that the process of each attempt wrote.
    mutating func logs() -> Int {
        for log in evidence.logs where log.shown != log.written {
            let sizes = "\(log.shown?.utf8.count ?? -1) bytes, wanted \(log.written.utf8.count)"
            find("operation \(log.attempt.id), attempt \(log.attempt.number): \(sizes)")
        }
        return evidence.logs.count
    }
}

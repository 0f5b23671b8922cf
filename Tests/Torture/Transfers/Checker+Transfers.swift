/// Files at the end of a run, and the downloads that the server recorded.
struct TransferEvidence {
    struct Fetch { var name: String, span: Spans.Span }

    /// Files by name, and whether each has exactly the expected bytes.
    var files: [String: Bool] = [:]
    /// Names of files of which a partial file remains.
    var partial: Set<String> = []
    /// Files that no operation requested.
    var strange: [String] = []
    /// Times in which a client downloaded a file.
    var fetches: [Fetch] = []
    var requests = 0
}

extension Checker {
    /// Checks that each file has the bytes of one version or is missing, and that a cancel leaves no partial file.
    mutating func transfers() -> Int {
        guard let transfers = evidence.transfers else { return 0 }
        for name in transfers.strange { find("file \(name) was never requested") }
        for (name, isRight) in transfers.files where !isRight { find("file \(name) has wrong bytes") }
        let lastLoss = evidence.faults.last { $0.harm.contains(.lostOutput) }?.after ?? 0
        var ends: [Int: Int] = [:]
        for event in evidence.events {
            if let id = event.id, event.type == "finished" { ends[id] = event.sequence }
        }
        var checked = 0
        for row in evidence.rows.values where evidence.planned[row.name]?.transfer != nil {
            checked += 1
            let isWhole = transfers.files[row.name] == true
            let isPartial = transfers.partial.contains(row.name)
            if row.outcome == "succeeded" {
                if !isWhole { find("transfer \(row.id) succeeded, and \(row.name) is missing or has wrong bytes") }
                continue
            }
            // The removal of a file is not synced, so that a power cut may bring it back.
            let isCancelled = row.outcome == "cancelled" && row.attempts.last?.outcome == "cancelled"
            if isCancelled, isPartial, ends[row.id] ?? 0 > lastLoss {
                find("transfer \(row.id) was cancelled, and a partial file of \(row.name) remains")
            }
        }
        return checked
    }

    /// Checks that while a client downloads the file of an operation, no other operation has its exclusive categories.
    mutating func transferCategories() -> Int {
        guard let transfers = evidence.transfers else { return 0 }
        var spans: [String: [(id: Int, span: Spans.Span)]] = [:]
        for start in evidence.marks.starts {
            guard let end = evidence.marks.ends[start.attempt], end.at >= start.at else { continue }
            for category in categories(of: start.name, modes: ["x:", "s:"]) {
                spans[category, default: []].append((start.attempt.id, start.at...end.at))
            }
        }
        let fetches = transfers.fetches.compactMap { fetch in evidence.idOf[fetch.name].map { (id: $0, fetch) } }
        for (id, fetch) in fetches {
            for category in categories(of: fetch.name, modes: ["x:"]) {
                spans[category, default: []].append((id, fetch.span))
            }
        }
        for (id, fetch) in fetches {
            for category in categories(of: fetch.name, modes: ["x:"]) {
                for other in spans[category] ?? [] where other.id != id && other.span.overlaps(fetch.span) {
                    find("transfer \(id) and operation \(other.id) had category \(category) at the same time")
                }
            }
        }
        return fetches.count
    }

    /// Returns the categories of an operation outside of a group, from the locks that it must hold.
    private func categories(of name: String, modes: Set<Substring>) -> [String] {
        guard let plan = evidence.planned[name], plan.transfer == nil || plan.parent == nil else { return [] }
        return plan.words.filter { modes.contains($0.prefix(2)) }.map { String($0.dropFirst(2)) }
    }

    mutating func transferExits() -> Int {
        var checked = 0
        for row in evidence.rows.values {
            guard let transfer = evidence.planned[row.name]?.transfer else { continue }
            for attempt in row.attempts {
                checked += 1
                check(attempt, of: row, fetching: transfer)
            }
            if let last = row.attempts.last, row.outcome == "succeeded", last.outcome != "succeeded" {
                find("transfer \(row.id) succeeded although its last attempt is \(last.outcome ?? "open")")
            }
        }
        return checked
    }

    private mutating func check(
        _ attempt: Evidence.Attempt, of row: Evidence.Row, fetching transfer: PlannedTransfer
    ) {
        let name = "attempt \(attempt.number) of transfer \(row.id)"
        let plan = evidence.planned[row.name]
        switch attempt.outcome {
        case "succeeded":
            if attempt.exitCode != 0 {
                find("\(name) succeeded with exit code \(String(describing: attempt.exitCode))")
            }
            if !transfer.maySucceed { find("\(name) succeeded and had to fail") }
        case "failed":
            // On a file system without a free block, neither log nor file can be written.
            let hadNoRoom = evidence.faults.contains { $0.harm.contains(.noRoom) }
            let isExplained = attempt.exitCode.map { transfer.codes.contains($0) } ?? false
            if !isExplained, !hadNoRoom {
                find("\(name) failed with code \(String(describing: attempt.exitCode)): \(attempt.cause)")
            }
        case "cancelled": if !mayBeCancelled(row) { find("\(name) is cancelled and no client requested that") }
        case "timedOut":
            if plan?.hasTimeout != true, row.deadline == nil { find("\(name) is timedOut without a timeout") }
        default: find("\(name) is \(attempt.outcome ?? "without an outcome"): \(attempt.cause)")
        }
    }
}

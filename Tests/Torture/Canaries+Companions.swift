/// False facts about transfers, the page and functions.
extension Canaries {
    typealias Lie = (name: String, plant: @Sendable (inout Evidence) -> Bool)

    /// Returns the false facts about the clients and executors that the run has.
    static func ofCompanions(_ evidence: Evidence) -> [Lie] {
        (evidence.transfers == nil ? [] : ofTransfers) + (evidence.page == nil ? [] : ofPage)
            + (evidence.functions == nil ? [] : ofFunctions)
    }

    private static let ofTransfers: [Lie] = [
        (
            "a transfer has wrong bytes",
            { evidence in change(&evidence) { $0.files[$1] = false } }
        ),
        (
            "the file of a transfer is missing",
            { evidence in change(&evidence) { $0.files[$1] = nil } }
        ),
        (
            "a part of a cancelled transfer is left",
            { evidence in
                // A power cut could have restored the file.
                for place in evidence.faults.indices { evidence.faults[place].harm.remove(.lostOutput) }
                guard
                    let row = evidence.rows.values.first(where: { evidence.isTransfer($0.id) && !$0.attempts.isEmpty })
                else { return false }
                evidence.rows[row.id]?.outcome = "cancelled"
                evidence.rows[row.id]?.attempts[row.attempts.count - 1].outcome = "cancelled"
                evidence.ledger.mayBeCancelled.insert(row.id)
                evidence.transfers?.files[row.name] = nil
                evidence.transfers?.partial.insert(row.name)
                return true
            }
        ),
        (
            "a transfer was under way while another operation had its category",
            { evidence in
                guard
                    let start = evidence.marks.starts.first(where: { start in
                        evidence.marks.ends[start.attempt] != nil
                            && evidence.planned[start.name]?.words.contains { $0.hasPrefix("x:c") } == true
                    }), let end = evidence.marks.ends[start.attempt],
                    let category = evidence.planned[start.name]?.words.first(where: { $0.hasPrefix("x:c") }),
                    let transfer = evidence.rows.values.first(where: { evidence.isTransfer($0.id) })
                else { return false }
                evidence.planned[transfer.name]?.parent = nil
                evidence.planned[transfer.name]?.words.append(category)
                evidence.transfers?.fetches.append(.init(name: transfer.name, span: start.at...end.at))
                return true
            }
        ),
        (
            "a transfer failed with a code that its server cannot cause",
            { evidence in
                // A full disk would explain the failure.
                for place in evidence.faults.indices { evidence.faults[place].harm.remove(.noRoom) }
                guard
                    let row = evidence.rows.values.first(where: { evidence.isTransfer($0.id) && !$0.attempts.isEmpty })
                else { return false }
                evidence.rows[row.id]?.attempts[0].outcome = "failed"
                evidence.rows[row.id]?.attempts[0].exitCode = 64
                return true
            }
        ),
    ]

    private static let ofPage: [Lie] = [
        (
            "the page received an event twice",
            {
                guard let last = $0.page?.messages.last(where: \.hasEvents) else { return false }
                $0.page?.messages.append(last)
                return true
            }
        ),
        (
            "the page missed an event",
            {
                guard let messages = $0.page?.messages, messages.count > 2,
                    let place = messages.dropLast().lastIndex(where: \.hasEvents)
                else { return false }
                $0.page?.messages.remove(at: place)
                return true
            }
        ),
        (
            "the page received a wrong operation",
            {
                guard let place = $0.page?.messages.lastIndex(where: { $0.operations?.isEmpty == false }) else {
                    return false
                }
                $0.page?.messages[place].operations?.append(-1)
                return true
            }
        ),
        (
            "the page answered somebody without a token",
            {
                $0.page?.powers.append("planted")
                return true
            }
        ),
    ]

    private static let ofFunctions: [Lie] = [
        (
            "a function ran twice in one attempt",
            {
                $0.functions?.twice.append("planted")
                return true
            }
        ),
        (
            "a call ran as two operations",
            {
                guard var mark = $0.functions?.marks.last else { return false }
                mark.id += 1
                $0.functions?.marks.append(mark)
                return true
            }
        ),
        (
            "a function has a wrong result",
            {
                guard $0.functions?.results.isEmpty == false else { return false }
                $0.functions?.results[0].value += 1
                return true
            }
        ),
    ]

    /// Changes the evidence about the file of a successful transfer.
    private static func change(
        _ evidence: inout Evidence, _ change: (inout TransferEvidence, String) -> Void
    ) -> Bool {
        let row = evidence.rows.values.first { evidence.isTransfer($0.id) && $0.outcome == "succeeded" }
        guard let row, var transfers = evidence.transfers else { return false }
        change(&transfers, row.name)
        evidence.transfers = transfers
        return true
    }
}

/// The transition of the present turn, and the numbers of the next report, operation and graph.
struct Output: Codable {
    private(set) var transition = Transition()
    /// Sequence number of the last report.
    private(set) var sequence: Int64
    private(set) var nextOperation: Int64
    private(set) var nextGraph: Int64

    init(sequence: Int64, nextOperation: Int64, nextGraph: Int64) {
        self.sequence = sequence
        self.nextOperation = nextOperation
        self.nextGraph = nextGraph
    }

    mutating func record(_ change: Change) { transition.changes.append(change) }
    mutating func emit(_ effect: Effect) { transition.effects.append(effect) }

    /// Gives a report its number.
    mutating func publish(_ report: (_ sequence: Int64) -> Report) {
        sequence += 1
        transition.reports.append(report(sequence))
    }

    /// Makes room for more reports. The room at least doubles, because a turn may have many small submissions.
    mutating func reserveReports(_ more: Int) {
        let count = transition.reports.count
        guard count + more > transition.reports.capacity else { return }
        transition.reports.reserveCapacity(max(count + more, 2 * count))
    }

    /// Removes the last such effect of this turn. Returns false if there is none.
    @discardableResult mutating func withdraw(_ effect: Effect) -> Bool {
        guard let index = transition.effects.lastIndex(of: effect) else { return false }
        transition.effects.remove(at: index)
        return true
    }

    /// Removes every effect of this turn that `matches`.
    mutating func withdraw(where matches: (Effect) -> Bool) { transition.effects.removeAll(where: matches) }

    mutating func withdrawAll(_ effect: Effect) { transition.effects.removeAll { $0 == effect } }

    mutating func numberGraph() { nextGraph += 1 }
    mutating func numberOperations(_ count: Int) { nextOperation += Int64(count) }

    /// Returns the transition of the turn, and begins the next.
    mutating func endTurn() -> Transition {
        let result = transition
        transition = Transition()
        // The next turn is likely to be as large as this one, unless this one was huge.
        transition.changes.reserveCapacity(min(result.changes.count, 256))
        transition.reports.reserveCapacity(min(result.reports.count, 256))
        transition.effects.reserveCapacity(min(result.effects.count, 256))
        return result
    }

    /// Reports are numbered without a gap, and each id that is given out is lower than the next.
    func checkInvariants(lastOperation: Int64, lastGraph: Int64) -> [String] {
        var broken: [String] = []
        for (offset, report) in transition.reports.reversed().enumerated()
        where report.sequence != sequence - Int64(offset) {
            broken.append("10: report \(report.sequence) is not number \(sequence - Int64(offset))")
        }
        if lastOperation >= nextOperation { broken.append("10: \(lastOperation) is not below \(nextOperation)") }
        if lastGraph >= nextGraph { broken.append("10: g\(lastGraph) is not below g\(nextGraph)") }
        return broken
    }
}

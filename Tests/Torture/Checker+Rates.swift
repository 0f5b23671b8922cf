/// Checks the rate of a category by the marks of the processes.
extension Checker {
    /// Checks the time from the first decision to the last mark of each series of starts that is one longer than the
    /// rate allows. A fault may delay a process after opsd's decision, so marks alone may be too close together.
    mutating func rates() -> Int {
        let rate = Planner.rate
        let starts = ratedStarts()
        for last in starts.indices.dropFirst(rate.count) {
            let together = starts[(last - rate.count)...last]
            let first = together.map(\.decided).min() ?? 0
            let seconds = starts[last].marked - first
            guard seconds < rate.seconds - Self.rounding else { continue }
            let ids = together.map { "\($0.id)" }.joined(separator: ", ")
            find("operations \(ids) of category \(rate.category) started within \(seconds) s")
        }
        return starts.count
    }

    private struct RatedStart { var id: Int, decided: Double, marked: Double }

    /// Returns each start of an attempt in the category, in the order in which the processes started.
    private func ratedStarts() -> [RatedStart] {
        var decided: [Marks.Attempt: Double] = [:]
        var attempts: [Int: Int] = [:]
        for event in evidence.events where event.type == "started" {
            guard let id = event.id else { continue }
            attempts[id, default: 0] += 1
            decided[.init(id: id, number: attempts[id] ?? 0)] = event.instant
        }
        return evidence.marks.starts.compactMap { start in
            guard evidence.planned[start.name]?.isRated == true else { return nil }
            // Other checks find an attempt without an event.
            let instant = decided[start.attempt] ?? start.at
            return RatedStart(id: start.attempt.id, decided: min(instant, start.at), marked: start.at)
        }.sorted { $0.marked < $1.marked }
    }
}

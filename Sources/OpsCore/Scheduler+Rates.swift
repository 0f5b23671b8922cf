/// Rates: how many operations of a category may start within an interval.
extension Scheduler {
    /// Returns the category whose rate a need is subject to: also inside a group that holds the category.
    private func rated(_ need: Need) -> CategoryIndex? {
        let category = categories[need.category].base ?? need.category
        return categories[category].rate == nil ? nil : category
    }

    /// Returns the category whose rate permits no start now.
    @inline(__always) func exhaustedRate(of needs: [Need]) -> CategoryIndex? {
        guard !categories.rated.isEmpty else { return nil }
        return firstExhaustedRate(of: needs)
    }

    private func firstExhaustedRate(of needs: [Need]) -> CategoryIndex? {
        for need in needs {
            if let category = rated(need), categories[category].rate?.hasRoom(at: now) == false { return category }
        }
        return nil
    }

    /// Counts a start. That of a process is counted at an instant once its process exists.
    mutating func countStart(of index: ExecutionIndex) {
        guard !categories.rated.isEmpty else { return }
        let needs = executions[index].holding.compactMap { rated($0) }
        guard !needs.isEmpty else { return }
        for category in needs {
            categories[category].rate?.begin()
            // Operations behind a reserved position may start: its owner waits for the rate.
            if categories[category].rate?.hasRoom(at: now) == false { reservations.requestReview() }
        }
        executions[index].uncountedRates = needs
        if table[executions[index].operation].isGroup { countConfirmedStart(of: index) }
    }

    /// Counts the start of an attempt as made now: its process exists or has ended, or there was none.
    mutating func countConfirmedStart(of index: ExecutionIndex) {
        guard !executions[index].uncountedRates.isEmpty else { return }
        let counted = executions[index].uncountedRates
        executions[index].uncountedRates = []
        for category in counted {
            guard let interval = categories[category].rate?.rate.interval else { continue }
            let (name, instant) = (categories[category].name, now.monotonic)
            categories[category].rate?.confirm(instant)
            record(.rateStarted(name, at: instant, expired: instant - interval))
        }
    }

    /// Counts the starts that are under way for a rate that is set now, as after a restart of opsd.
    mutating func countStartsUnderWay(of category: CategoryIndex) {
        for index in Array(executions.indices) where isStarting(index) {
            let needs = executions[index].holding.compactMap { rated($0) }
            for need in needs where need == category { categories[need].rate?.begin() }
            executions[index].uncountedRates = needs
        }
    }

    /// Starts that are under way do not count for a rate that is gone.
    mutating func forgetStartsUnderWay(of category: CategoryIndex) {
        for index in Array(executions.indices) { executions[index].uncountedRates.removeAll { $0 == category } }
    }

    /// Restores a start whose process was not stored when opsd ended.
    mutating func restoreCount(of index: ExecutionIndex) {
        guard isStarting(index) else { return }
        let needs = executions[index].holding.compactMap { rated($0) }
        for category in needs { categories[category].rate?.begin() }
        executions[index].uncountedRates = needs
    }

    /// True if it is not known yet whether the attempt has a process.
    private func isStarting(_ index: ExecutionIndex) -> Bool {
        let execution = executions[index]
        return execution.process == nil && execution.exit == nil && !execution.isOver
            && !table[execution.operation].isGroup
    }

    /// Wakes the lanes that wait for a rate that permits a start again.
    mutating func wakeRates() {
        for category in categories.rated
        where categories[category].parkedAtRateCount > 0 && categories[category].rate?.hasRoom(at: now) == true {
            wake(.rate(category))
        }
    }

    /// Earliest future instant at which a rate permits the start of a waiting lane. If its instant has passed, the best
    /// waiting lane was woken, and lacks a slot.
    var nextRatedStart: MonotonicInstant? {
        var next: MonotonicInstant?
        for category in categories.rated where categories[category].parkedAtRateCount > 0 {
            if let instant = categories[category].rate?.nextStart, instant > now.monotonic {
                next = min(next ?? instant, instant)
            }
        }
        return next
    }

    func whyRates(_ needs: [Need], _ now: Moment) -> [Reason] {
        needs.compactMap { need in
            guard let category = rated(need), let window = categories[category].rate, !window.hasRoom(at: now) else {
                return nil
            }
            // While processes are yet to be reported, the next start is at least one interval away.
            let next = window.nextStart ?? now.monotonic + window.rate.interval
            return Reason(
                kind: .rate,
                detail: .rate(category: categories[category].name, window.rate, next: now.wall(at: next)))
        }
    }
}

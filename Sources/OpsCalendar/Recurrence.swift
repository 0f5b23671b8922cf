/// The instants of one calendar expression in one time zone.
public struct Recurrence: Hashable, Sendable {
    public let expression: CalendarExpression
    public let zone: ZoneRules
    /// Instant from which `every` counts in both directions, so it also works if the clock is set back to before it.
    public let start: UnixTime

    /// - Parameter zone: Rules of the zone in the expression, or of the schedule's zone.
    public init(_ expression: CalendarExpression, zone: ZoneRules, start: UnixTime) {
        self.expression = expression
        self.zone = zone
        self.start = start
    }

    /// Returns the first instant strictly after another one. `afterFinish` and `@reboot` have none, because events
    /// start their runs.
    public func next(after instant: UnixTime) -> UnixTime? {
        switch expression.timing {
        case .pattern(let pattern):
            pattern.isHourUnrestricted ? nextElapsed(pattern, after: instant) : nextOnClock(pattern, after: instant)
        case .every(let seconds): nextRepetition(of: seconds, after: instant)
        case .afterFinish, .reboot: nil
        }
    }

    /// Returns the last instant strictly before another one, and not before 1970.
    public func previous(before instant: UnixTime) -> UnixTime? {
        last(from: UnixTime(seconds: 0), before: instant)
    }

    /// Returns the last instant from `first` on and strictly before `end`, by bisection.
    fileprivate func last(from first: UnixTime, before end: UnixTime) -> UnixTime? {
        func isThereOne(from start: Int64) -> Bool {
            next(after: UnixTime(seconds: start - 1)).map { $0 < end } ?? false
        }
        var (low, high) = (first.seconds, end.seconds)
        guard low < high, isThereOne(from: low) else { return nil }
        while high - low > 1 {
            let middle = low + (high - low) / 2
            if isThereOne(from: middle) { low = middle } else { high = middle }
        }
        return UnixTime(seconds: low)
    }

    private func nextRepetition(of seconds: Int64, after instant: UnixTime) -> UnixTime? {
        // Durations come from 64-bit nanoseconds and instants are bounded, so nothing overflows.
        let (count, rest) = (instant.seconds - start.seconds).quotientAndRemainder(dividingBy: seconds)
        let next = start.seconds + (rest < 0 ? count : count + 1) * seconds
        return next > UnixTime.bound ? nil : UnixTime(seconds: next)
    }

    /// Returns the next instant of a pattern with restricted hours. A local time counts when the clocks first show it,
    /// or a later time if they skip it.
    private func nextOnClock(_ pattern: CalendarPattern, after instant: UnixTime) -> UnixTime? {
        pattern.next(from: zone.firstUnreached(after: instant)).map(zone.firstInstant)
    }

    /// Returns the next instant of a pattern with unrestricted hours. Each instant counts at which the clocks show a
    /// matching time.
    private func nextElapsed(_ pattern: CalendarPattern, after instant: UnixTime) -> UnixTime? {
        var position = instant.advanced(by: 1)
        while true {
            let period = zone.period(containing: position)
            let local = position.seconds + Int64(period.offset)
            let match = pattern.next(from: LocalTime(seconds: local))?.seconds
            if let match {
                let found = UnixTime(seconds: match - Int64(period.offset))
                if period.contains(found) { return found }
            }
            guard period.end < .latest else { return nil }
            // No local time from `local` up to `match` matches, so periods that show only such times are skipped.
            var next = period.end
            if next.seconds + Int64(ZoneRules.offsets.lowerBound) >= local {
                guard let match else { return nil }
                next = max(next, UnixTime(seconds: match - Int64(ZoneRules.offsets.upperBound) - 1))
            }
            position = next
        }
    }
}

/// Instants of all expressions of a schedule. An instant of several expressions counts once.
public struct Recurrences: Hashable, Sendable, Sequence {
    public let all: [Recurrence]
    private let after: UnixTime

    /// - Parameter after: Instant after which iteration starts.
    public init(_ all: [Recurrence], after: UnixTime = .earliest) {
        self.all = all
        self.after = after
    }

    public func next(after instant: UnixTime) -> UnixTime? {
        all.lazy.compactMap { $0.next(after: instant) }.min()
    }

    /// Returns the last instant strictly before another one, and not before 1970. The periods that are searched double,
    /// because a search through all of the time takes long if there are many expressions.
    public func previous(before instant: UnixTime) -> UnixTime? {
        var (end, length) = (instant, Int64(1))
        while end.seconds > 0 {
            let start = UnixTime(seconds: Swift.max(0, end.seconds - length))
            if let last = all.compactMap({ $0.last(from: start, before: end) }).max() { return last }
            (end, length) = (start, length * 2)
        }
        return nil
    }

    public func makeIterator() -> AnyIterator<UnixTime> {
        var last = after
        return AnyIterator {
            guard let next = next(after: last) else { return nil }
            last = next
            return next
        }
    }
}

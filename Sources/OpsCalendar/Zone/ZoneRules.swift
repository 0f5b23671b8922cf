/// A period in which a zone has one offset from UTC. It includes `start` and excludes `end`.
public struct ZonePeriod: Hashable, Sendable {
    public let start: UnixTime
    public let end: UnixTime
    /// Seconds east of UTC.
    public let offset: Int

    func contains(_ instant: UnixTime) -> Bool { start <= instant && (instant < end || end == .latest) }
}

/// An instant at which the clocks of a zone are put forward or back.
public struct ClockChange: Hashable, Sendable {
    public let instant: UnixTime
    /// Offsets in seconds east of UTC: before `instant`, and from it on.
    public let before: Int
    public let after: Int

    public var isForward: Bool { after > before }
    /// Local time that the clocks would show without the change.
    public var localBefore: LocalTime { LocalTime(seconds: instant.seconds + Int64(before)) }
    /// Local time that they show instead.
    public var localAfter: LocalTime { LocalTime(seconds: instant.seconds + Int64(after)) }
}

/// Offset of a zone from UTC at all times: a table of changes, and a rule for the time after the table.
public struct ZoneRules: Hashable, Sendable {
    struct Change: Hashable, Sendable {
        let at: UnixTime
        let offset: Int
    }

    public static let utc = ZoneRules(initialOffset: 0)

    /// Changes in ascending order. Each one changes the offset.
    private let changes: [Change]
    private let initialOffset: Int
    /// Rule that applies from `ruleStart` on.
    private let rule: PosixRule?
    private let ruleStart: UnixTime

    /// - Parameter changes: Changes in ascending order; those that do not change the offset are dropped.
    init(initialOffset: Int, changes: [Change] = [], rule: PosixRule? = nil) {
        self.initialOffset = initialOffset
        self.rule = rule
        ruleStart = changes.last?.at ?? .earliest
        var effective: [Change] = []
        for change in changes where change.offset != (effective.last?.offset ?? initialOffset) {
            effective.append(change)
        }
        self.changes = effective
    }

    /// Reads a POSIX time zone such as `CET-1CEST,M3.5.0,M10.5.0/3`.
    public init(posix text: String) throws(ZoneFileError) {
        self.init(initialOffset: 0, rule: try PosixRule(Array(text.utf8)))
    }

    // MARK: - Lookup

    public func offset(at instant: UnixTime) -> Int { period(containing: instant).offset }

    public func localTime(at instant: UnixTime) -> LocalTime {
        LocalTime(seconds: instant.seconds + Int64(offset(at: instant)))
    }

    /// Returns the period around an instant. Its neighbours may have the same offset.
    public func period(containing instant: UnixTime) -> ZonePeriod {
        if let rule, instant >= ruleStart {
            let period = rule.period(containing: instant)
            return ZonePeriod(start: max(period.start, ruleStart), end: period.end, offset: period.offset)
        }
        // Number of changes up to the instant.
        var (low, high) = (0, changes.count)
        while low < high {
            let middle = (low + high) / 2
            if changes[middle].at <= instant { low = middle + 1 } else { high = middle }
        }
        let tableEnd = rule == nil ? .latest : ruleStart
        return ZonePeriod(
            start: low > 0 ? changes[low - 1].at : .earliest,
            end: low < changes.count ? min(changes[low].at, tableEnd) : tableEnd,
            offset: low > 0 ? changes[low - 1].offset : initialOffset)
    }

    /// Returns the first change strictly after `instant` and not after `limit`.
    public func nextChange(after instant: UnixTime, through limit: UnixTime) -> ClockChange? {
        var current = period(containing: instant)
        while current.end <= limit, current.end < .latest {
            let next = period(containing: current.end)
            if next.offset != current.offset {
                return ClockChange(instant: current.end, before: current.offset, after: next.offset)
            }
            current = next
        }
        return nil
    }

    /// Returns the first instant at which the clocks show `local` or a later time. Of two instants it is the first, and
    /// for a skipped time the end of the gap.
    public func firstInstant(reaching local: LocalTime) -> UnixTime {
        var current = period(containing: Self.before(local))
        while true {
            let candidate = UnixTime(seconds: local.seconds - Int64(current.offset))
            if candidate < current.start { return current.start }
            if candidate < current.end || current.end >= .latest { return candidate }
            current = period(containing: current.end)
        }
    }

    /// Returns the earliest local time that the clocks have not shown up to and including `instant`. The second pass of
    /// a repeated hour shows no new time.
    func firstUnreached(after instant: UnixTime) -> LocalTime {
        var current = period(containing: instant)
        var local = instant.seconds + Int64(current.offset) + 1
        let limit = instant.advanced(by: -Self.largestShift)
        while current.start > limit {
            let previous = period(containing: current.start.advanced(by: -1))
            local = max(local, current.start.seconds + Int64(previous.offset))
            current = previous
        }
        return LocalTime(seconds: local)
    }

    /// Returns the change that makes a day longer or shorter than 24 hours, or that ends a gap on it.
    public func clockChange(on day: LocalDate) -> ClockChange? {
        let midnight = LocalTime(day, hour: 0, minute: 0, second: 0).seconds
        let end = midnight + LocalTime.secondsPerDay
        var instant = UnixTime(seconds: midnight - Self.largestShift)
        let limit = UnixTime(seconds: end + Self.largestShift)
        while let change = nextChange(after: instant, through: limit) {
            let before = change.instant.seconds + Int64(change.before)
            let after = change.instant.seconds + Int64(change.after)
            // Counts if the day contains skipped times or the first time after them, or repeated times.
            if change.isForward ? before < end && after >= midnight : after < end && before > midnight { return change }
            instant = change.instant
        }
        return nil
    }

    // MARK: - Limits

    /// Offsets that RFC 8536 allows, in seconds.
    static let offsets = -89_999...93_599
    static let largestShift = Int64(offsets.upperBound - offsets.lowerBound)

    /// Returns an instant at which no clock has reached `local` yet.
    private static func before(_ local: LocalTime) -> UnixTime {
        UnixTime(seconds: local.seconds - Int64(offsets.upperBound) - 1)
    }
}

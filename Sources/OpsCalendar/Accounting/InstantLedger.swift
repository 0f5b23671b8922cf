/// The accounting of one schedule. It decides once for each nominal instant whether a run starts.
///
/// Instants are decided in order. `decision` changes nothing, so an instant stays due until its record is stored and
/// `account` is called with the record. If the commit fails, or opsd crashes before that, the instant is decided again;
/// after that, it never is.
public struct InstantLedger: Sendable {
    /// Maximum number of instants that are caught up after one absence.
    public static let longestCatchUp = 1000
    /// Maximum number of instants in one decision.
    public static let instantsPerDecision = 10_000

    /// The stored part of a ledger.
    public struct Position: Hashable, Sendable {
        /// Instant up to which, inclusive, every nominal instant has its record.
        public var accounted: UnixTime
        /// Number of runs.
        public var runs = 0
        /// Instants that become due up to this one are recorded as paused. It is `latest` while the schedule is paused.
        public var pausedThrough = UnixTime.earliest
        /// Latest record, to which adjacent instants may be added.
        public var last: InstantRecord?
        /// Instants after `accounted` that have run anyway, because the clock was turned back after them.
        public var ranAhead: Set<UnixTime> = []

        public init(accounted: UnixTime) { self.accounted = accounted }
    }

    public enum Decision: Hashable, Sendable {
        /// The instant runs. If `cancelling`, unfinished runs are cancelled first.
        case run(UnixTime, cancelling: Bool)
        /// The instants of the record do not run.
        case record(InstantRecord)
    }

    private let recurrences: Recurrences
    private let policy: SchedulePolicy
    private let seed: UInt64
    public private(set) var position: Position
    /// Instants that became due before this one were missed, except those from `caughtUpFrom` on.
    private var missedBefore = UnixTime.earliest
    /// Missed instants from this one on are caught up.
    private var caughtUpFrom = UnixTime.latest

    /// - Parameter name: Name of the schedule. Name and instant together determine the delay of a run.
    public init(_ recurrences: Recurrences, _ policy: SchedulePolicy, name: String, at position: Position) {
        self.recurrences = recurrences
        self.policy = policy
        self.position = position
        // FNV-1a gives the same result in every process, unlike the hashes of the standard library.
        seed = name.utf8.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }

    // MARK: - Instants

    /// The first instant without a record; nil if the schedule has ended.
    public var nextNominal: UnixTime? {
        if let count = policy.count, position.runs >= count { return nil }
        return instant(after: position.accounted)
    }

    /// The instant at which the next decision is due.
    public var nextStart: UnixTime? { nextNominal.map(start) }

    /// Returns the start of the run for an instant: the instant plus its delay, which ends before the next instant.
    public func start(of nominal: UnixTime) -> UnixTime {
        guard policy.spread > 0 else { return nominal }
        let gap = recurrences.next(after: nominal).map { $0.seconds - nominal.seconds } ?? .max
        let longest = UInt64(max(min(policy.spread, gap - 1), 0))
        return nominal.advanced(by: Int64(mixed(UInt64(bitPattern: nominal.seconds)) % (longest + 1)))
    }

    /// Returns a pseudo-random number that depends only on the name and the instant (the last steps of SplitMix64).
    private func mixed(_ number: UInt64) -> UInt64 {
        var hash = seed &+ number &* 0x9E37_79B9_7F4A_7C15
        hash = (hash ^ hash >> 30) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ hash >> 27) &* 0x94D0_49BB_1331_11EB
        return hash ^ hash >> 31
    }

    /// Returns the first instant after another one that is between `from` and `until` and has not run.
    private func instant(after instant: UnixTime) -> UnixTime? {
        var after = policy.from.map { max(instant, $0.advanced(by: -1)) } ?? instant
        while let next = recurrences.next(after: after), next <= policy.until ?? .latest {
            if !position.ranAhead.contains(next) { return next }
            after = next
        }
        return nil
    }

    // MARK: - Decisions

    /// Decides about the first due instant, together with later ones that share its record; returns nil if none is due.
    ///
    /// - Parameters:
    ///   - unfinished: Number of unfinished runs of this schedule.
    ///   - endingDelays: True if instants whose delay is under way count as due, because the schedule is about to get
    ///     another calendar, which may not contain them.
    public func decision(at now: UnixTime, unfinished: Int, endingDelays: Bool = false) -> Decision? {
        let isDue = { (instant: UnixTime) in (endingDelays ? instant : start(of: instant)) <= now }
        guard let first = nextNominal, isDue(first) else { return nil }
        if isPaused(first) { return .record(stretch(.paused, from: first) { isDue($0) && isPaused($0) }) }
        if isMissed(first) {
            return .record(stretch(.missed, from: first) { isDue($0) && isMissed($0) && !isPaused($0) })
        }
        if policy.overlap.skips(unfinished) {
            return .record(stretch(.skipped, from: first) { isDue($0) && !isMissed($0) && !isPaused($0) })
        }
        return .run(first, cancelling: policy.overlap == .cancel && unfinished > 0)
    }

    private func isPaused(_ instant: UnixTime) -> Bool { start(of: instant) <= position.pausedThrough }
    private func isMissed(_ instant: UnixTime) -> Bool { instant < caughtUpFrom && start(of: instant) < missedBefore }

    /// Returns one record for `first` and the following instants with the same result.
    private func stretch(
        _ result: InstantRecord.Result, from first: UnixTime, while isAlike: (UnixTime) -> Bool
    ) -> InstantRecord {
        var (last, count) = (first, 1)
        while count < Self.instantsPerDecision, let next = recurrences.next(after: last),
            next <= policy.until ?? .latest, !position.ranAhead.contains(next), isAlike(next)
        {
            (last, count) = (next, count + 1)
        }
        return InstantRecord(result, from: first, through: last, count: count)
    }

    /// Adds the record of the first instants without one.
    ///
    /// - Returns: The record to store under its first instant; it may be the latest record with more instants. Nil if
    /// the instant already has a record: then there is nothing to store or run.
    public mutating func account(_ record: InstantRecord) -> InstantRecord? {
        guard record.nominal == nextNominal else { return nil }
        // If an instant that ran ahead is between the two, a joint record would cover it.
        let isAdjacent = recurrences.next(after: position.accounted) == record.nominal
        let stored = isAdjacent ? position.last?.joined(with: record) ?? record : record
        if record.result == .run { position.runs += 1 }
        position.accounted = record.through
        position.last = stored
        position.ranAhead = position.ranAhead.filter { $0 > record.through }
        return stored
    }

    /// Counts a run that an event has started.
    public mutating func noteRun() { position.runs += 1 }

    /// Records that an instant without a record of the calendar has run already: a backfill started the run, and then
    /// the clock was turned back.
    public mutating func noteEarlierRun(of instant: UnixTime) { position.ranAhead.insert(instant) }

    /// Records that an instant has run later, although it had a record: that record has been replaced by the parts that
    /// `split` returns.
    public mutating func noteLateRun(of instant: UnixTime) {
        guard let last = position.last, last.result != .run, last.nominal...last.through ~= instant else { return }
        position.last = split(last, at: instant).after
    }

    // MARK: - Pauses, absences and clocks

    public mutating func pause() { position.pausedThrough = .latest }

    /// Ends a pause: instants that became due during it are recorded as paused.
    public mutating func resume(at now: UnixTime) { position.pausedThrough = min(position.pausedThrough, now) }

    /// Records that nothing could start before `now`: instants that became due meanwhile are missed, except those that
    /// are caught up.
    public mutating func returned(at now: UnixTime) {
        missedBefore = now
        caughtUpFrom = .latest
        // The search below is more expensive than this check, and most schedules have missed nothing.
        guard let next = nextStart, next < now else { return }
        let oldest = max(position.accounted, now.advanced(by: -max(policy.window, 0) - 1))
        switch policy.catchUp {
        case .none: break
        case .last: caughtUpFrom = lastMissed(1, after: oldest) ?? .latest
        case .all: caughtUpFrom = lastMissed(Self.longestCatchUp, after: oldest) ?? .latest
        }
    }

    /// Returns the first of the last `count` missed instants after another one, or the first of all if there are fewer.
    private func lastMissed(_ count: Int, after oldest: UnixTime) -> UnixTime? {
        var found: UnixTime?
        var (before, left) = (min(missedBefore, (policy.until ?? .latest).advanced(by: 1)), count)
        while left > 0, let previous = recurrences.previous(before: before), previous > oldest,
            previous >= policy.from ?? .earliest
        {
            before = previous
            guard start(of: previous) < missedBefore, !position.ranAhead.contains(previous) else { continue }
            (found, left) = (previous, left - 1)
        }
        return found
    }

    /// Returns whether records, the latest pause or the latest absence reach past `now`: the clock was turned back.
    public func isAhead(of now: UnixTime) -> Bool {
        let pausedThrough = position.pausedThrough
        return now < max(position.accounted, missedBefore) || now < pausedThrough && pausedThrough < .latest
    }

    /// Records that the clock was turned back. Instants that ran do not run again. Others after `now` are undecided
    /// again: the caller removes their records, or shortens them with `shortened`.
    ///
    /// - Parameter ran: Instants after `now` that have run.
    public mutating func clockWentBack(to now: UnixTime, ran: some Sequence<UnixTime>) {
        missedBefore = min(missedBefore, now)
        if position.pausedThrough < .latest { resume(at: now) }
        guard now < position.accounted else { return }
        position.ranAhead.formUnion(ran)
        position.ranAhead = position.ranAhead.filter { $0 > now }
        position.last = nil
        position.accounted = now
    }

    /// Returns a record of instants that did not run, without those after `end`; nil if none is left. If the record is
    /// of an earlier calendar, whose instants are no longer known, or of more instants than one decision has, whose
    /// enumeration would take too long, it ends with `end` and keeps a proportional count.
    public func shortened(_ record: InstantRecord, to end: UnixTime) -> InstantRecord? {
        guard record.through > end else { return record }
        guard record.nominal <= end else { return nil }
        var (last, count, total) = (record.nominal, 0, 0)
        var next = record.count <= Self.instantsPerDecision ? record.nominal : nil
        while let instant = next, instant <= record.through, total <= record.count {
            if instant <= end { (last, count) = (instant, count + 1) }
            total += 1
            next = instant == record.through ? nil : recurrences.next(after: instant)
        }
        if total == record.count, next == nil {
            return InstantRecord(record.result, from: record.nominal, through: last, count: count)
        }
        // Exact, because a share as a floating-point number is rounded, and one instant would be lost.
        let product = (record.count - 1).multipliedFullWidth(by: Int(end.seconds - record.nominal.seconds))
        let some = Int(record.through.seconds - record.nominal.seconds).dividingFullWidth(product).quotient
        return InstantRecord(record.result, from: record.nominal, through: end, count: 1 + some)
    }

    /// Returns the parts of a record of instants that did not run, before and after one of them.
    public func split(
        _ record: InstantRecord, at instant: UnixTime
    ) -> (before: InstantRecord?, after: InstantRecord?) {
        let before = shortened(record, to: instant.advanced(by: -1))
        let left = record.count - (before?.count ?? 0) - 1
        guard left > 0, let next = recurrences.next(after: instant), next <= record.through else {
            return (before, nil)
        }
        return (before, InstantRecord(record.result, from: next, through: record.through, count: left))
    }
}

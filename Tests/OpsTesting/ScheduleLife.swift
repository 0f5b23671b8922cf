public import OpsCalendar

/// One schedule in a world of crashes, full disks, clocks that jump and calendars that change, and the store that
/// outlives them.
public struct ScheduleLife {
    public enum Fault: CaseIterable, Sendable {
        /// Starts a run before its record is stored: it starts once more after a crash.
        case startsBeforeCommit
        /// Moves on from instants that did not run without storing their record.
        case forgetsUnrun
    }

    public struct Broken: Error, Hashable {
        public let rule: String

        public init(rule: String) { self.rule = rule }
    }

    /// A calendar, and the instant after which it counts.
    private struct Era {
        let from: UnixTime
        let recurrences: Recurrences
    }

    private var eras: [Era]
    private var policy = SchedulePolicy()
    private let fault: Fault?
    private var dice: SeededGenerator
    private var ledger: InstantLedger
    private var now: Int64
    private var stored: InstantLedger.Position
    private let created: UnixTime
    private var records: [UnixTime: InstantRecord] = [:]
    /// First instants of records that were cut within a calendar that counts no more.
    private var cut: Set<UnixTime> = []
    private var started: [UnixTime: Int] = [:]
    private var unfinished = 0
    private var isDiskFull = false
    /// Results that have been seen, so that a test can tell that it tested something.
    public private(set) var seen: Set<InstantRecord.Result> = []

    public static let firstInstant = UnixTime(seconds: 1_795_000_000)

    public init(seed: UInt64, fault: Fault? = nil) throws {
        (dice, self.fault) = (SeededGenerator(seed: seed), fault)
        created = Self.firstInstant
        now = created.seconds
        stored = .init(accounted: created)
        let berlin = try ZoneRules(posix: "CET-1CEST,M3.5.0,M10.5.0/3")
        let texts = [["30 2 * * *"], ["every 7h"], ["0 */12 * * *", "Mon 02:30"]]
        calendars = try texts.map { texts in
            Recurrences(
                try texts.map {
                    Recurrence(
                        try CalendarExpression($0) { $0 == "7h" ? 25_200_000_000_000 : nil }, zone: berlin,
                        start: Self.firstInstant)
                })
        }
        let first = dice.pick(calendars)
        eras = [Era(from: created, recurrences: first)]
        ledger = InstantLedger(first, policy, name: "life", at: stored)
        choosePolicy()
        reopen()
    }

    private let calendars: [Recurrences]
    private var calendar: Recurrences { eras[eras.count - 1].recurrences }
    private var instant: UnixTime { UnixTime(seconds: now) }

    private mutating func choosePolicy() {
        policy = SchedulePolicy()
        policy.overlap = dice.pick(SchedulePolicy.Overlap.allCases)
        policy.catchUp = dice.pick(SchedulePolicy.CatchUp.allCases)
        if policy.contradiction != nil { policy.overlap = .queueAll }
        policy.spread = dice.pick([0, 0, 60, 100_000])
        policy.window = dice.pick([0, 3600, 86_400, 1_000_000])
    }

    /// Opens what is stored, as a daemon does that starts: the latest record and the instants that ran are those of the
    /// records.
    private mutating func reopen() {
        let last = records.values.max { $0.nominal < $1.nominal }
        stored.last = last?.through == stored.accounted ? last : nil
        stored.ranAhead = Set(ran(after: stored.accounted))
        ledger = InstantLedger(calendar, policy, name: "life", at: stored)
    }

    private func ran(after instant: UnixTime) -> [UnixTime] {
        records.values.filter { $0.result == .run && $0.nominal > instant }.map(\.nominal)
    }

    public mutating func live(_ steps: Int) throws(Broken) {
        for step in 1...steps {
            switch dice.below(24) {
            case 0: restart(after: Int64(dice.below(300_000)) * (dice.chance(20) ? -1 : 1))
            case 1: jump(by: Int64(1 + dice.below(31_536_000)))
            case 2: jump(by: -Int64(1 + dice.below(31_536_000)))
            case 3: jump(by: dice.chance(50) ? 1 : -1)
            case 4:
                guard !isDiskFull else { continue }
                ledger.pause()
                stored.pausedThrough = ledger.position.pausedThrough
            case 5, 6:
                guard !isDiskFull else { continue }
                ledger.resume(at: instant)
                stored.pausedThrough = ledger.position.pausedThrough
            case 7...10: unfinished = max(unfinished - 1, 0)
            case 11: isDiskFull = true
            case 12, 13: isDiskFull = false
            case 14: try change()
            default:
                // The alarm, or a turn between two alarms.
                let next = ledger.nextStart?.seconds ?? now
                now = max(now, dice.chance(50) ? next : min(next, now + 7200))
            }
            try decide()
            if step % 20 == 0 { try check() }
        }
        isDiskFull = false
        try decide()
        try check()
    }

    /// Decides all that is due, unless the world ends before.
    private mutating func decide(endingDelays: Bool = false) throws(Broken) {
        for _ in 0..<3000 {
            let due = ledger.decision(at: instant, unfinished: unfinished, endingDelays: endingDelays)
            guard let due, !isDiskFull else { return }
            var next = ledger
            switch due {
            case .run(let nominal, let cancelling):
                if fault == .startsBeforeCommit { started[nominal, default: 0] += 1 }
                if isUnlucky() { return restart(after: 0) }
                guard let record = next.account(InstantRecord(.run, at: nominal)) else { continue }
                if isUnlucky() {
                    isDiskFull = true
                    return
                }
                try store(record, next)
                if fault != .startsBeforeCommit { started[nominal, default: 0] += 1 }
                unfinished = cancelling ? 1 : unfinished + 1
            case .record(let unrun):
                guard let record = next.account(unrun) else { continue }
                if isUnlucky() { return restart(after: 0) }
                if fault == .forgetsUnrun { (ledger, stored) = (next, next.position) } else { try store(record, next) }
            }
            if isUnlucky() { return restart(after: 0) }
        }
        throw Broken(rule: "decisions come to an end")
    }

    private mutating func isUnlucky() -> Bool { dice.below(30) == 0 }

    /// One commit: the record and the position.
    private mutating func store(_ record: InstantRecord, _ next: InstantLedger) throws(Broken) {
        if let old = records[record.nominal], old.result == .run || old.result != record.result {
            throw Broken(rule: "each instant is in one record")
        }
        records[record.nominal] = record
        seen.insert(record.result)
        (ledger, stored) = (next, next.position)
    }

    /// Gives the schedule another calendar and other rules, once all that has come is decided.
    private mutating func change() throws(Broken) {
        try decide(endingDelays: true)
        guard !isDiskFull, ledger.nextNominal.map({ $0 > instant }) ?? true else { return }
        choosePolicy()
        stored.accounted = max(stored.accounted, instant)
        eras.append(Era(from: stored.accounted, recurrences: dice.pick(calendars)))
        reopen()
        if isUnlucky() { restart(after: 0) }
    }

    private mutating func restart(after seconds: Int64) {
        now = max(now + seconds, created.seconds)
        isDiskFull = false
        reopen()
        turnBack()
        ledger.returned(at: instant)
    }

    private mutating func jump(by seconds: Int64) {
        now = max(now + seconds, created.seconds)
        // An adjustment as small as that is none, and a daemon without storage waits until it has some.
        guard abs(seconds) > 2 else { return }
        guard seconds < 0 else { return ledger.returned(at: instant) }
        isDiskFull = false
        turnBack()
    }

    /// Takes the clock as it is, if that is earlier than a record or the end of a pause.
    private mutating func turnBack() {
        guard ledger.isAhead(of: instant) else { return }
        let ran = ran(after: instant)
        for (key, record) in records where record.result != .run && record.through > instant {
            records[key] = ledger.shortened(record, to: instant)
            if eras.count > 1 { cut.insert(key) }
        }
        ledger.clockWentBack(to: instant, ran: ran)
        stored = ledger.position
        let calendar = self.calendar
        while let last = eras.last, last.from > instant { eras.removeLast() }
        if eras.last?.recurrences != calendar { eras.append(Era(from: instant, recurrences: calendar)) }
    }

    /// Instants of the calendars that counted, after one instant and up to another.
    private func instants(after first: UnixTime, through last: UnixTime) -> [UnixTime] {
        var found: [UnixTime] = []
        for (index, era) in eras.enumerated() {
            let end = index + 1 < eras.count ? min(eras[index + 1].from, last) : last
            var position = max(era.from, first)
            while let next = era.recurrences.next(after: position), next <= end {
                found.append(next)
                position = next
            }
        }
        return found
    }

    /// Every instant up to the position is in exactly one record, and has started if and only if it is one of a run.
    private func check() throws(Broken) {
        var isCovered: Set<UnixTime> = []
        for record in records.values {
            let before = UnixTime(seconds: record.nominal.seconds - 1)
            // A run may have an instant that a calendar of today does not know: the clock was turned back after it.
            let covered =
                record.result == .run ? [record.nominal] : instants(after: before, through: record.through)
            for instant in covered {
                guard isCovered.insert(instant).inserted else { throw Broken(rule: "each instant is in one record") }
            }
            guard covered.count == record.count || cut.contains(record.nominal) else {
                throw Broken(rule: "records count their instants")
            }
        }
        for instant in instants(after: created, through: stored.accounted) where !isCovered.contains(instant) {
            throw Broken(rule: "no instant is forgotten")
        }
        for (instant, count) in started where count > 1 || records[instant]?.result != .run {
            throw Broken(rule: "an instant runs at most once, and only with its record")
        }
    }
}

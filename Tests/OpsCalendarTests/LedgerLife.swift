@testable import OpsCalendar

/// One schedule in a world of crashes, failed commits and clocks that jump, and the store that outlives them.
struct LedgerLife {
    enum Fault: CaseIterable {
        /// Starts a run before its record is stored.
        case startsBeforeCommit
        /// Moves on from instants that did not run without storing their record.
        case forgetsUnrun
    }

    struct Broken: Error, Hashable {
        let rule: String
    }

    private let recurrences: Recurrences
    private let policy: SchedulePolicy
    private let fault: Fault?
    private var dice: Dice
    private var ledger: InstantLedger
    private var now: Int64
    private var stored: InstantLedger.Position
    private let created: UnixTime
    private var records: [UnixTime: InstantRecord] = [:]
    private var started: [UnixTime: Int] = [:]
    private var unfinished = 0
    /// Results that have been seen, so that a test can tell that it tested something.
    private(set) var seen: Set<InstantRecord.Result> = []

    init(seed: UInt64, _ recurrences: Recurrences, fault: Fault? = nil) {
        var dice = Dice(seed)
        var policy = SchedulePolicy()
        policy.overlap = SchedulePolicy.Overlap.allCases.randomElement(using: &dice) ?? .skip
        policy.catchUp = SchedulePolicy.CatchUp.allCases.randomElement(using: &dice) ?? .last
        if policy.contradiction != nil { policy.overlap = .queueAll }
        policy.spread = [0, 0, 60, 100_000].randomElement(using: &dice) ?? 0
        policy.window = [0, 3600, 86_400, 1_000_000].randomElement(using: &dice) ?? 0
        now = 1_795_000_000
        created = UnixTime(seconds: now)
        stored = .init(accounted: created)
        ledger = InstantLedger(recurrences, policy, name: "life", at: stored)
        (self.dice, self.policy, self.recurrences, self.fault) = (dice, policy, recurrences, fault)
    }

    mutating func live(_ steps: Int) throws(Broken) {
        for step in 1...steps {
            switch Int.random(in: 0..<20, using: &dice) {
            case 0: restart(after: .random(in: 0...300_000, using: &dice))
            case 1: jump(by: .random(in: 1...31_536_000, using: &dice))
            case 2: jump(by: -.random(in: 1...31_536_000, using: &dice))
            case 3: jump(by: [-1, 1].randomElement(using: &dice) ?? 1)
            case 4:
                ledger.pause()
                stored.pausedThrough = ledger.position.pausedThrough
            case 5, 6:
                ledger.resume(at: UnixTime(seconds: now))
                stored.pausedThrough = ledger.position.pausedThrough
            case 7...10: unfinished = max(unfinished - 1, 0)
            default:
                // The alarm, or a turn between two alarms.
                let next = ledger.nextStart?.seconds ?? now
                now = max(now, Bool.random(using: &dice) ? next : min(next, now + 7200))
            }
            try decide()
            if step % 20 == 0 { try check() }
        }
        try check()
    }

    private mutating func decide() throws(Broken) {
        for _ in 0..<3000 {
            guard let decision = ledger.decision(at: UnixTime(seconds: now), unfinished: unfinished) else { return }
            var next = ledger
            switch decision {
            case .run(let nominal, let cancelling):
                if fault == .startsBeforeCommit { started[nominal, default: 0] += 1 }
                if isUnlucky() { return restart(after: 0) }
                guard let record = next.account(InstantRecord(.run, at: nominal)) else { continue }
                if isUnlucky() { return }
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

    /// A crash, or a commit that fails.
    private mutating func isUnlucky() -> Bool { Int.random(in: 0..<30, using: &dice) == 0 }

    /// One commit: the record and the position.
    private mutating func store(_ record: InstantRecord, _ next: InstantLedger) throws(Broken) {
        if let old = records[record.nominal], old.result == .run || old.result != record.result {
            throw Broken(rule: "each instant is in one record")
        }
        records[record.nominal] = record
        seen.insert(record.result)
        (ledger, stored) = (next, next.position)
    }

    private mutating func restart(after seconds: Int64) {
        now += seconds
        ledger = InstantLedger(recurrences, policy, name: "life", at: stored)
        ledger.returned(at: UnixTime(seconds: now))
    }

    private mutating func jump(by seconds: Int64) {
        now = max(now + seconds, created.seconds)
        let instant = UnixTime(seconds: now)
        guard seconds < 0 else { return ledger.returned(at: instant) }
        let ran = records.values.filter { $0.result == .run && $0.nominal > instant }.map(\.nominal)
        ledger.clockWentBack(to: instant, ran: ran)
        for (key, record) in records where record.result != .run {
            records[key] = ledger.shortened(record, to: instant)
        }
        stored = ledger.position
    }

    /// Every instant up to the position is in exactly one record, and has started if and only if it is one of a run.
    private func check() throws(Broken) {
        var isCovered: Set<UnixTime> = []
        for record in records.values {
            var count = 0
            for instant in Recurrences(recurrences.all, after: UnixTime(seconds: record.nominal.seconds - 1)) {
                guard instant <= record.through else { break }
                count += 1
                guard isCovered.insert(instant).inserted else { throw Broken(rule: "each instant is in one record") }
            }
            guard count == record.count else { throw Broken(rule: "records count their instants") }
        }
        for instant in Recurrences(recurrences.all, after: created) {
            guard instant <= stored.accounted else { break }
            guard isCovered.contains(instant) else { throw Broken(rule: "no instant is forgotten") }
        }
        for (instant, count) in started where count > 1 || records[instant]?.result != .run {
            throw Broken(rule: "an instant runs at most once, and only with its record")
        }
    }
}

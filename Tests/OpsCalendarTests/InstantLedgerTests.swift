import Testing

@testable import OpsCalendar

@Suite struct InstantLedgerTests {
    private static let noon: Int64 = 1_795_262_400

    /// A schedule of every ten seconds from noon on, without any record.
    private func ledger(_ change: (inout SchedulePolicy) -> Void = { _ in }) throws -> InstantLedger {
        var policy = SchedulePolicy()
        change(&policy)
        let recurrence = Recurrence(
            try expression("every 10s"), zone: .utc, start: UnixTime(seconds: Self.noon))
        return InstantLedger(
            Recurrences([recurrence]), policy, name: "nightly", at: .init(accounted: at(-1)))
    }

    private func at(_ seconds: Int64) -> UnixTime { UnixTime(seconds: Self.noon + seconds) }

    /// Makes all decisions that are due, and returns them as `run 0` or `missed 10-30`.
    private func settle(_ ledger: inout InstantLedger, at now: Int64, unfinished: Int = 0) -> [String] {
        var (texts, unfinished) = ([String](), unfinished)
        while let decision = ledger.decision(at: at(now), unfinished: unfinished) {
            let record: InstantRecord
            switch decision {
            case .run(let nominal, let cancelling):
                record = InstantRecord(.run, at: nominal)
                unfinished += cancelling ? 0 : 1
            case .record(let unrun): record = unrun
            }
            let (first, last) = (record.nominal.seconds - Self.noon, record.through.seconds - Self.noon)
            texts.append("\(record.result) \(first)" + (first == last ? "" : "-\(last)"))
            guard ledger.account(record) != nil else { return texts + ["refused"] }
        }
        return texts
    }

    @Test func `an instant stays due until it is accounted for, and is never decided again`() throws {
        var ledger = try ledger()
        #expect(ledger.nextStart == at(0))
        #expect(ledger.decision(at: at(-1), unfinished: 0) == nil)
        #expect(ledger.decision(at: at(0), unfinished: 0) == .run(at(0), cancelling: false))
        #expect(ledger.decision(at: at(5), unfinished: 0) == .run(at(0), cancelling: false))
        #expect(ledger.account(InstantRecord(.run, at: at(0))) != nil)
        #expect(ledger.account(InstantRecord(.run, at: at(0))) == nil)
        #expect(ledger.decision(at: at(9), unfinished: 0) == nil)
        #expect(ledger.nextStart == at(10))
    }

    @Test(
        arguments: [
            (.skip, 1, ["skipped 0-20"]), (.skip, 0, ["run 0", "skipped 10-20"]),
            (.queueOne, 1, ["run 0", "skipped 10-20"]), (.queueAll, 1, ["run 0", "run 10", "run 20"]),
            (.cancel, 1, ["run 0", "run 10", "run 20"]), (.allow, 1, ["run 0", "run 10", "run 20"]),
        ] as [(SchedulePolicy.Overlap, Int, [String])])
    func `overlap decides what an instant does while a run is unfinished`(
        overlap: SchedulePolicy.Overlap, unfinished: Int, expected: [String]
    ) throws {
        var ledger = try ledger { $0.overlap = overlap }
        #expect(settle(&ledger, at: 25, unfinished: unfinished) == expected)
    }

    @Test func `cancel tells that an older run is to be cancelled`() throws {
        let ledger = try ledger { $0.overlap = .cancel }
        #expect(ledger.decision(at: at(0), unfinished: 1) == .run(at(0), cancelling: true))
        #expect(ledger.decision(at: at(0), unfinished: 0) == .run(at(0), cancelling: false))
    }

    @Test(
        arguments: [
            (.none, ["missed 0-90", "run 100"]), (.last, ["missed 0-80", "run 90", "run 100"]),
            (.all, ["missed 0-60", "run 70", "run 80", "run 90", "run 100"]),
        ] as [(SchedulePolicy.CatchUp, [String])])
    func `missed instants are caught up within the window`(
        catchUp: SchedulePolicy.CatchUp, expected: [String]
    ) throws {
        var ledger = try ledger {
            ($0.overlap, $0.catchUp, $0.window) = (.allow, catchUp, 30)
        }
        ledger.returned(at: at(100))
        #expect(settle(&ledger, at: 100) == expected)
    }

    @Test func `nothing older than the window is caught up`() throws {
        var ledger = try ledger { ($0.catchUp, $0.window) = (.last, 4) }
        ledger.returned(at: at(95))
        #expect(settle(&ledger, at: 95) == ["missed 0-90"])
    }

    @Test func `at most a thousand instants are caught up`() throws {
        var ledger = try ledger { ($0.overlap, $0.catchUp) = (.queueAll, .all) }
        ledger.returned(at: at(20_001))
        let texts = settle(&ledger, at: 20_001)
        #expect(texts.first == "missed 0-10000")
        #expect(texts.count == 1001)
        #expect(texts.last == "run 20000")
    }

    @Test func `instants of a pause are recorded as paused and not caught up`() throws {
        var ledger = try ledger()
        ledger.pause()
        #expect(settle(&ledger, at: 5) == ["paused 0"])
        ledger.returned(at: at(30))
        #expect(settle(&ledger, at: 30) == ["paused 10-30"])
        ledger.resume(at: at(45))
        #expect(settle(&ledger, at: 51) == ["paused 40", "run 50"])
    }

    @Test func `adjacent instants that did not run share one record`() throws {
        var ledger = try ledger()
        func account(_ result: InstantRecord.Result, _ second: Int64) -> InstantRecord? {
            ledger.account(InstantRecord(result, at: at(second)))
        }
        #expect(account(.skipped, 0)?.count == 1)
        #expect(account(.skipped, 10) == InstantRecord(.skipped, from: at(0), through: at(10), count: 2))
        #expect(account(.refused, 20) == InstantRecord(.refused, at: at(20)))
        #expect(account(.run, 30) == InstantRecord(.run, at: at(30)))
        #expect(account(.run, 40) == InstantRecord(.run, at: at(40)))
        #expect(account(.skipped, 50) == InstantRecord(.skipped, at: at(50)))
    }

    @Test func `from, until and count bound the runs`() throws {
        var ledger = try ledger {
            ($0.overlap, $0.from, $0.until) = (.allow, at(15), at(40))
        }
        #expect(settle(&ledger, at: 100) == ["run 20", "run 30", "run 40"])
        #expect(ledger.nextStart == nil)
        ledger = try self.ledger { ($0.overlap, $0.count) = (.allow, 2) }
        #expect(settle(&ledger, at: 100) == ["run 0", "run 10"])
        #expect(ledger.nextStart == nil)
    }

    @Test func `spread delays a run by the same time after a restart, and never to the next instant`() throws {
        let first = try ledger { $0.spread = 3600 }
        let second = try ledger { $0.spread = 3600 }
        let delays = (0..<200).map { first.start(of: at($0 * 10)).seconds - at($0 * 10).seconds }
        #expect(delays == (0..<200).map { second.start(of: at($0 * 10)).seconds - at($0 * 10).seconds })
        #expect(Set(delays) == Set(0...9))
        let short = try ledger { $0.spread = 3 }
        #expect(Set((0..<200).map { short.start(of: at($0 * 10)).seconds - at($0 * 10).seconds }) == Set(0...3))
    }

    @Test func `an instant whose delay is under way is decided before the calendar changes`() throws {
        var ledger = try ledger { $0.spread = 9 }
        let delayed = try #require((1..<50).first { ledger.start(of: at($0 * 10)) > at($0 * 10) }) * 10
        #expect(settle(&ledger, at: delayed - 1).last != nil)
        #expect(ledger.decision(at: at(delayed), unfinished: 0) == nil)
        let decision = ledger.decision(at: at(delayed), unfinished: 0, endingDelays: true)
        #expect(decision == .run(at(delayed), cancelling: false))
        #expect(ledger.decision(at: at(delayed - 1), unfinished: 0, endingDelays: true) == nil)
    }

    @Test func `a clock that is turned back neither repeats a run nor stops the schedule`() throws {
        var ledger = try ledger { $0.overlap = .allow }
        #expect(settle(&ledger, at: 0) == ["run 0"])
        ledger.returned(at: at(1_000_005))
        #expect(settle(&ledger, at: 1_000_005).last == "run 1000000")
        ledger.clockWentBack(to: at(12), ran: [at(1_000_000)])
        #expect(ledger.nextStart == at(20))
        #expect(settle(&ledger, at: 25) == ["run 20"])
        ledger.returned(at: at(1_000_025))
        #expect(settle(&ledger, at: 1_000_025).suffix(2) == ["missed 1000010", "run 1000020"])
    }

    @Test func `a pause and an absence by a clock that was then turned back end with the present time`() throws {
        var ledger = try ledger()
        #expect(settle(&ledger, at: 0) == ["run 0"])
        ledger.pause()
        ledger.resume(at: at(1_000_000))
        ledger.returned(at: at(1_000_000))
        #expect(ledger.isAhead(of: at(5)))
        ledger.clockWentBack(to: at(5), ran: [])
        #expect(!ledger.isAhead(of: at(5)))
        #expect(settle(&ledger, at: 10) == ["run 10"])
    }

    @Test func `an instant that a backfill has run is passed over, and the next one is a record of its own`() throws {
        var ledger = try ledger()
        #expect(settle(&ledger, at: 0, unfinished: 1) == ["skipped 0"])
        ledger.noteEarlierRun(of: at(10))
        #expect(ledger.nextStart == at(20))
        #expect(settle(&ledger, at: 25, unfinished: 1) == ["skipped 20"])
        #expect(ledger.position.last == InstantRecord(.skipped, at: at(20)))
        #expect(ledger.position.ranAhead.isEmpty)
    }

    @Test func `a record that lies ahead of the clock is shortened`() throws {
        let ledger = try ledger()
        let record = InstantRecord(.missed, from: at(0), through: at(90), count: 10)
        #expect(
            ledger.shortened(record, to: at(35)) == InstantRecord(.missed, from: at(0), through: at(30), count: 4))
        #expect(ledger.shortened(record, to: at(90)) == record)
        #expect(ledger.shortened(record, to: at(-1)) == nil)
    }

    @Test func `no instant of a very long record is lost when it is shortened`() throws {
        let every = Recurrence(try expression("every 1s"), zone: .utc, start: at(0))
        let ledger = InstantLedger(
            Recurrences([every]), SchedulePolicy(), name: "tick", at: .init(accounted: at(-1)))
        let record = InstantRecord(.missed, from: at(0), through: at(93_619), count: 93_620)
        for end in 0..<93_619 {
            #expect(ledger.shortened(record, to: at(Int64(end)))?.count == end + 1)
        }
    }

    @Test func `rules that contradict each other are named`() {
        var policy = SchedulePolicy()
        #expect(policy.contradiction?.key == nil)
        policy.catchUp = .all
        #expect(policy.contradiction?.reason.contains("overlap queueAll") == true)
        policy.overlap = .queueAll
        #expect(policy.contradiction?.key == nil)
        (policy.from, policy.until) = (at(1), at(0))
        #expect(policy.contradiction?.key == "until")
    }

    @Test func `an instant that runs later leaves the parts of its record before and after it`() throws {
        var ledger = try ledger { $0.catchUp = .none }
        ledger.returned(at: at(95))
        #expect(settle(&ledger, at: 95) == ["missed 0-90"])
        let record = InstantRecord(.missed, from: at(0), through: at(90), count: 10)
        let (before, after) = ledger.split(record, at: at(30))
        #expect(before == InstantRecord(.missed, from: at(0), through: at(20), count: 3))
        #expect(after == InstantRecord(.missed, from: at(40), through: at(90), count: 6))
        #expect(ledger.split(record, at: at(0)).before == nil)
        #expect(ledger.split(record, at: at(90)).after == nil)
        ledger.noteLateRun(of: at(30))
        #expect(ledger.position.last == after)
        ledger.noteLateRun(of: at(90))
        #expect(ledger.position.last == nil)
    }

    @Test func `a very long record is split in proportion, without enumerating its instants`() throws {
        let record = InstantRecord(.missed, from: at(0), through: at(9_999_990), count: 1_000_000)
        let (before, after) = try ledger().split(record, at: at(500_000))
        #expect(before == InstantRecord(.missed, from: at(0), through: at(499_999), count: 50_000))
        #expect(after == InstantRecord(.missed, from: at(500_010), through: at(9_999_990), count: 949_999))
    }
}

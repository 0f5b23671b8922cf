import OpsCalendar
import OpsTesting
import Testing

/// Simulated schedules under crashes, full disks, jumps of the clock and changes of the calendar.
@Suite struct ScheduleLifeTests {
    private func life(_ seed: UInt64, _ fault: ScheduleLife.Fault? = nil) throws -> ScheduleLife {
        try ScheduleLife(seed: seed, fault: fault)
    }

    @Test func `each instant is in one record and runs at most once, through crashes and jumps`() throws {
        var seen: Set<InstantRecord.Result> = []
        for seed in 1...45 {
            var life = try life(UInt64(seed))
            #expect(throws: Never.self, "seed \(seed)") { try life.live(60) }
            seen.formUnion(life.seen)
        }
        #expect(seen == [.run, .skipped, .missed, .paused])
    }

    @Test(
        arguments: [
            (.startsBeforeCommit, "an instant runs at most once, and only with its record"),
            (.forgetsUnrun, "no instant is forgotten"),
        ] as [(ScheduleLife.Fault, String)])
    func `a planted fault is found`(fault: ScheduleLife.Fault, rule: String) throws {
        var found: Set<ScheduleLife.Broken> = []
        for seed in 1...45 {
            var life = try life(UInt64(seed), fault)
            do throws(ScheduleLife.Broken) { try life.live(60) } catch { found.insert(error) }
        }
        #expect(found.contains(ScheduleLife.Broken(rule: rule)))
    }
}

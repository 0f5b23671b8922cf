import Testing

@testable import OpsCalendar

@Suite struct LedgerLifeTests {
    private func recurrences(_ texts: [String]) throws -> Recurrences {
        let berlin = try zone("Europe/Berlin")
        let start = UnixTime(seconds: 1_795_000_000)
        return Recurrences(try texts.map { Recurrence(try expression($0), zone: berlin, start: start) })
    }

    @Test(arguments: [["30 2 * * *"], ["every 7h"], ["0 */12 * * *", "Mon 02:30"]])
    func `each instant is in one record and runs at most once, through crashes and jumps`(texts: [String]) throws {
        let recurrences = try recurrences(texts)
        var seen: Set<InstantRecord.Result> = []
        for seed in 1...15 {
            var life = LedgerLife(seed: UInt64(seed), recurrences)
            #expect(throws: Never.self, "seed \(seed)") { try life.live(60) }
            seen.formUnion(life.seen)
        }
        #expect(seen == [.run, .skipped, .missed, .paused])
    }

    @Test(
        arguments: [
            (.startsBeforeCommit, "an instant runs at most once, and only with its record"),
            (.forgetsUnrun, "no instant is forgotten"),
        ] as [(LedgerLife.Fault, String)])
    func `a planted fault is found`(fault: LedgerLife.Fault, rule: String) throws {
        let recurrences = try recurrences(["every 7h"])
        var found: Set<LedgerLife.Broken> = []
        for seed in 1...15 {
            var life = LedgerLife(seed: UInt64(seed), recurrences, fault: fault)
            do throws(LedgerLife.Broken) { try life.live(60) } catch { found.insert(error) }
        }
        #expect(found == [LedgerLife.Broken(rule: rule)])
    }
}

import Glibc
import OpsCore
import OpsTesting
import Testing

/// Seeds that every run of the tests simulates; `simulate` takes any number.
let seedsInTests: ClosedRange<UInt64> = 1...150

@Suite("Simulated lives")
struct SimulatedLives {
    @Test(arguments: [0, 1, 2] as [UInt64])
    func `every promise is kept in every history`(third: UInt64) throws {
        for seed in seedsInTests where seed % 3 == third {
            var simulation = Simulation<Scheduler>(seed: seed)
            try simulation.run()
        }
    }

    /// Beyond the first seeds: simulations that once broke a promise.
    @Test(
        arguments: [
            5778, 10939, 16850, 17021, 30165, 42775, 44340, 48108, 49740, 62238, 62655, 91482, 109_434, 139_018,
            157_935, 188_175, 215_161, 231_138, 709_941,
        ] as [UInt64])
    func `a seed that broke a promise once keeps them all`(seed: UInt64) throws {
        var simulation = Simulation<Scheduler>(seed: seed)
        try simulation.run()
    }

    @Test
    func `simulated histories contain many starts`() throws {
        var starts = 0
        for seed in seedsInTests.prefix(20) {
            var simulation = Simulation<Scheduler>(seed: seed)
            try simulation.run()
            starts += simulation.starts
        }
        #expect(starts > 200, "a simulation in which nothing starts finds nothing")
    }

    @Test
    func `simulated histories contain turns in two parts`() throws {
        var turns = 0
        for seed in seedsInTests.prefix(40) {
            var simulation = Simulation<Scheduler>(seed: seed)
            try simulation.run()
            turns += simulation.turnsInTwoParts
        }
        #expect(turns > 10, "no limit of a turn was reached")
    }

    @Test
    func `plain histories use staging`() throws {
        var tally = StagingTally()
        for seed in seedsInTests.prefix(40) {
            var random = SeededGenerator(seed: seed)
            var habits = Habits(using: &random)
            habits.isPlain = true
            var simulation = Simulation<Scheduler>(seed: seed, habits: habits)
            try simulation.run()
            tally += simulation.tally
        }
        #expect(tally.started > 10 && tally.startedEarly > 10, "\(tally)")
    }

    @Test
    func `staged launches are revoked although the caller forgets it`() throws {
        var tally = StagingTally()
        for seed in seedsInTests.prefix(60) {
            var random = SeededGenerator(seed: seed)
            var habits = Habits(using: &random)
            habits.isPlain = true
            habits.isForgetful = true
            var simulation = Simulation<Scheduler>(seed: seed, habits: habits)
            try simulation.run()
            tally += simulation.tally
        }
        #expect(tally.assumed > 10 && tally.unstaged > 10, "\(tally)")
    }

    @Test
    func `a seed gives the same history twice`() throws {
        for seed in seedsInTests.prefix(15) {
            #expect(try digest(of: seed) == digest(of: seed), "seed \(seed)")
        }
    }

    /// The hashes of dictionaries differ between processes; no decision may depend on them.
    @Test
    func `a seed gives the same history in another process`() throws {
        // It waits in its own way, because an exit test of the library waits for any child, and uses the processor for
        // those of other tests.
        let beside = "$(dirname \"$(readlink /proc/\(getpid())/exe)\")"
        let output = try #require(popen("exec \"\(beside)/simulate\" digests 15", "r"))
        var told: [UInt64?] = []
        while let line = readLine(from: output) { told.append(UInt64(line)) }
        #expect(pclose(output) == 0)
        #expect(told == (try seedsInTests.prefix(15).map { try digest(of: $0) }))
    }

    private func readLine(from file: UnsafeMutablePointer<FILE>) -> String? {
        var bytes = [CChar](repeating: 0, count: 64)
        guard fgets(&bytes, Int32(bytes.count), file) != nil else { return nil }
        return String(decoding: bytes.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

func digest(of seed: UInt64) throws -> UInt64 {
    var simulation = Simulation<Scheduler>(seed: seed)
    try simulation.run()
    return simulation.digest
}

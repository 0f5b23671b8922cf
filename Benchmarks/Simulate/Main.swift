internal import Glibc
internal import OpsCore
internal import OpsTesting

/// `simulate [SEEDS [FIRST]]` lives through that many seeds and stops at the first that breaks a promise;
/// `simulate digests SEEDS` tells what each of these lives came to, in a number.
/// `simulate trace SEED` prints one life, event by event.
/// `simulate schedules [SEEDS [FIRST]]` lives through that many schedules instead, and `simulate executors` through the
/// attempts on an executor whose jobs are lost.
/// `simulate worlds` goes through every world of four operations, two categories and one slot or two: each graph
/// without a cycle, each way to take the categories, each order of ends. None is left out for being like another.
/// `simulate --replay FILE...` repeats the turns that opsd has recorded, and compares every answer.
@main
struct Simulate {
    static func main() {
        if CommandLine.arguments.dropFirst().first == "worlds" { return exploreWorlds() }
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.first == "--replay" { replay(Array(arguments.dropFirst())) }
        if arguments.first == "trace" { return print(lived(arguments.last.flatMap { UInt64($0) } ?? 1).history) }
        let numbers = CommandLine.arguments.dropFirst().compactMap { UInt64($0) }
        if CommandLine.arguments.dropFirst().first == "digests" { return tellDigests(of: numbers.first ?? 1) }
        let (count, first) = (numbers.first ?? 1000, numbers.dropFirst().first ?? 1)
        if arguments.first == "schedules" { return liveSchedules(through: count, from: first) }
        if arguments.first == "executors" { return liveExecutors(through: count, from: first) }
        live(through: count, from: first)
    }

    private static func live(through count: UInt64, from first: UInt64) {
        var tally = StagingTally()
        for seed in first..<(first + count) {
            let simulation = lived(seed)
            tally += simulation.tally
            if (seed - first + 1).isMultiple(of: 500) { print(simulation.summary) }
        }
        print("\(count) seeds from \(first): every promise kept; starts by the runner: \(tally)")
    }

    private static func lived(_ seed: UInt64) -> Simulation<Scheduler> {
        var simulation = Simulation<Scheduler>(seed: seed)
        do {
            try simulation.run()
        } catch {
            print(error)
            exit(1)
        }
        return simulation
    }

    private static func tellDigests(of count: UInt64) {
        for seed in 1...count {
            print(lived(seed).digest)
        }
    }

    private static func exploreWorlds() {
        for withGroups in [false, true] {
            var worlds = SmallWorlds(operations: 4, withFailures: false, withGroups: withGroups)
            do {
                try worlds.explore(Scheduler.self)
            } catch {
                print(error)
                exit(1)
            }
            print("\(worlds.worlds) worlds, \(worlds.steps) ends, \(worlds.unforeseen) circles that nobody saw coming")
        }
    }
}

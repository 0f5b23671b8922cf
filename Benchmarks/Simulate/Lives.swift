internal import Glibc
internal import OpsTesting

extension Simulate {
    /// Lives through schedules until one breaks a promise.
    static func liveSchedules(through count: UInt64, from first: UInt64) {
        for seed in first..<(first + count) {
            do {
                var life = try ScheduleLife(seed: seed)
                try life.live(200)
            } catch {
                print("schedule of seed \(seed): \(error)")
                exit(1)
            }
        }
        print("\(count) schedules from seed \(first): every instant in one record, and none ran twice")
    }

    static func liveExecutors(through count: UInt64, from first: UInt64) {
        for seed in first..<(first + count) {
            var life = ExecutorSimulation(seed: seed)
            do {
                try life.run()
            } catch {
                print("executor of seed \(seed): \(error)")
                exit(1)
            }
        }
        print("\(count) executors from seed \(first): no attempt started twice, and no lost job succeeded")
    }
}

import OpsCore
import Testing

/// Starts and their consequences: positions in categories, scopes of nested groups, executors and staged launches.
extension RareCaseTests {
    private func category(_ units: Int32) -> [CategoryUse] { [CategoryUse(name: "a", units: units)] }

    /// Adds an operation that needs two units of `a`, which has two. Another one holds one of them for long.
    private func addWide(
        to world: inout World, categories: [CategoryUse] = [], _ change: (inout Policy) -> Void = { _ in }
    ) -> Int64 {
        world.after(.setCategory("a", capacity: 2))
        let wide = world.add(categories: category(2) + categories, flags: .held, change)
        world.add(categories: category(1))
        world.turn()
        world.after(.resume(.operations([OperationID(wide)])))
        return wide
    }

    /// Lets operations that need one unit overtake until none can, and returns the number of those that have started.
    private func overtake(in world: inout World) -> Int {
        for count in 0... {
            let next = world.add(categories: category(1))
            world.turn()
            guard world.executing.contains(next) else {
                world.after(.cancel([OperationID(next)], by: "ann", reason: nil, force: false))
                return count
            }
            world.after(world.exit(next))
        }
        return 0
    }

    @Test func `an operation is overtaken in its second attempt as often as in its first`() {
        var world = World()
        let wide = addWide(to: &world) { $0.retry = RetryPolicy(limit: 1, backoff: .seconds(1)) }
        #expect(overtake(in: &world) == Int(Limits.overtakes))
        world.after(world.exit(2))
        #expect(world.executing == [wide])
        world.after(world.exit(wide, 1))
        let narrow = world.add(categories: category(1))
        world.turn()
        world.pass(seconds: 2)
        world.turn()
        #expect(world.executing == [narrow])
        #expect(overtake(in: &world) == Int(Limits.overtakes))
    }

    @Test func `an empty group that uses up a rate ends the reservation of an operation that needs the rate`() {
        var world = World()
        let rate = Rate(count: 1, interval: .seconds(60))
        world.after(.setCategory("r", CategoryEdit(capacity: Limits.noCapacity, rate: .set(rate))))
        let wide = addWide(to: &world, categories: ["r"])
        #expect(overtake(in: &world) == Int(Limits.overtakes))
        let narrow = world.add(categories: category(1))
        world.turn()
        #expect(world.executing == [2])
        let group = world.add(categories: ["r"], flags: .group)
        world.turn()
        #expect(world.state(group) == nil, "it has ended")
        #expect(world.executing == [2, narrow] && world.state(wide) == .ready)
    }

    @Test func `a level that freezes counts operations that another level has frozen`() {
        var world = World()
        world.add()
        world.turn()
        world.after(.suspend(.operations([1]), freeze: true))
        #expect(world.handle(.suspend(.queue("default"), freeze: true)) == .success(.done(2)))
        #expect(world.turn() == ["queue default none true", "frozen 1 true"])
        #expect(world.last.effects.isEmpty, "it is frozen already")
        #expect(world.handle(.suspend(.queue("default"), freeze: true)) == .success(.done(0)))
    }

    @Test func `the start of a job on an executor meets edges on the start, and not before`() {
        var world = World()
        world.handle(.setExecutors([ExecutorSettings(name: "slurm", window: 9)]))
        world.handle(.external("slurm", .runnerConnected(Inventory(runner: "s1", boot: ""))))
        world.add {
            $0.executor = "slurm"
            $0.observers = .start
        }
        world.add(after: [1], when: .started)
        world.turn()
        let attempt = AttemptID(1, 1)
        world.after(.external("slurm", .accepted(attempt, job: "1")))
        #expect(world.state(2) == .pending && world.scheduler.process(of: 1) == nil)
        let process = LaunchedProcess(pid: 0, startTicks: 0, at: world.now)
        let changes = world.after(.external("slurm", .launched(attempt, process)))
        #expect(changes.suffix(2) == ["ready 2", "started 2#1 slot 0"])
        #expect(world.last.effects.contains(.observeStart(1)))
        let started = world.scheduler.process(of: 1)
        #expect(started?.attempt == attempt && started?.executor == "slurm")
    }

    @Test func `a start in two categories of a waiting operation overtakes it once`() {
        var world = World()
        for name in ["a", "b"] { world.after(.setCategory(name, capacity: 2)) }
        let wide = world.add(categories: ["a", "b"].map { CategoryUse(name: $0, units: 2) }, flags: .held)
        world.add(categories: ["a", "b"])
        world.turn()
        world.after(.resume(.operations([OperationID(wide)])))
        for _ in 0..<Limits.overtakes {
            let next = world.add(categories: ["a", "b"])
            world.turn()
            #expect(world.executing == [2, next])
            world.after(world.exit(next))
        }
        world.add(categories: ["a", "b"])
        world.turn()
        #expect(world.executing == [2])
    }

    // MARK: Staging

    /// Returns a world with two slots and a runner that accepts staged launches.
    private func stagingWorld() -> World {
        var world = World(workers: 2)
        world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1", acceptsStaging: true)))
        return world
    }

    @Test func `an operation is staged although its start was awaited in an earlier attempt`() {
        var world = stagingWorld()
        world.add { $0.retry = RetryPolicy(limit: 1, backoff: .zero) }
        world.add()
        world.add(after: [1], when: .started, flags: .held)
        world.turn()
        for _ in 0..<2 { world.add(priority: 1) }
        world.turn()
        world.after(world.exit(1, 1))
        #expect(world.executing == [2, 4] && world.scheduler.stagedCount == 0)
        #expect(world.after(world.exit(2)).suffix(2) == ["started 5#1 slot 1", "staged 1#2"])
    }

    @Test func `nothing is staged that comes after what a staged operation unblocks`() {
        var world = stagingWorld()
        for _ in 0..<5 { world.add() }
        world.add(after: [5])
        for _ in 0..<2 { world.add() }
        world.turn()
        #expect(world.after(world.exit(1)).suffix(3) == ["started 3#1 slot 0", "staged 4#1", "staged 5#1"])
        world.handle(world.exit(2))
        let changes = world.after(.stagedStarted(AttemptID(4, 1), SlotStart(slot: 1, at: world.now)))
        #expect(changes.last == "started 4#1 slot 1", "6 comes before 7")
        #expect(world.scheduler.stagedCount == 1)
    }

    @Test func `nothing is staged while an operation is being cancelled`() {
        for isCancelled in [false, true] {
            var world = stagingWorld()
            for _ in 0..<6 { world.add() }
            world.turn()
            if isCancelled { world.handle(.cancel([2], by: "ann", reason: nil, force: false)) }
            world.turn()
            world.after(world.exit(1))
            #expect(world.executing == [2, 3])
            #expect((world.scheduler.stagedCount == 0) == isCancelled)
        }
    }
}

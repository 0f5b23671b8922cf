import OpsCore
import Testing

@Suite struct UnitTests {
    private func units(_ names: String..., share: Int32? = nil) -> Event {
        .setCategory("gpu", CategoryEdit(units: names, share: share))
    }

    private func assigned(_ world: World, _ id: Int64) -> [String] {
        world.scheduler.assignedUnits(of: OperationID(id)).first?.units ?? []
    }

    @Test func `the first free units of the list are assigned in the commit of the start`() {
        var world = World(workers: 8)
        world.after(units("a", "b", "c", "d"))
        let two = world.add(categories: [CategoryUse(name: "gpu", units: 2)])
        #expect(world.turn().suffix(2) == ["started 1#1 slot 0", "units 1 gpu=a,b"])
        let one = world.add(categories: ["gpu"])
        world.turn()
        #expect(assigned(world, one) == ["c"])
        world.after(world.exit(two))
        let next = world.add(categories: [CategoryUse(name: "gpu", units: 3)])
        world.turn()
        #expect(assigned(world, next) == ["a", "b", "d"])
    }

    @Test func `a shared unit has as many holders as its share, the least used first`() {
        var world = World(workers: 8)
        world.after(units("a", "b", share: 2))
        let ids = (0..<5).map { _ in world.add(categories: ["gpu"]) }
        world.turn()
        #expect(ids.map { assigned(world, $0) } == [["a"], ["b"], ["a"], ["b"], []])
        #expect(world.state(ids[4]) == .ready)
    }

    @Test func `exclusive and shared holders are given all units`() {
        var world = World(workers: 8)
        world.after(units("a", "b"))
        let readers = (0..<2).map { _ in world.add(categories: [CategoryUse(name: "gpu", mode: .shared)]) }
        let writer = world.add(categories: [CategoryUse(name: "gpu", mode: .exclusive)])
        world.turn()
        #expect(readers.map { assigned(world, $0) } == [["a", "b"], ["a", "b"]])
        for reader in readers { world.after(world.exit(reader)) }
        #expect(assigned(world, writer) == ["a", "b"])
    }

    @Test func `a removed unit drains and takes no room`() throws {
        var world = World(workers: 8)
        world.after(units("a", "b"))
        let holder = world.add(categories: ["gpu"])
        world.turn()
        world.after(units("b", "c"))
        let others = (0..<3).map { _ in world.add(categories: ["gpu"]) }
        world.turn()
        #expect(assigned(world, holder) == ["a"])
        #expect(others.map { assigned(world, $0) } == [["b"], ["c"], []])
        let standing = try #require(world.scheduler.categoryStanding(of: "gpu"))
        #expect(standing.units.map(\.name) == ["b", "c", "a"])
        #expect(standing.units.map(\.isDraining) == [false, false, true])
        world.after(world.exit(holder))
        #expect(world.state(others[2]) == .ready, "nobody else gets the removed unit")
        world.after(units("a", "b", "c"))
        #expect(assigned(world, others[2]) == ["a"])
    }

    @Test func `a unit that is removed and named again while it is held keeps its holder`() {
        var world = World(workers: 8)
        world.after(units("a", "b"))
        world.add(categories: ["gpu"])
        world.turn()
        world.after(.setCategory("gpu", capacity: 0))
        world.after(units("a", "b"))
        let other = world.add(categories: ["gpu"])
        let waiting = world.add(categories: ["gpu"])
        world.turn()
        #expect(assigned(world, other) == ["b"])
        #expect(world.state(waiting) == .ready)
    }

    @Test func `a long list is assigned to its end`() {
        var world = World(workers: 8)
        world.after(.setCategory("gpu", CategoryEdit(units: (0..<200).map { "u\($0)" })))
        let wide = world.add(categories: [CategoryUse(name: "gpu", units: 199)])
        let last = world.add(categories: ["gpu"])
        world.turn()
        #expect(assigned(world, wide).count == 199)
        #expect(assigned(world, last) == ["u199"])
    }

    @Test func `a holder of all units leaves none to drain, before a restart and after it`() throws {
        var world = World(workers: 8)
        world.after(units("a", "b"))
        world.add(categories: [CategoryUse(name: "gpu", mode: .exclusive)])
        world.turn()
        world.after(.setCategory("gpu", capacity: 3))
        let before = try #require(world.scheduler.categoryStanding(of: "gpu"))
        var snapshot = Snapshot()
        snapshot.categorySets = [[CategoryUse(name: "gpu", mode: .exclusive)]]
        snapshot.categorySettings = [CategorySettings(name: "gpu", capacity: 3)]
        snapshot.nextOperation = 2
        snapshot.nextGraph = 2
        snapshot.queues = [Snapshot.Queue(name: "default")]
        snapshot.operations = [
            Snapshot.Row(
                id: 1, graph: GraphID(1), categories: 0, state: .executing, attempt: 1, attemptsInRun: 1,
                hasStarted: true)
        ]
        snapshot.running = [
            Snapshot.Running(attempt: AttemptID(1, 1), slot: 0, runner: "r1", boot: "b1", startedAt: world.now)
        ]
        snapshot.assigned = [1: [AssignedUnits(category: "gpu", units: ["a", "b"])]]
        #expect(World(workers: 8, snapshot).scheduler.categoryStanding(of: "gpu") == before)
    }

    @Test func `units survive a restart with what was assigned to a group and its children`() {
        var snapshot = Snapshot()
        snapshot.nextOperation = 4
        snapshot.nextGraph = 2
        snapshot.queues = [Snapshot.Queue(name: "default")]
        snapshot.categorySets = [[CategoryUse(name: "gpu", units: 2)], [CategoryUse(name: "gpu")]]
        snapshot.categorySettings = [CategorySettings(name: "gpu", capacity: 3, units: ["a", "b", "c"])]
        snapshot.operations = [
            Snapshot.Row(
                id: 1, graph: GraphID(1), categories: 0, state: .executing, flags: .group, hasStarted: true),
            Snapshot.Row(
                id: 2, graph: GraphID(1), parent: 1, categories: 1, state: .ready),
            Snapshot.Row(id: 3, graph: GraphID(1), categories: 1, state: .ready),
        ]
        snapshot.assigned = [1: [AssignedUnits(category: "gpu", units: ["a", "c"])]]
        let world = World(workers: 8, snapshot)
        #expect(assigned(world, 1) == ["a", "c"])
        #expect(assigned(world, 2) == ["a"], "a child has a unit of its group")
        #expect(assigned(world, 3) == ["b"])
        #expect(world.scheduler.unitVariables(of: 1).map(\.value) == ["a,c"])
    }

    /// Returns a world in which group 1 executes with its children 2 and 3, in a category whose units have no names.
    private func world(groupUses units: Int32, stored names: [String]) -> World {
        var snapshot = Snapshot()
        snapshot.nextOperation = 4
        snapshot.nextGraph = 2
        snapshot.queues = [Snapshot.Queue(name: "default")]
        snapshot.categorySets = [[CategoryUse(name: "gpu", units: units)], [CategoryUse(name: "gpu")]]
        snapshot.categorySettings = [CategorySettings(name: "gpu", capacity: 3)]
        snapshot.operations = [
            Snapshot.Row(
                id: 1, graph: GraphID(1), categories: 0, state: .executing, flags: .group, hasStarted: true),
            Snapshot.Row(id: 2, graph: GraphID(1), parent: 1, categories: 1, state: .ready),
            Snapshot.Row(id: 3, graph: GraphID(1), parent: 1, categories: 1, state: .ready),
        ]
        snapshot.assigned = [1: [AssignedUnits(category: "gpu", units: names)]]
        return World(workers: 8, snapshot)
    }

    /// A group stores its units without the number of its run, and its needs may have been edited since.
    @Test func `units of an earlier run of a group do not count after a restart`() {
        var wider = world(groupUses: 3, stored: ["a"])
        #expect(wider.executing == [1, 2, 3])
        #expect([1, 2, 3].flatMap { assigned(wider, $0) } == [])
        wider.after(units("a", "b", "c"))
        let waiting = wider.add(categories: ["gpu"])
        wider.turn()
        #expect(wider.state(waiting) == .ready)

        var narrower = world(groupUses: 1, stored: ["a", "b", "c"])
        #expect(narrower.executing == [1, 2])
        narrower.after(units("a", "b", "c"))
        let others = (0..<3).map { _ in narrower.add(categories: ["gpu"]) }
        narrower.turn()
        #expect(others.map { assigned(narrower, $0) } == [["a"], ["b"], []])
    }
}

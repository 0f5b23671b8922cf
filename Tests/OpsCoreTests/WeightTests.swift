import OpsCore
import Testing

/// The weight of an event: an estimate, made before the event is handled, of the number of operations that it decides.
@Suite struct WeightTests {
    private static let limit = 20
    static let many = 100

    /// Returns a world in which 1 executes and `many` other operations are held, so that no event is small for lack of
    /// operations.
    private func world(_ change: (inout Policy) -> Void = { _ in }) -> World {
        var world = World(workers: 2)
        world.add({ change(&$0) })
        var others = Submission()
        others.operations = Array(repeating: Draft(flags: .held), count: Self.many)
        world.handle(.submit(others))
        world.turn()
        return world
    }

    private func add(_ count: Int, to world: inout World, after id: Int64, when: EdgeCondition) -> Int64 {
        var submission = Submission()
        submission.operations = Array(repeating: Draft(), count: count)
        submission.edges = (0..<Int32(count)).map { DraftEdge(from: $0, on: .existing(OperationID(id)), when: when) }
        guard case .success(.submitted(_, let first, _)) = world.handle(.submit(submission)) else { return -1 }
        world.turn()
        return first.rawValue
    }

    private func weight(_ event: Event, _ world: World) -> Int { world.scheduler.weight(of: event, upTo: Self.limit) }

    private func cancel(_ id: Int64) -> Event { .cancel([OperationID(id)], by: "ann", reason: nil, force: false) }

    @Test(arguments: EdgeCondition.allCases) func `an exit weighs as much as has waited for it`(when: EdgeCondition) {
        var world = world()
        _ = add(Self.many, to: &world, after: 1, when: when)
        let isLarge = when != .started
        #expect((weight(world.exit(1, 0), world) > Self.limit) == isLarge)
        #expect((weight(world.exit(1, 1), world) > Self.limit) == isLarge)
    }

    @Test func `an exit after which another attempt follows weighs nothing`() {
        var world = world { $0.retry = RetryPolicy(limit: 3) }
        _ = add(Self.many, to: &world, after: 1, when: .succeeded)
        #expect(weight(world.exit(1, 1), world) == 0)
        #expect(weight(world.exit(1, 0), world) > Self.limit)
    }

    @Test func `success weighs as much as it lets in, and failure all that can never start`() {
        var world = world()
        var last: Int64 = 1
        for _ in 0..<Self.many { last = world.add(after: [last]) }
        world.turn()
        #expect(weight(world.exit(1, 0), world) == 1, "the next of a chain")
        #expect(weight(world.exit(1, 1), world) > Self.limit)
        #expect(weight(.launchFailed(world.attempt(1), step: "exec", errno: 2), world) > Self.limit)
        #expect(weight(cancel(last), world) <= 3)
    }

    @Test func `a cascade is followed through children and their dependents`() {
        var world = world()
        var submission = Submission()
        submission.operations = [Draft(flags: .group), Draft(group: 0)]
        submission.edges = [DraftEdge(from: 0, on: .existing(1), when: .failed)]
        world.handle(.submit(submission))
        let child = world.scheduler.nextOperationID.rawValue - 1
        _ = add(Self.many, to: &world, after: child, when: .succeeded)
        #expect(weight(world.exit(1, 0), world) > Self.limit)
        #expect(weight(world.exit(1, 1), world) < Self.limit)
        #expect(weight(cancel(child - 1), world) > Self.limit)
    }

    @Test func `the last child weighs as much as waits for its group`() {
        var world = world()
        var submission = Submission()
        submission.operations = [Draft(flags: .group), Draft(group: 0)]
        world.handle(.submit(submission))
        let group = world.scheduler.nextOperationID.rawValue - 2
        _ = add(Self.many, to: &world, after: group, when: .finished)
        world.turn()
        #expect(world.executing.contains(group + 1))
        #expect(weight(world.exit(group + 1, 0), world) > Self.limit)
    }

    @Test func `a group weighs as much as is below it`() {
        var world = world()
        var submission = Submission()
        submission.operations = [Draft(flags: [.group, .held])] + Array(repeating: Draft(group: 0), count: Self.many)
        world.handle(.submit(submission))
        let group = OperationID(world.scheduler.nextOperationID.rawValue - Int64(Self.many) - 1)
        world.turn()
        #expect(weight(cancel(group.rawValue), world) > Self.limit)
        #expect(weight(.suspend(.operations([group]), freeze: false), world) > Self.limit)
        #expect(weight(.resume(.operations([group])), world) > Self.limit)
    }

    @Test func `the end of a barrier weighs as much as it holds back`() {
        var world = World(workers: 2)
        let barrier = world.add(flags: .barrier)
        for _ in 0..<Self.many { world.add() }
        world.turn()
        #expect(world.executing == [barrier])
        #expect(weight(world.exit(barrier), world) > Self.limit)
    }

    @Test func `a search for a cycle weighs as much as lies before it`() {
        var world = world()
        var last: Int64 = 1
        for _ in 0..<Self.many { last = world.add(after: [last]) }
        let alone = world.add(flags: .held)
        world.turn()
        let depend = { Event.addDependency(OperationID(alone), on: OperationID($0), when: .finished, finished: nil) }
        #expect(weight(depend(last), world) > Self.limit)
        #expect(weight(depend(2), world) < Self.limit)
        #expect(weight(.edit([OperationID(last)], Edit(priority: 4)), world) > Self.limit)
    }

    @Test func `a runner that reports many ends weighs as much as all of them`() {
        var world = World(workers: 8)
        for _ in 0..<8 { world.add() }
        world.turn()
        for id in 1...8 as ClosedRange<Int64> { _ = add(10, to: &world, after: id, when: .finished) }
        var inventory = Inventory(runner: "r1", boot: "b1")
        let exit = ProcessExit(status: .code(0), at: world.now)
        for id in world.executing { inventory.entries[world.attempt(id)] = .gone(exit) }
        #expect(weight(.runnerConnected(inventory), world) > Self.limit)
        #expect(weight(.runnerConnected(Inventory(runner: "r1", boot: "b1")), world) == 0)
    }

    @Test func `an inventory weighs the ends of operations that started after a group`() {
        var world = World(workers: 8)
        var group = Submission()
        group.operations = [Draft(flags: .group), Draft(group: 0)]
        world.handle(.submit(group))
        world.add()
        world.turn()
        _ = add(Self.many, to: &world, after: 3, when: .finished)
        var inventory = Inventory(runner: "r1", boot: "b1")
        inventory.entries[world.attempt(3)] = .gone(ProcessExit(status: .code(0), at: world.now))
        #expect(weight(.runnerConnected(inventory), world) > Self.limit)
    }

    @Test func `a retry weighs as much as its edges, and as all queues where there are barriers`() {
        var world = world()
        var revived = Revival()
        revived.queues = ["default"]
        let retry = { Event.retry([], revived: revived) }
        #expect(weight(retry(), world) == 0)
        revived.edges = Array(repeating: Snapshot.Edge(from: 1, on: 2, when: .succeeded), count: 3)
        #expect(weight(retry(), world) == 3)
        world.add(flags: .barrier)
        #expect(weight(retry(), world) > Self.limit)
        revived.queues = ["main"]
        #expect(weight(retry(), world) > Self.limit, "the barriers of all queues are counted again")
    }

    // MARK: The end of a turn

    @Test func `timers beyond the limit are put off to a turn without one`() {
        var world = World(workers: 1)
        let deadline = world.now.wall + .seconds(1)
        for _ in 0..<Self.many { world.add { $0.deadline = deadline } }
        world.turn()
        world.pass(seconds: 2)
        let some = world.scheduler.endTurn(at: world.now, upTo: Self.limit)
        #expect(world.scheduler.hasPutOff)
        let ends = { (transition: Transition) in
            transition.changes.count { if case .finished = $0 { true } else { false } }
        }
        #expect((1...Self.limit).contains(ends(some)))
        let rest = world.scheduler.endTurn(at: world.now)
        #expect(!world.scheduler.hasPutOff)
        #expect(ends(some) + ends(rest) == Self.many - 1, "the one that executes has been told to end")
        #expect(world.scheduler.checkInvariants().isEmpty)
    }

    @Test func `a group with many children starts in a turn without a limit`() {
        var world = World(workers: 1)
        var submission = Submission()
        submission.operations = [Draft(flags: .group)] + Array(repeating: Draft(group: 0), count: Self.many)
        world.handle(.submit(submission))
        _ = world.scheduler.endTurn(at: world.now, upTo: Self.limit)
        #expect(world.scheduler.hasPutOff && world.executing == [])
        world.turn()
        #expect(!world.scheduler.hasPutOff && world.executing == [1, 2])
    }

    @Test(arguments: [12, Self.many]) func `priorities that fall beyond the limit are put off, and so are starts`(
        count: Int
    ) {
        var world = World(workers: 1)
        world.add()
        var last: Int64 = 1
        for _ in 0..<count { last = world.add(after: [last]) }
        let urgent = world.add(after: [last], priority: 4)
        world.turn()
        #expect(world.scheduler.effectivePriority(of: 2) == 4)
        world.handle(cancel(urgent))
        _ = world.scheduler.endTurn(at: world.now, upTo: Self.limit)
        #expect(world.scheduler.hasPutOff == (count > Self.limit))
        world.turn()
        #expect(!world.scheduler.hasPutOff)
        #expect(world.scheduler.effectivePriority(of: 2) == 0)
    }

    @Test(arguments: 0...8) func `priorities that were put off are not counted for operations that have left since`(
        limit: Int
    ) {
        var world = World(workers: 0)
        let deadline = world.now.wall + .seconds(1)
        let first = world.add { $0.deadline = deadline + .seconds(1) }
        let urgent = world.add(after: [first], priority: 4) { $0.deadline = deadline }
        world.turn()
        world.pass(seconds: 3)
        _ = world.scheduler.endTurn(at: world.now, upTo: limit)
        world.turn()
        #expect(!world.scheduler.contains(OperationID(first)) && !world.scheduler.contains(OperationID(urgent)))
        let next = world.add(priority: 2)
        world.turn()
        #expect(world.scheduler.effectivePriority(of: OperationID(next)) == 2)
    }

    @Test func `a closed turn leaves no priority to count of operations that have ended in it`() {
        var world = World(workers: 0)
        let first = world.add()
        let urgent = world.add(after: [first], priority: 4)
        world.turn()
        for id in [urgent, first] { world.handle(cancel(id)) }
        let closed = world.scheduler.closeTurn()
        #expect(closed.changes.map(brief) == [urgent, first].map { "finished \($0) cancelled by ann" })
        #expect(world.turn() == [])
        let next = world.add(priority: 2)
        world.turn()
        #expect(world.scheduler.effectivePriority(of: OperationID(next)) == 2)
    }

    @Test func `a closed turn has decided nothing more than what was handled`() {
        var world = World(workers: 1)
        world.add()
        let closed = world.scheduler.closeTurn()
        #expect(closed.changes.count == 1 && closed.effects.isEmpty)
        world.turn()
        #expect(world.executing == [1])
    }

    @Test func `a deadline with many dependents is put off to a turn of its own`() {
        var world = world { $0.deadline = .seconds(1_000_100) }
        world.after(.suspend(.operations([OperationID(1)]), freeze: true))
        let waiting = world.add { $0.deadline = .seconds(1_000_100) }
        world.handle(.suspend(.operations([OperationID(waiting)]), freeze: false))
        world.turn()
        _ = add(Self.many, to: &world, after: waiting, when: .succeeded)
        world.pass(seconds: 200)
        _ = world.scheduler.endTurn(at: world.now, upTo: Self.limit)
        #expect(world.scheduler.hasPutOff)
        let rest = world.scheduler.endTurn(at: world.now)
        #expect(rest.changes.count { if case .finished = $0 { true } else { false } } > Self.many)
        #expect(!world.scheduler.hasPutOff)
    }
}

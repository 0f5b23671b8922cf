import OpsCore
import Testing

/// Staging launches with the runner, and revoking them.
@Suite struct StagedLaunchTests {
    /// Returns a world with two slots, a runner that accepts staged launches, and this many operations.
    private func world(_ count: Int) -> World {
        var world = World(workers: 2)
        world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1", acceptsStaging: true)))
        for _ in 0..<count { world.add() }
        world.turn()
        return world
    }

    private func attempt(_ id: Int64, _ number: Int32 = 1) -> AttemptID { AttemptID(OperationID(id), number) }

    private func effects(_ world: World) -> [Effect] { world.last.effects.filter { $0 != .revokeStaged } }

    @Test func `the next operation is staged once a short one has succeeded`() {
        var world = world(6)
        #expect(world.scheduler.stagedCount == 0)
        // The slot was free: 3 starts as usual, and then the pool is full.
        let changes = world.after(world.exit(1))
        #expect(changes.suffix(4) == ["started 3#1 slot 0", "staged 4#1", "staged 5#1", "staged 6#1"])
        #expect(
            effects(world) == [
                .acknowledge(attempt(1)), .launch(attempt(3), slot: 0), .stage(attempt(4), after: []),
                .stage(attempt(5), after: []), .stage(attempt(6), after: []),
            ])
        #expect(world.state(4) == .ready)
        #expect(world.scheduler.why(4, at: world.now).map(\.kind) == [.pool])
    }

    @Test func `a staged operation that the runner takes has started without a launch`() {
        var world = world(6)
        world.after(world.exit(1))
        world.handle(world.exit(2))
        let changes = world.after(.stagedStarted(attempt(4), SlotStart(slot: 1, at: world.now)))
        #expect(
            changes == ["exited 2#1", "ended 2#1 succeeded", "finished 2 succeeded", "started 4#1 slot 1"])
        #expect(effects(world) == [.acknowledge(attempt(2))])
        #expect(world.executing == [3, 4])
    }

    /// The runner would give it the slot of that operation.
    @Test func `nothing is staged while an operation has a slot that the pool no longer has`() {
        var world = world(4)
        world.after(.setWorkers(1, insteadOf: nil))
        #expect(world.after(world.exit(1)).allSatisfy { !$0.hasPrefix("staged") })
        #expect(world.executing == [2])
        #expect(world.after(world.exit(2)).suffix(2) == ["started 3#1 slot 0", "staged 4#1"])
    }

    @Test func `staging is filled up and suffices until half of it has started`() {
        var world = world(4 + Limits.stagedLaunches * 2)
        world.after(world.exit(1))
        #expect(world.scheduler.stagedCount == Limits.stagedLaunches)
        for next in 0..<Int64(Limits.stagedLaunches / 2) {
            #expect(world.scheduler.hasEnoughStaged)
            world.handle(world.exit(2 + next))
            #expect(!world.scheduler.hasEnoughStaged, "a slot is free")
            world.handle(.stagedStarted(attempt(4 + next), SlotStart(slot: Int32(1 - next % 2), at: world.now)))
        }
        #expect(world.scheduler.hasEnoughStaged)
        world.handle(world.exit(2 + Int64(Limits.stagedLaunches / 2)))
        world.handle(
            .stagedStarted(
                attempt(4 + Int64(Limits.stagedLaunches / 2)),
                SlotStart(slot: Int32(1 - Limits.stagedLaunches / 2 % 2), at: world.now)))
        #expect(!world.scheduler.hasEnoughStaged)
        world.turn()
        #expect(world.scheduler.stagedCount == Limits.stagedLaunches)
    }

    @Test func `operations of revoked staging are ready again`() {
        var world = world(6)
        world.after(world.exit(1))
        #expect(world.after(.stagingRevoked(started: 0)) == ["unstaged 4#1", "unstaged 5#1", "unstaged 6#1"])
        #expect(world.last.effects == [.revokeStaged])
        // Nothing is staged before the runner confirms the revocation.
        #expect(world.after(world.exit(2)).last == "started 4#1 slot 1")
        world.handle(.revocationConfirmed)
        #expect(world.after(world.exit(3)).last == "staged 6#1")
    }

    @Test func `nothing is revoked from the next runner`() {
        var world = world(6)
        world.after(world.exit(1))
        world.handle(.stagingRevoked(started: 0))
        world.handle(.runnerLost)
        world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1")))
        #expect(!world.last.effects.contains(.revokeStaged))
    }

    @Test func `staging is revoked when nothing starts from it or a slot is free`() {
        var world = world(6)
        world.after(world.exit(1))
        #expect(!world.scheduler.mustRevokeStaged(at: world.now))
        var later = world.now
        later.monotonic += Limits.shortRun
        #expect(world.scheduler.nextDeadline.monotonic == later.monotonic)
        #expect(world.scheduler.mustRevokeStaged(at: later))
        world.handle(world.exit(2, 1))
        #expect(world.scheduler.mustRevokeStaged(at: world.now))
    }

    @Test func `nothing is staged behind long runs`() {
        var world = world(6)
        world.pass(seconds: 1)
        #expect(world.after(world.exit(1)).last == "started 3#1 slot 0")
        #expect(world.scheduler.stagedCount == 0)
    }

    @Test func `nothing is staged at a runner that does not accept staging`() {
        var world = World(workers: 2)
        for _ in 0..<4 { world.add() }
        world.turn()
        world.after(world.exit(1))
        #expect(world.scheduler.stagedCount == 0)
    }

    @Test func `nothing is staged past an operation that waits for several`() {
        // 4 waits for 1 and 2: no later operation may start before it.
        var world = world(3)
        world.add(after: [2, 3])
        world.add()
        world.turn()
        #expect(world.after(world.exit(1)).last == "started 3#1 slot 0")
        #expect(world.scheduler.stagedCount == 0)
    }

    @Test func `an operation is staged although dependents of its layer wait`() {
        var world = world(4)
        for _ in 0..<3 { world.add(after: [1, 2, 3, 4]) }
        world.turn()
        #expect(world.after(world.exit(1)).last == "staged 4#1")
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5])
    func `an unpredictable operation is never staged`(kind: Int) {
        var world = world(3)
        world.handle(.setQueue("q", QueueEdit(limit: .set(5))))
        switch kind {
        case 0: world.add(categories: ["a"])
        case 1: world.add(queue: "q")
        case 2: world.add { $0.completion = .notify }
        case 3: world.add { $0.conditions = [ConditionPolicy()] }
        case 4: world.add { $0.observers = .start }
        default: world.add { $0.successCodes = [3] }
        }
        world.add()
        world.turn()
        world.after(world.exit(1))
        #expect(world.scheduler.stagedCount == 0)
    }

    @Test func `nothing is staged while an operation with a category executes`() {
        var world = World(workers: 2)
        world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1", acceptsStaging: true)))
        world.add(categories: ["a"])
        for _ in 0..<4 { world.add() }
        world.turn()
        world.after(world.exit(2))
        #expect(world.scheduler.stagedCount == 0)
    }

    @Test func `nothing is staged at a runner that is ending`() {
        var world = world(6)
        world.after(world.exit(1))
        #expect(world.scheduler.stagedCount == 3)
        world.handle(.stagingRevoked(started: 0))
        let inventory = Inventory(
            runner: "r1", boot: "b1", entries: [attempt(2): running(world), attempt(3): running(world)],
            isEnding: true, acceptsStaging: true)
        let changes = world.after(.runnerConnected(inventory))
        #expect(changes.filter { $0.hasPrefix("unstaged") } == ["unstaged 4#1", "unstaged 5#1", "unstaged 6#1"])
        world.handle(.revocationConfirmed)
        #expect(world.after(world.exit(2)).last == "finished 2 succeeded")
        #expect(world.scheduler.stagedCount == 0)
        #expect(world.executing == [3])
        #expect(world.state(4) == .ready)
    }

    // MARK: After a crash

    private func snapshot() -> Snapshot {
        .withHand(Snapshot.Row(id: 2, graph: GraphID(1), state: .ready))
    }

    private func gone(_ world: World) -> AttemptState { .gone(ProcessExit(status: .code(0), at: world.now)) }
    private func running(_ world: World) -> AttemptState {
        .running(LaunchedProcess(pid: 7, startTicks: 1, at: world.now))
    }

    @Test func `a staged launch that the runner lists had started`() {
        var world = World(workers: 1, snapshot(), connected: false)
        #expect(world.last.changes.map(brief) == ["assumed 2#1 slot 1"])
        #expect(world.executing == [1, 2])
        let inventory = Inventory(
            runner: "r1", boot: "b1", entries: [attempt(1): gone(world), attempt(2): running(world)],
            slotStarts: [attempt(2): SlotStart(slot: 0, at: world.now)])
        let changes = world.after(.runnerConnected(inventory))
        #expect(changes.suffix(3) == ["finished 1 succeeded", "confirmed 2#1 slot 0", "launched 2#1"])
        #expect(world.executing == [2])
    }

    @Test func `a staged launch that its runner does not list had not started`() {
        var world = World(workers: 1, snapshot(), connected: false)
        let inventory = Inventory(runner: "r1", boot: "b1", entries: [attempt(1): running(world)])
        let changes = world.after(.runnerConnected(inventory))
        #expect(changes == ["launched 1#1", "unstaged 2#1"])
        #expect(world.state(2) == .ready)
        #expect(!world.last.effects.contains(.launch(attempt(2), slot: 0)))
        #expect(world.after(world.exit(1)).last == "started 2#1 slot 0")
    }

    @Test func `a launch that an ending runner does not list waits for the next`() {
        var world = World(workers: 1, snapshot(), connected: false)
        let inventory = Inventory(
            runner: "r1", boot: "b1", entries: [attempt(1): running(world)], isEnding: true, acceptsStaging: true)
        #expect(world.after(.runnerConnected(inventory)) == ["launched 1#1", "unstaged 2#1"])
        #expect(world.after(world.exit(1)).last == "finished 1 succeeded")
        #expect(world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1"))).last == "started 2#1 slot 0")
    }

    @Test func `a staged launch is interrupted when another runner connects`() {
        var world = World(workers: 1, snapshot(), connected: false)
        world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1")))
        #expect(world.last.effects.contains(.reap(attempt(2))))
        #expect(world.after(.gone(attempt(2))).last == "finished 2 interrupted runner lost")
    }

    @Test func `an operation whose process is reported had started`() {
        var world = World(workers: 1, snapshot(), connected: false)
        #expect(
            world.after(.exited(attempt(2), ProcessExit(status: .code(0), at: world.now), treeIsGone: true))
                == ["confirmed 2#1 slot 1", "exited 2#1", "ended 2#1 succeeded", "finished 2 succeeded"])
    }

    @Test func `a staged launch is interrupted after a power cut`() {
        var world = World(workers: 1, snapshot(), connected: false)
        let changes = world.after(.runnerConnected(Inventory(runner: "r2", boot: "b2")))
        #expect(changes.contains("confirmed 2#1 slot 1"))
        #expect(changes.contains("finished 2 interrupted machine restarted"))
    }

    @Test func `a cancel before the runner connects is kept`() {
        var world = World(workers: 1, snapshot(), connected: false)
        #expect(
            world.after(.cancel([2], by: "ann", reason: nil, force: false)) == ["cancelling 2 cancelled"])
        let inventory = Inventory(runner: "r1", boot: "b1", entries: [attempt(1): running(world)])
        #expect(world.after(.runnerConnected(inventory)).last == "finished 2 cancelled by ann")
    }

    /// The same, but stored as assumed to be started, while 3 waits for its start.
    @Test func `a wait for a start goes on while the start is assumed`() {
        var again = snapshot()
        again.nextOperation = 4
        again.presumeSecond()
        again.operations.append(Snapshot.Row(id: 3, graph: GraphID(1), state: .pending))
        again.edges = [Snapshot.Edge(from: 3, on: 2, when: .started)]
        var world = World(workers: 1, again, connected: false)
        #expect(world.state(3) == .pending)
        let inventory = Inventory(runner: "r1", boot: "b1", entries: [attempt(1): running(world)])
        world.after(.runnerConnected(inventory))
        #expect(world.state(3) == .pending)
        #expect(world.after(world.exit(1)).contains("ready 3"))
    }

    @Test func `a start that was assumed twice is assumed once`() {
        var twice = snapshot()
        twice.presumeSecond()
        var world = World(workers: 1, twice, connected: false)
        #expect(world.last.changes.isEmpty)
        let inventory = Inventory(runner: "r1", boot: "b1", entries: [attempt(1): running(world)])
        #expect(world.after(.runnerConnected(inventory)).last == "unstaged 2#1")
    }
}

import OpsCore
import Testing

/// Staged launches that wait for running operations to succeed.
@Suite struct StagedWaitingTests {
    /// Returns a world with a runner that accepts staged launches which wait for others.
    private func world(workers: Int32 = 2, acceptsWaiting: Bool = true) -> World {
        var world = World(workers: workers)
        world.handle(
            .runnerConnected(Inventory(runner: "r1", boot: "b1", acceptsStaging: true, acceptsWaiting: acceptsWaiting)))
        return world
    }

    /// Returns a world with a chain whose first operation has succeeded, so that the second executes.
    private func chain(_ count: Int64, workers: Int32 = 2) -> World {
        var world = world(workers: workers)
        for id in 1...count { world.add(after: id == 1 ? [] : [id - 1]) }
        world.turn()
        world.after(world.exit(1))
        return world
    }

    private func attempt(_ id: Int64, _ number: Int32 = 1) -> AttemptID { AttemptID(OperationID(id), number) }

    private func hands(_ world: World) -> [Effect] {
        world.last.effects.filter { if case .stage = $0 { true } else { false } }
    }

    // MARK: Staging

    @Test func `the next operation of a chain is staged`() {
        var world = chain(4)
        #expect(hands(world) == [.stage(attempt(3), after: [attempt(2)])])
        #expect(world.state(3) == .pending)
        #expect(world.scheduler.why(3, at: world.now).map(\.kind) == [.dependency])
        #expect(!world.scheduler.mustRevokeStaged(at: world.now))
        world.handle(world.exit(2))
        #expect(world.scheduler.mustRevokeStaged(at: world.now), "it may start, and its start is not reported yet")
        let changes = world.after(.stagedStarted(attempt(3), SlotStart(slot: 0, at: world.now)))
        #expect(
            changes == [
                "exited 2#1", "ended 2#1 succeeded", "finished 2 succeeded", "ready 3", "started 3#1 slot 0",
                "staged 4#1",
            ])
        #expect(world.last.reports.map(\.kind) == [.finished, .ready, .started])
        #expect(world.last.effects == [.acknowledge(attempt(2)), .stage(attempt(4), after: [attempt(3)])])
    }

    @Test func `no waiting operation is staged at an older runner`() {
        var world = world(acceptsWaiting: false)
        for id in 1...3 as ClosedRange<Int64> { world.add(after: id == 1 ? [] : [id - 1]) }
        world.turn()
        world.after(world.exit(1))
        #expect(world.scheduler.stagedCount == 0)
    }

    @Test func `with free slots only one of several dependents is staged`() {
        var world = world(workers: 4)
        world.add()
        world.add(after: [1])
        for _ in 0..<3 { world.add(after: [2]) }
        world.turn()
        world.after(world.exit(1))
        #expect(hands(world) == [.stage(attempt(3), after: [attempt(2)])])
        world.handle(world.exit(2))
        world.handle(.stagedStarted(attempt(3), SlotStart(slot: 0, at: world.now)))
        #expect(!world.scheduler.mustRevokeStaged(at: world.now), "nothing is staged")
        #expect(world.turn().suffix(2) == ["started 4#1 slot 1", "started 5#1 slot 2"])
    }

    @Test func `in a full pool dependents are staged in turn with ready operations`() {
        var world = world(workers: 1)
        world.add()
        world.add(after: [1])
        world.add(after: [2])
        world.add()
        world.add(after: [2])
        world.add(priority: 4)
        world.turn()
        world.after(world.exit(6))
        // 4 comes after 3, which the success of 2 may make ready.
        #expect(hands(world) == [.stage(attempt(2), after: [attempt(1)])])
        world.handle(world.exit(1))
        world.after(.stagedStarted(attempt(2), SlotStart(slot: 0, at: world.now)))
        // 3 and 5 become ready when 2 has succeeded, 4 in any case.
        #expect(
            hands(world) == [
                .stage(attempt(3), after: [attempt(2)]), .stage(attempt(4), after: []),
                .stage(attempt(5), after: [attempt(2)]),
            ])
    }

    @Test func `a staged launch after several operations awaits all of them`() {
        var world = world()
        for _ in 0..<3 { world.add() }
        world.add(after: [2, 3])
        world.turn()
        world.after(world.exit(1))
        #expect(hands(world) == [.stage(attempt(4), after: [attempt(2), attempt(3)])])
    }

    @Test func `nothing behind an operation that cannot be staged is staged`() {
        var world = world()
        for _ in 0..<3 { world.add() }
        world.add()
        // 5 also waits for 4, which does not execute; it comes before 6.
        world.add(after: [2, 4])
        world.add()
        world.turn()
        world.after(world.exit(1))
        #expect(hands(world) == [.stage(attempt(4), after: [])])
    }

    @Test func `nothing is staged whose dependent comes before a staged one that waits`() {
        var world = world()
        for id in 1...6 { world.add(after: id == 3 ? [2] : []) }
        // 1 comes before 3, and waits for 6.
        world.handle(.addDependency(1, on: 6, when: .succeeded, finished: nil))
        world.turn()
        #expect(world.executing == [2, 4])
        world.after(world.exit(4))
        #expect(hands(world) == [.stage(attempt(3), after: [attempt(2)])])
        world.handle(world.exit(5))
        #expect(world.scheduler.mustRevokeStaged(at: world.now), "6 may start in the free slot")
        #expect(world.after(.stagingRevoked(started: 0)).contains("started 6#1 slot 1"))
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5])
    func `an unpredictable operation is not staged behind another`(kind: Int) {
        var world = world()
        world.handle(.setQueue("q", QueueEdit(limit: .set(5))))
        world.add()
        world.add(after: [1]) { if kind == 5 { $0.retry = RetryPolicy(limit: 1, onInterrupted: true) } }
        switch kind {
        case 0: world.add(after: [2], when: .finished)
        case 1: world.add(after: [2], queue: "q")
        case 2: world.add(after: [2]) { $0.observers = .start }
        case 3: world.add(after: [2], flags: .held)
        case 4: world.add(after: [2]) { $0.retry = RetryPolicy(limit: 1, onInterrupted: true) }
        default: world.add(after: [2])
        }
        world.turn()
        world.after(world.exit(1))
        #expect(world.executing == [2])
        #expect(world.scheduler.stagedCount == 0)
    }

    // MARK: Revoking

    @Test func `a failure skips the launch that is staged behind it`() {
        var world = chain(3)
        world.handle(world.exit(2, 1))
        #expect(world.scheduler.mustRevokeStaged(at: world.now))
        world.handle(.stagingRevoked(started: 0))
        #expect(
            world.turn() == [
                "exited 2#1", "ended 2#1 failed", "finished 2 failed exit 1", "unstaged 3#1",
                "finished 3 skipped root 2 failed",
            ])
        #expect(world.last.effects == [.acknowledge(attempt(2)), .revokeStaged])
    }

    /// The next attempt is another one, for which no launch is staged.
    @Test func `a retry unstages the launch behind it`() {
        var world = world()
        world.add()
        world.add(after: [1]) { $0.retry = RetryPolicy(limit: 1) }
        world.add(after: [2])
        world.turn()
        world.after(world.exit(1))
        #expect(hands(world) == [.stage(attempt(3), after: [attempt(2)])])
        world.handle(world.exit(2, 1))
        #expect(world.scheduler.mustRevokeStaged(at: world.now))
        world.handle(.stagingRevoked(started: 0))
        #expect(world.turn() == ["exited 2#1", "ended 2#1 failed", "retrying 2", "unstaged 3#1"])
        #expect(world.state(3) == .pending)
    }

    @Test func `an unstaged operation waits as before`() {
        var world = chain(3)
        #expect(world.after(.stagingRevoked(started: 0)) == ["unstaged 3#1"])
        #expect(world.state(3) == .pending)
        #expect(world.after(world.exit(2)).suffix(2) == ["ready 3", "started 3#1 slot 0"])
        #expect(world.last.effects.contains(.launch(attempt(3), slot: 0)))
    }

    @Test func `after lost staging the operations that could be first are assumed started`() {
        var world = world()
        for _ in 0..<4 { world.add() }
        world.add(after: [2], priority: 1)
        world.add()
        world.turn()
        world.after(world.exit(1))
        #expect(world.executing == [2, 3])
        // One was started: 5 if 2 had succeeded, otherwise 4.
        #expect(
            world.after(.stagingRevoked(started: 1)) == ["assumed 5#1 slot 2", "assumed 4#1 slot 3", "unstaged 6#1"])
    }

    // MARK: After a crash

    /// Returns a snapshot in which 1 executes, and 2, which waits for it, was staged.
    private func snapshot() -> Snapshot {
        var snapshot = Snapshot.withHand(Snapshot.Row(id: 2, graph: GraphID(1), priority: 3, state: .pending))
        snapshot.edges = [Snapshot.Edge(from: 2, on: 1, when: .succeeded)]
        return snapshot
    }

    private func gone(_ world: World, _ code: Int32 = 0) -> AttemptState {
        .gone(ProcessExit(status: .code(code), at: world.now))
    }
    private func running(_ world: World) -> AttemptState {
        .running(LaunchedProcess(pid: 7, startTicks: 1, at: world.now))
    }

    @Test func `a staged launch that the runner lists started after its predecessor`() {
        var world = World(workers: 1, snapshot(), connected: false)
        #expect(world.last.changes.map(brief) == ["assumed 2#1 slot 1"])
        let inventory = Inventory(
            runner: "r1", boot: "b1", entries: [attempt(1): gone(world), attempt(2): running(world)],
            slotStarts: [attempt(2): SlotStart(slot: 0, at: world.now)])
        let changes = world.after(.runnerConnected(inventory))
        #expect(changes.suffix(3) == ["finished 1 succeeded", "confirmed 2#1 slot 0", "launched 2#1"])
        #expect(world.last.reports.map(\.kind) == [.finished, .ready, .started])
    }

    @Test func `a staged launch that its runner does not list waits as before`() {
        var world = World(workers: 1, snapshot(), connected: false)
        let inventory = Inventory(runner: "r1", boot: "b1", entries: [attempt(1): running(world)])
        let changes = world.after(.runnerConnected(inventory))
        #expect(changes == ["launched 1#1", "unstaged 2#1", "pending 2"])
        #expect(world.after(world.exit(1)).suffix(2) == ["ready 2", "started 2#1 slot 0"])
    }

    @Test(arguments: [0, 1] as [Int32])
    func `the end of a predecessor in the meantime decides about a staged launch`(code: Int32) {
        var world = World(workers: 1, snapshot(), connected: false)
        let inventory = Inventory(runner: "r1", boot: "b1", entries: [attempt(1): gone(world, code)])
        let changes = world.after(.runnerConnected(inventory))
        #expect(changes.contains("unstaged 2#1"))
        #expect(changes.last == (code == 0 ? "started 2#1 slot 0" : "finished 2 skipped root 1 failed"))
    }

    @Test func `two staged launches are interrupted when another runner connects`() {
        var world = World(workers: 1, snapshot(), connected: false)
        world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1")))
        #expect(world.last.effects == [.reap(attempt(1)), .reap(attempt(2))])
        #expect(world.after(.gone(attempt(1))).last == "finished 1 interrupted runner lost")
        #expect(world.after(.gone(attempt(2))).last == "finished 2 interrupted runner lost")
    }

    @Test func `two staged launches are interrupted after a power cut`() {
        var world = World(workers: 1, snapshot(), connected: false)
        let changes = world.after(.runnerConnected(Inventory(runner: "r2", boot: "b2")))
        #expect(changes.contains("finished 1 interrupted machine restarted"))
        #expect(changes.contains("finished 2 interrupted machine restarted"))
    }

    @Test func `a predecessor can be abandoned before the runner is connected`() {
        var world = World(workers: 1, snapshot(), connected: false)
        world.after(.cancel([1], by: "ann", reason: nil, force: true))
        #expect(world.state(2) == .executing)
        let changes = world.after(.runnerConnected(Inventory(runner: "r1", boot: "b1")))
        #expect(changes == ["unstaged 2#1", "pending 2", "finished 2 skipped root 1 cancelled"])
    }

    /// Returns a snapshot in which 2 is assumed to have started, and 1 has failed since.
    private func snapshotAfterFailure() -> Snapshot {
        var failed = snapshot()
        failed.presumeSecond()
        failed.operations.removeFirst()
        failed.running.removeFirst()
        failed.finished = [1: FinishedFact(outcome: .failed, root: 1, hasStarted: true)]
        return failed
    }

    @Test func `a staged launch that did not start before its predecessor failed is skipped after a crash`() {
        var world = World(workers: 1, snapshotAfterFailure(), connected: false)
        #expect(world.state(2) == .executing)
        let changes = world.after(.runnerConnected(Inventory(runner: "r1", boot: "b1")))
        #expect(changes == ["unstaged 2#1", "pending 2", "finished 2 skipped root 1 failed"])
    }

    @Test func `a staged launch that started goes on after a crash although its predecessor has failed`() {
        var world = World(workers: 1, snapshotAfterFailure(), connected: false)
        let inventory = Inventory(
            runner: "r1", boot: "b1", entries: [attempt(2): running(world)],
            slotStarts: [attempt(2): SlotStart(slot: 0, at: world.now)])
        #expect(world.after(.runnerConnected(inventory)) == ["confirmed 2#1 slot 0", "launched 2#1"])
        #expect(world.after(world.exit(2)).last == "finished 2 succeeded")
    }

    @Test func `a cancel of an operation that may not have started is kept`() {
        var world = World(workers: 1, snapshot(), connected: false)
        #expect(
            world.after(.cancel([2], by: "ann", reason: nil, force: false)) == ["cancelling 2 cancelled"])
        let inventory = Inventory(runner: "r1", boot: "b1", entries: [attempt(1): running(world)])
        #expect(world.after(.runnerConnected(inventory)).last == "finished 2 cancelled by ann")
        #expect(world.executing == [1])
    }

    @Test func `a start is assumed once and the operation keeps its edges`() {
        var again = snapshot()
        again.presumeSecond()
        var world = World(workers: 1, again, connected: false)
        #expect(world.last.changes.isEmpty)
        let inventory = Inventory(runner: "r1", boot: "b1", entries: [attempt(1): running(world)])
        #expect(world.after(.runnerConnected(inventory)) == ["launched 1#1", "unstaged 2#1", "pending 2"])
        #expect(world.after(world.exit(1, 1)).last == "finished 2 skipped root 1 failed")
    }
}

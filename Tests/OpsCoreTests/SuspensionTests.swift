import OpsCore
import OpsTesting
import Testing

@Suite struct SuspensionTests {
    private func answer(_ event: Event, _ world: inout World) -> Result<Acceptance, Rejection> {
        defer { world.turn() }
        return world.handle(event)
    }

    @Test(arguments: [Level.daemon, .queue("default"), .graph(GraphID(1))])
    func `a level is suspended and resumed once`(level: Level) {
        var world = World()
        world.add()
        for event in [Event.suspend(level, freeze: false), .resume(level)] {
            let answers = [answer(event, &world), answer(event, &world)]
            #expect(answers == [.success(.done(1)), .success(.done(0))])
        }
    }

    @Test(arguments: [Level.daemon, .queue("default"), .graph(GraphID(1))])
    func `freezing a level counts the level and the processes that it stops`(level: Level) {
        var world = World()
        world.add()
        world.add()
        world.turn()
        let processes = level == .graph(GraphID(1)) ? 1 : 2
        #expect(answer(.suspend(level, freeze: true), &world) == .success(.done(1 + processes)))
        #expect(world.last.effects.count == processes)
        #expect(answer(.suspend(level, freeze: true), &world) == .success(.done(0)))
        #expect(answer(.resume(level), &world) == .success(.done(1 + processes)))
        #expect(world.last.effects.count == processes)
    }

    @Test func `an operation that two levels stopped goes on once both are resumed`() {
        var world = World()
        world.add()
        world.turn()
        _ = answer(.suspend(.queue("default"), freeze: true), &world)
        _ = answer(.suspend(.daemon, freeze: true), &world)
        #expect(world.last.effects.isEmpty, "its processes are stopped already")
        _ = answer(.resume(.queue("default")), &world)
        #expect(world.last.effects.isEmpty)
        _ = answer(.resume(.daemon), &world)
        #expect(world.last.effects == [.thaw(world.attempt(1))])
    }

    @Test(arguments: [true, false])
    func `a process that an earlier version froze goes on with the daemon if that is suspended`(isSuspended: Bool) {
        var snapshot = Snapshot()
        snapshot.nextOperation = 2
        snapshot.nextGraph = 2
        snapshot.isSuspended = isSuspended
        var row = Snapshot.Row(id: OperationID(1), graph: GraphID(1), state: .executing, attempt: 1, attemptsInRun: 1)
        row.frozenBy = .unknown
        snapshot.operations = [row]
        let start = Moment(monotonic: 0, wall: 0)
        let attempt = AttemptID(OperationID(1), 1)
        snapshot.running = [
            Snapshot.Running(attempt: attempt, slot: 0, runner: "r1", boot: "b1", startedAt: start)
        ]
        var world = World(snapshot, connected: false)
        let process = LaunchedProcess(pid: 7, startTicks: 1, at: world.now)
        world.after(
            .runnerConnected(Inventory(runner: "r1", boot: "b1", entries: [attempt: .running(process)])))
        #expect(world.last.effects == [.freeze(attempt)])
        world.after(.resume(.daemon))
        #expect(world.last.effects == (isSuspended ? [.thaw(attempt)] : []), "nobody else stopped it")
        world.after(.resume(.operations([OperationID(1)])))
        #expect(world.last.effects == (isSuspended ? [] : [.thaw(attempt)]))
    }

    /// Levels that freeze an operation, a level that is suspended without freezing it, and the level that is resumed.
    struct Resumption: Sendable {
        var freezing: [Level]
        var suspending: Level?
        var resumed: Level
        var isThawed: Bool
    }

    private static let itself = Level.operations([1])
    private static let queue = Level.queue("default")
    private static let graph = Level.graph(GraphID(1))

    @Test(
        arguments: [
            Resumption(freezing: [itself, queue], resumed: queue, isThawed: false),
            Resumption(freezing: [itself, graph], resumed: graph, isThawed: false),
            Resumption(freezing: [queue, .daemon], resumed: .daemon, isThawed: false),
            Resumption(freezing: [itself], suspending: .daemon, resumed: .daemon, isThawed: false),
            Resumption(freezing: [itself], suspending: queue, resumed: itself, isThawed: true),
            Resumption(freezing: [queue], suspending: graph, resumed: queue, isThawed: true),
        ], [false, true])
    func `an operation goes on when the levels that froze it are resumed`(_ scene: Resumption, restarts: Bool) throws {
        var stage = try Stage<Scheduler>()
        var submission = Submission()
        submission.operations = [Draft()]
        try stage.submit(submission)
        for level in scene.freezing { try stage.perform(.suspend(level, freeze: true)) }
        if let level = scene.suspending { try stage.perform(.suspend(level, freeze: false)) }
        if restarts { try stage.restart() }
        try stage.perform(.resume(scene.resumed))
        let thaw = Effect.thaw(AttemptID(OperationID(1), 1))
        #expect(stage.effects.contains(thaw) == scene.isThawed)
        #expect(stage.store[1].isFrozen != scene.isThawed)
        if restarts { try stage.restart() }
        for level in scene.freezing { try stage.perform(.resume(level)) }
        #expect(stage.effects.contains(thaw))
        #expect(!stage.store[1].isFrozen)
    }

    // MARK: Starts after a freeze

    @Test(arguments: [false, true])
    func `an operation that is killed while it is frozen by its id is held until it is resumed`(restarts: Bool) throws {
        var stage = try Stage<Scheduler>()
        var policy = Policy()
        policy.retry = RetryPolicy(limit: 1, backoff: .milliseconds(1))
        var submission = Submission()
        submission.policies = [policy]
        submission.operations = [Draft(policy: 0)]
        try stage.submit(submission)
        try stage.perform(.suspend(Self.itself, freeze: true))
        let attempt = AttemptID(OperationID(1), 1)
        _ = stage.exit(of: attempt)
        let killed = ProcessExit(status: .signal(9), at: stage.now)
        try stage.perform(.exited(attempt, killed, treeIsGone: true))
        #expect(stage.store[1].state == .ready && stage.store[1].isHeld && !stage.store[1].isFrozen)
        if restarts { try stage.restart() }
        stage.pass(.seconds(60))
        try stage.perform(.tick)
        #expect(stage.started == [1])
        #expect(try stage.perform(.resume(Self.itself)) == [.done(1)])
        #expect(stage.started == [1, 1])
        try stage.drain()
        #expect(stage.store[1].outcome == .succeeded)
    }

    @Test(arguments: [Level.daemon, queue, graph])
    func `an operation that is retried after a level has frozen it waits for that level alone`(level: Level) {
        var world = World()
        world.add { $0.retry = RetryPolicy(limit: 1, backoff: .zero) }
        world.turn()
        world.after(.suspend(level, freeze: true))
        #expect(world.after(world.exit(1, 1)).suffix(3) == ["frozen 1 false", "ended 1#1 failed", "retrying 1"])
        world.after(.resume(level))
        #expect(world.executing == [1])
    }

    @Test func `an operation that is not tried again is not held after its freeze`() {
        var world = World()
        world.add()
        world.turn()
        world.after(.suspend(Self.itself, freeze: true))
        #expect(
            world.after(world.exit(1, 1)) == [
                "exited 1#1", "frozen 1 false", "ended 1#1 failed", "finished 1 failed exit 1",
            ])
    }

    @Test func `a frozen operation that a restart of the machine interrupts is held`() {
        var policy = Policy()
        policy.retry = RetryPolicy(limit: 1, backoff: .zero, onInterrupted: true)
        var snapshot = Snapshot()
        snapshot.nextOperation = 2
        snapshot.nextGraph = 2
        snapshot.policies = [policy]
        snapshot.operations = [
            Snapshot.Row(
                id: 1, graph: GraphID(1), policy: 0, state: .executing, frozenBy: .operation, attempt: 1,
                attemptsInRun: 1, hasStarted: true)
        ]
        let start = Moment(monotonic: 0, wall: 0)
        snapshot.running = [
            Snapshot.Running(attempt: AttemptID(1, 1), slot: 0, runner: "r1", boot: "b1", startedAt: start)
        ]
        var world = World(snapshot, connected: false)
        #expect(
            world.after(.runnerConnected(Inventory(runner: "r2", boot: "b2"))) == [
                "held 1 true", "frozen 1 false", "ended 1#1 interrupted", "retrying 1",
            ])
        #expect(world.after(.resume(Self.itself)) == ["held 1 false", "started 1#2 slot 0"])
    }

    /// They are thawed for the signal before the attempt has ended.
    @Test func `an operation is held whose processes are terminated because the frozen main process died`() {
        var world = World()
        world.add {
            $0.completion = .notify
            $0.retry = RetryPolicy(limit: 1, backoff: .zero)
        }
        world.turn()
        world.after(.suspend(Self.itself, freeze: true))
        #expect(world.after(world.exit(1, 1, gone: false)) == ["exited 1#1", "held 1 true", "frozen 1 false"])
        #expect(world.last.effects == [.terminate(AttemptID(1, 1), grace: .seconds(10))])
        #expect(world.after(.gone(AttemptID(1, 1))) == ["ended 1#1 failed", "retrying 1"])
        #expect(world.after(.resume(Self.itself)) == ["held 1 false", "started 1#2 slot 0"])
    }

    @Test func `a child of a frozen operation waits from the death of its parent until that is resumed`() {
        var world = World(workers: 1)
        world.add { $0.retry = RetryPolicy(limit: 1, backoff: .zero) }
        world.turn()
        world.after(.suspend(Self.itself, freeze: true))
        let child = world.add(child: 1)
        world.turn()
        #expect(world.after(world.exit(1, 1)) == ["exited 1#1", "held 1 true", "frozen 1 false", "ended 1#1 failed"])
        #expect(world.state(child) == .ready)
        #expect(world.after(.resume(Self.itself)) == ["held 1 false", "started 2#1 slot 0"])
        #expect(world.after(world.exit(child)).suffix(2) == ["retrying 1", "started 1#2 slot 0"])
    }

    @Test func `a launch that is frozen while its start is assumed is held if it has not started`() {
        var world = World(workers: 2)
        world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1", acceptsStaging: true)))
        for _ in 0..<4 { world.add() }
        world.turn()
        world.after(world.exit(1))
        #expect(world.scheduler.stagedCount == 1)
        world.after(.suspend(.operations([4]), freeze: true))
        #expect(world.after(.revocationConfirmed) == ["held 4 true", "frozen 4 false", "unstaged 4#1"])
        world.after(world.exit(2))
        #expect(world.state(4) == .ready)
        #expect(world.after(.resume(.operations([4]))) == ["held 4 false", "started 4#1 slot 1"])
    }

    @Test func `every change of the levels that freeze an operation is recorded`() throws {
        var stage = try Stage<Scheduler>()
        var submission = Submission()
        submission.operations = [Draft()]
        try stage.submit(submission)
        try stage.perform(.suspend(Self.queue, freeze: true))
        #expect(stage.store[1].frozenBy == .queue)
        try stage.perform(.suspend(Self.itself, freeze: true))
        #expect(stage.store[1].frozenBy == [.queue, .operation])
        try stage.perform(.suspend(Self.graph, freeze: true))
        try stage.perform(.resume(Self.queue))
        #expect(stage.store[1].frozenBy == [.operation, .graph])
        try stage.perform(.suspend(.daemon, freeze: true))
        try stage.perform(.resume(Self.graph))
        #expect(stage.store[1].frozenBy == [.operation, .daemon])
        try stage.perform(.resume(.daemon))
        try stage.perform(.resume(Self.itself))
        #expect(stage.store[1].frozenBy.isEmpty)
    }
}

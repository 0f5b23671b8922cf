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

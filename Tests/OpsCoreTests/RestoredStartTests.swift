import OpsCore
import Testing

/// Edges on the start of an operation that executed before a restart, and of which no start is stored.
@Suite struct RestoredStartTests {
    private let first = AttemptID(1, 1)

    /// Returns the state in which 1 executes: in the pool, or on the executor of its policy.
    private func snapshot(_ policy: Policy? = nil) -> Snapshot {
        let isExternal = policy?.executor != nil
        var snapshot = Snapshot()
        snapshot.nextOperation = 2
        snapshot.nextGraph = 2
        if let policy { snapshot.policies = [policy] }
        snapshot.operations = [
            Snapshot.Row(
                id: 1, graph: GraphID(1), policy: policy == nil ? nil : 0, state: .executing, attempt: 1,
                attemptsInRun: 1)
        ]
        snapshot.running = [
            Snapshot.Running(
                attempt: first, slot: isExternal ? nil : 0, runner: isExternal ? "" : "r1",
                boot: isExternal ? "" : "b1", startedAt: Moment(monotonic: .seconds(1_000), wall: .seconds(1_000_000)))
        ]
        return snapshot
    }

    @Test func `an operation of the pool that executes has started`() {
        var world = World(snapshot(), connected: false)
        let waiting = world.add(after: [1], when: .started, flags: .held)
        let later = OperationID(world.add(flags: .held))
        world.turn()
        #expect(world.state(waiting) == .ready)
        #expect(world.after(.addDependency(later, on: 1, when: .started, finished: nil)) == ["edge 3 on 1 started"])
        let running = AttemptState.running(LaunchedProcess(pid: 7, startTicks: 1, at: world.now))
        world.after(.runnerConnected(Inventory(runner: "r1", boot: "b1", entries: [first: running])))
        world.after(world.exit(1, 1))
        #expect(world.state(1) == nil && world.state(waiting) == .ready && world.state(3) == .ready)
    }

    @Test func `a job that was only submitted has not started`() {
        var policy = Policy()
        policy.executor = "slurm"
        var world = World(snapshot(policy))
        let waiting = world.add(after: [1], when: .started, flags: .held)
        world.turn()
        #expect(world.state(1) == .executing && world.state(waiting) == .pending)
        let running = AttemptState.running(LaunchedProcess(pid: 0, startTicks: 0, at: world.now))
        world.after(.external("slurm", .runnerConnected(Inventory(runner: "s1", boot: "", entries: [first: running]))))
        #expect(world.state(waiting) == .ready)
    }
}

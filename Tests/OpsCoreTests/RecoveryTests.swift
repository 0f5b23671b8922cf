import OpsCore
import Testing

/// A scheduler that takes over the state of an earlier one.
@Suite struct RecoveryTests {
    func snapshot(_ change: (inout Snapshot) -> Void = { _ in }) -> Snapshot {
        var snapshot = Snapshot()
        snapshot.nextOperation = 3
        snapshot.nextGraph = 2
        snapshot.lastSequence = 9
        snapshot.operations = [
            Snapshot.Row(id: 1, graph: GraphID(1), state: .executing, attempt: 1, attemptsInRun: 1),
            Snapshot.Row(id: 2, graph: GraphID(1), state: .pending),
        ]
        snapshot.edges = [Snapshot.Edge(from: 2, on: 1, when: .succeeded)]
        snapshot.running = [
            Snapshot.Running(
                attempt: AttemptID(1, 1), slot: 0, runner: "r1", boot: "b1",
                startedAt: Moment(monotonic: 0, wall: 0))
        ]
        change(&snapshot)
        return snapshot
    }

    func connect(_ world: inout World, runner: String = "r1", boot: String = "b1", _ entry: AttemptState? = nil)
        -> [String]
    {
        let entries = entry.map { [AttemptID(1, 1): $0] } ?? [:]
        return world.after(.runnerConnected(Inventory(runner: runner, boot: boot, entries: entries)))
    }

    @Test func `edges after one on an operation that has left count`() {
        let stale = Snapshot.Edge(from: 2, on: 7, when: .succeeded)
        let world = World(snapshot { $0.edges.insert(stale, at: 0) }, connected: false)
        let reasons = world.scheduler.why(2, at: world.now)
        #expect(reasons == [Reason(kind: .dependency, ids: [1], detail: .dependency(.succeeded))])
    }

    @Test func `a process that was frozen before its launch is frozen after it`() {
        var world = World(workers: 1)
        world.add()
        world.turn()
        world.after(.suspend(.operations([1]), freeze: true))
        world.after(.runnerLost)
        world.after(.runnerConnected(Inventory(runner: "r1", boot: "b1")))
        let attempt = AttemptID(1, 1)
        #expect(world.last.effects == [.launch(attempt, slot: 0)])
        world.after(.launched(attempt, LaunchedProcess(pid: 9, startTicks: 1, at: world.now)))
        #expect(world.last.effects == [.freeze(attempt)])
    }

    @Test func `an operation that the runner lists goes on`() {
        var world = World(snapshot(), connected: false)
        let process = LaunchedProcess(pid: 7, startTicks: 1, at: world.now)
        #expect(connect(&world, .running(process)) == ["launched 1#1"])
        #expect(
            world.after(world.exit(1)) == [
                "exited 1#1", "ended 1#1 succeeded", "finished 1 succeeded", "ready 2", "started 2#1 slot 0",
            ])
        #expect(world.last.reports.first?.sequence == 10)
    }

    @Test func `an operation that has aged counts for its steps at once`() {
        let world = World(
            workers: 0,
            snapshot {
                $0.queues = [Snapshot.Queue(name: "default", aging: .seconds(300))]
                let readyAt = WallInstant.seconds(999_000)
                $0.operations[1] = Snapshot.Row(id: 2, graph: GraphID(1), state: .ready, readyAt: readyAt)
                $0.edges = []
            })
        #expect(world.scheduler.effectivePriority(of: 2) == 3)
    }

    /// Returns a group with a timeout of a minute that is loaded in boot b1, with a child that does not start.
    private func group(startedAt: Moment, boot: String) -> World {
        World(
            snapshot {
                $0.boot = "b1"
                var policy = Policy()
                policy.timeout = .seconds(60)
                $0.policies = [policy]
                $0.operations[0] = Snapshot.Row(
                    id: 1, graph: GraphID(1), policy: 0, state: .executing, flags: .group, hasStarted: true)
                $0.operations[1] = Snapshot.Row(
                    id: 2, graph: GraphID(1), parent: 1, state: .ready, flags: .held)
                $0.edges = []
                $0.running = [
                    Snapshot.Running(
                        attempt: AttemptID(1, 0), slot: nil, runner: "", boot: boot, startedAt: startedAt)
                ]
            })
    }

    @Test(arguments: ["", "b0"])
    func `the timeout of a group counts from its start across a restart of the machine`(boot: String) {
        var world = group(startedAt: Moment(monotonic: 0, wall: .seconds(999_950)), boot: boot)
        world.pass(seconds: 9)
        #expect(world.turn() == [])
        world.pass(seconds: 1)
        #expect(world.turn().last == "finished 1 timedOut longer than 60s")
    }

    @Test(arguments: [-7200, 7200] as [Int64])
    func `the timeout of a group does not follow the wall clock across a restart of opsd`(step: Int64) {
        let start = Moment(monotonic: .seconds(950), wall: .seconds(999_950 - step))
        var world = group(startedAt: start, boot: "b1")
        world.pass(seconds: 9)
        #expect(world.turn() == [])
        world.pass(seconds: 1)
        #expect(world.turn().last == "finished 1 timedOut longer than 60s")
    }

    @Test func `a timeout stands still for an operation that is frozen before its runner has connected`() {
        var policy = Policy()
        policy.timeout = .seconds(60)
        var world = World(
            snapshot {
                $0.policies = [policy]
                $0.operations[0].policy = 0
                $0.running[0].startedAt = Moment(monotonic: .seconds(990), wall: .seconds(999_990))
            }, connected: false)
        #expect(world.after(.suspend(.operations([1]), freeze: true)) == ["timeout 1 50s", "frozen 1 true"])
        _ = connect(&world, .running(LaunchedProcess(pid: 7, startTicks: 1, at: world.now)))
        world.pass(seconds: 100)
        #expect(world.turn() == [])
        world.after(.resume(.operations([1])))
        world.pass(seconds: 50)
        #expect(world.turn() == ["cancelling 1 timedOut"])
    }

    @Test func `a resolved attempt that was frozen at a restart has no timeout when it goes on`() {
        var policy = Policy()
        policy.timeout = .seconds(60)
        policy.completion = .notify
        policy.leftovers = .wait
        var world = World(
            snapshot {
                $0.policies = [policy]
                $0.operations[0].policy = 0
                $0.operations[0].frozenBy = .operation
                $0.running[0].resolution = Resolution(outcome: .succeeded, cause: .reported(status: 0))
            }, connected: false)
        _ = connect(&world, .running(LaunchedProcess(pid: 7, startTicks: 1, at: world.now)))
        world.after(.resume(.operations([1])))
        world.pass(seconds: 100)
        #expect(world.turn() == [] && world.last.effects == [])
    }

    @Test(arguments: [false, true])
    func `processes left by a reported end are ended after a restart only if they were cancelled`(isCancelled: Bool) {
        var world = World(
            snapshot {
                var policy = Policy()
                policy.completion = .notify
                policy.leftovers = .wait
                $0.policies = [policy]
                $0.operations[0].policy = 0
                $0.running[0].resolution = Resolution(outcome: .succeeded, cause: .reported(status: 0))
                $0.running[0].isCancelled = isCancelled
            }, connected: false)
        _ = connect(&world, .running(LaunchedProcess(pid: 7, startTicks: 1, at: world.now)))
        let isTerminated = world.last.effects.contains(.terminate(AttemptID(1, 1), grace: .seconds(10)))
        #expect(isTerminated == isCancelled)
    }

    @Test func `a launch that never reached the same runner is repeated`() {
        var world = World(snapshot(), connected: false)
        #expect(connect(&world) == [])
        #expect(world.last.effects == [.launch(AttemptID(1, 1), slot: 0)])
    }

    @Test func `an exit during the absence of opsd counts`() {
        var world = World(snapshot(), connected: false)
        let exit = ProcessExit(status: .code(3), at: world.now)
        #expect(
            connect(&world, .gone(exit)) == [
                "exited 1#1", "ended 1#1 failed", "finished 1 failed exit 3", "finished 2 skipped root 1 failed",
            ])
        #expect(world.last.effects == [.acknowledge(AttemptID(1, 1))])
    }

    @Test func `a new runner reaps an attempt before its dependents go on`() {
        var world = World(snapshot(), connected: false)
        #expect(connect(&world, runner: "r2") == [])
        #expect(world.last.effects == [.reap(AttemptID(1, 1))])
        #expect(
            world.after(.gone(AttemptID(1, 1))) == [
                "ended 1#1 interrupted", "finished 1 interrupted runner lost", "finished 2 skipped root 1 interrupted",
            ])
    }

    @Test func `a restart of the machine interrupts attempts at once`() {
        var policy = Policy()
        policy.retry = RetryPolicy(limit: 1, backoff: 0, onInterrupted: true)
        var world = World(
            snapshot {
                $0.policies = [policy]
                $0.operations[0].policy = 0
            }, connected: false)
        #expect(
            connect(&world, runner: "r2", boot: "b2") == ["ended 1#1 interrupted", "retrying 1", "started 1#2 slot 0"])
    }

    @Test func `a decided end is carried out again after a restart`() {
        var world = World(
            snapshot {
                $0.running[0].resolution = Resolution(outcome: .cancelled, cause: .cancelledBy("root", reason: nil))
                $0.running[0].process = LaunchedProcess(pid: 7, startTicks: 1, at: Moment(monotonic: 0, wall: 0))
            }, connected: false)
        _ = connect(&world, .running(LaunchedProcess(pid: 7, startTicks: 1, at: world.now)))
        #expect(world.last.effects == [.terminate(AttemptID(1, 1), grace: .seconds(10))])
        #expect(world.after(world.exit(1)).last == "finished 2 skipped root 1 cancelled")
    }

    /// Returns a world in which 1 has ended like this and waits for its child 2.
    private func producerWithChild(_ resolution: Resolution) -> World {
        World(
            snapshot {
                $0.operations[1].parent = 1
                $0.operations[1].state = .ready
                $0.edges = []
                $0.running[0].isOver = true
                $0.running[0].resolution = resolution
            }, connected: false)
    }

    @Test func `a producer that waits for its children is not launched again`() {
        var world = producerWithChild(Resolution(outcome: .succeeded, cause: .exitStatus(0)))
        #expect(connect(&world) == ["started 2#1 slot 0"])
        #expect(world.after(world.exit(2)).suffix(2) == ["finished 2 succeeded", "finished 1 succeeded"])
    }

    @Test func `a cancelled producer refuses children after a restart too`() {
        var world = producerWithChild(Resolution(outcome: .cancelled, cause: .cancelledBy("root", reason: nil)))
        _ = connect(&world)
        #expect(world.add(child: 1) == -1, "a cancelled operation gets no new children")
    }

    @Test func `nothing starts without a runner`() {
        var world = World(connected: false)
        world.add()
        #expect(world.turn() == ["submitted g1 1+1 ready"])
        #expect(connect(&world) == ["started 1#1 slot 0"])
        world.after(.runnerLost)
        world.add()
        #expect(world.turn() == ["submitted g2 2+1 ready"])
    }

    @Test func `an operation that an ending runner refused waits for its turn again`() {
        var world = World()
        world.add()
        world.add()
        world.turn()
        let process = LaunchedProcess(pid: 7, startTicks: 1, at: world.now)
        let inventory = Inventory(
            runner: "r1", boot: "b1", entries: [AttemptID(1, 1): .running(process)], isEnding: true)
        #expect(world.after(.runnerConnected(inventory)) == ["launched 1#1", "ended 2#1 failed", "retrying 2"])
        #expect(!world.scheduler.mayStart)
        // Exits are still reported, but cause nothing yet.
        #expect(world.after(world.exit(1)) == ["exited 1#1", "ended 1#1 succeeded", "finished 1 succeeded"])
        #expect(world.after(.runnerLost) == [])
        #expect(world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1"))) == ["started 2#2 slot 0"])
    }

    @Test func `a launch that is refused in its own turn is not sent`() {
        var world = World(snapshot(), connected: false)
        world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1")))
        world.after(.runnerConnected(Inventory(runner: "r1", boot: "b1", isEnding: true)))
        #expect(world.last.effects == [.acknowledge(AttemptID(1, 1))])
    }

    @Test func `an attempt that no runner took does not count for retries`() {
        var world = World()
        world.add { $0.retry = RetryPolicy(limit: 1, backoff: 0) }
        world.turn()
        #expect(
            world.after(.runnerConnected(Inventory(runner: "r1", boot: "b1", isEnding: true)))
                == ["ended 1#1 failed", "retrying 1"])
        #expect(world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1"))) == ["started 1#2 slot 0"])
        #expect(
            world.after(world.exit(1, 3)) == ["exited 1#2", "ended 1#2 failed", "retrying 1", "started 1#3 slot 0"])
        #expect(world.after(world.exit(1, 3)).last == "finished 1 failed exit 3")
    }

    @Test func `a refused attempt whose children remain is cancelled with its group`() {
        var world = World()
        world.add()
        world.turn()
        let child = world.add(flags: .held, child: 1)
        world.after(.runnerConnected(Inventory(runner: "r1", boot: "b1", isEnding: true)))
        #expect(world.state(child) == .ready)
        #expect(
            world.after(.cancel([1], by: "root", reason: nil, force: false)).last?.hasPrefix("finished 1 cancelled")
                == true)
    }

    @Test func `an operation that is cancelled while an ending runner refuses it is cancelled`() {
        var world = World()
        world.add()
        world.turn()
        world.after(.cancel([1], by: "root", reason: nil, force: false))
        #expect(
            world.after(.runnerConnected(Inventory(runner: "r1", boot: "b1", isEnding: true))).last?
                .hasPrefix("finished 1 cancelled") == true)
    }

    @Test func `unknown attempts in the inventory are ended or acknowledged`() {
        var world = World(connected: false)
        let process = LaunchedProcess(pid: 7, startTicks: 1, at: world.now)
        let exit = ProcessExit(status: .code(0), at: world.now)
        world.after(
            .runnerConnected(
                Inventory(
                    runner: "r1", boot: "b1",
                    entries: [AttemptID(5, 1): .running(process), AttemptID(4, 1): .gone(exit)])))
        #expect(
            world.last.effects == [
                .acknowledge(AttemptID(4, 1)), .terminate(AttemptID(5, 1), grace: .seconds(10)),
            ])
    }

    @Test func `retry opens a new run of the same operation and of its skipped dependents`() {
        var world = World()
        world.add()
        world.add(after: [1])
        world.turn()
        world.after(world.exit(1, 1))
        var revival = Revival()
        revival.queues = ["default"]
        revival.operations = [
            Snapshot.Row(id: 1, graph: GraphID(1), state: .finished, attempt: 1, attemptsInRun: 1),
            Snapshot.Row(id: 2, graph: GraphID(2), state: .finished),
        ]
        revival.edges = [Snapshot.Edge(from: 2, on: 1, when: .succeeded)]
        #expect(
            world.after(.retry([1], revived: revival)) == [
                "reopened 1 run 2 ready", "reopened 2 run 2 pending", "started 1#2 slot 0",
            ])
        #expect(world.after(world.exit(1)).suffix(2) == ["ready 2", "started 2#1 slot 0"])
    }

    @Test func `an operation that is abandoned in the turn of its second launch is not launched`() {
        var world = World(snapshot(), connected: false)
        world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1")))
        world.after(.cancel([1], by: "root", reason: nil, force: true))
        #expect(world.last.effects == [.terminate(AttemptID(1, 1), grace: .zero)])
    }

    @Test func `an observer that has run is not started again in the same turn`() {
        let world = World(snapshot { $0.owedObservers = [.init(1, run: 1), .init(1, run: 2)] }, connected: false)
        #expect(world.last.effects == [.observeFinish(1, run: 1), .observeFinish(1, run: 2)])
        var scheduler = Scheduler(snapshot { $0.owedObservers = [.init(1, run: 1)] }, workers: 1, at: world.now)
        _ = scheduler.handle(.observed(1, run: 1), at: world.now)
        #expect(scheduler.endTurn(at: world.now).effects.isEmpty)
    }

    @Test func `a backoff survives a restart after its retry policy is gone`() {
        var world = World(
            snapshot {
                $0.operations[0].state = .ready
                $0.operations[0].notBefore = .seconds(1_000_005)
                $0.running = []
            }, connected: false)
        #expect(connect(&world) == [])
        #expect(world.scheduler.why(1, at: world.now).map(\.kind) == [.backoff])
        world.pass(seconds: 5)
        #expect(world.turn() == ["started 1#2 slot 0"])
    }

    @Test func `a clock that was set back does not lengthen a backoff`() {
        var policy = Policy()
        policy.retry = RetryPolicy(limit: 3, backoff: .seconds(1), jitter: 0)
        var world = World(
            snapshot {
                $0.policies = [policy]
                $0.operations[0].policy = 0
                $0.operations[0].state = .ready
                $0.operations[0].attempt = 2
                $0.operations[0].attemptsInRun = 2
                // The start time was set by a clock that was a day ahead of today's.
                $0.operations[0].notBefore = .seconds(1_086_400)
                $0.running = []
            }, connected: false)
        #expect(connect(&world) == [])
        world.pass(seconds: 1)
        #expect(world.turn() == [])
        world.pass(seconds: 1)
        #expect(world.turn() == ["started 1#3 slot 0"])
    }

    @Test(arguments: [false, true])
    func `a backoff that an attempt has asked for survives a restart`(clockWasSetBack: Bool) {
        var policy = Policy()
        policy.retry = RetryPolicy(limit: 3, backoff: .seconds(1), jitter: 0)
        var world = World(
            snapshot {
                $0.policies = [policy]
                $0.operations[0].policy = 0
                $0.operations[0].state = .ready
                $0.operations[0].attemptsInRun = 1
                $0.operations[0].readyAt = .seconds(clockWasSetBack ? 1_086_400 : 1_000_000)
                $0.operations[0].notBefore = $0.operations[0].readyAt + .seconds(60)
                $0.running = []
            }, connected: false)
        #expect(connect(&world) == [])
        world.pass(seconds: 59)
        #expect(world.turn() == [])
        world.pass(seconds: 1)
        #expect(world.turn() == ["started 1#2 slot 0"])
    }

    @Test func `a retried child no longer counts as failed for its parent`() {
        var world = World()
        world.add()
        world.turn()
        for _ in 0..<3 { world.add(child: 1) }
        world.turn()
        world.after(world.exit(1))
        world.after(world.exit(2, 1))
        var revival = Revival()
        revival.queues = ["default"]
        revival.operations = [
            Snapshot.Row(id: 2, graph: GraphID(1), parent: 1, state: .finished, attempt: 1, attemptsInRun: 1)
        ]
        revival.endedChildren = [Snapshot.EndedChildren(parent: 1, unsuccessful: 0, firstUnsuccessful: 0)]
        world.handle(world.exit(3, 1))
        world.after(.retry([2], revived: revival))
        world.after(world.exit(4))
        #expect(world.after(world.exit(2)).last == "finished 1 failed children 3 of 1")
    }

    @Test func `a deadline that passes while an attempt ends forbids a retry`() {
        var world = World()
        let deadline = world.now.wall + .seconds(5)
        world.add {
            $0.deadline = deadline
            $0.completion = .notify
            $0.retry = RetryPolicy(limit: 3)
        }
        world.turn()
        world.after(.updated(AttemptID(1, 1), OperationUpdate(finished: 1)))
        world.pass(seconds: 6)
        world.turn()
        #expect(world.after(world.exit(1)).last == "finished 1 timedOut deadline")
    }

    @Test func `a retried operation is no longer named as the root of later skips`() {
        var world = World()
        world.add(flags: .held)
        var submission = Submission()
        submission.operations = [Draft()]
        let stale = FinishedFact(outcome: .skipped, root: 1, hasStarted: false, rootOutcome: .cancelled)
        // 2 was skipped because of 1, which a user has retried since.
        world.add()
        world.handle(.cancel([2], by: "root", reason: nil, force: false))
        world.turn()
        submission.edges = [DraftEdge(from: 0, on: .existing(2))]
        submission.finished = [2: stale]
        world.handle(.submit(submission))
        #expect(world.turn().last == "finished 3 skipped root 2 skipped")
    }

    @Test func `a retry that closes a cycle is refused`() {
        var world = World()
        world.add()
        world.add(after: [1])
        world.turn()
        world.after(world.exit(1))
        world.after(world.exit(2))
        var revival = Revival()
        revival.queues = ["default"]
        revival.operations = [1, 2].map {
            Snapshot.Row(id: $0, graph: GraphID($0.rawValue), state: .finished, attempt: 1, attemptsInRun: 1)
        }
        revival.edges = [
            Snapshot.Edge(from: 2, on: 1, when: .succeeded), Snapshot.Edge(from: 1, on: 2, when: .finished),
        ]
        guard case .failure(.cycle(let circle)) = world.handle(.retry([1, 2], revived: revival)) else {
            Issue.record("taken")
            return
        }
        #expect(Set(circle.map { "\($0)" }).count == 2)
        #expect(world.turn() == [])
    }
}

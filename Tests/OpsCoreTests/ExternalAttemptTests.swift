import OpsCore
import Testing

/// Operations on an executor other than the runner.
@Suite struct ExternalAttemptTests {
    /// Returns a world with an executor `slurm` and one operation on it.
    func world(window: Int32 = 100, connected: Bool = true, workers: Int32 = 4) -> World {
        var world = World(workers: workers)
        world.handle(.setExecutors([ExecutorSettings(name: "slurm", window: window)]))
        if connected { world.handle(report(connection())) }
        world.turn()
        return world
    }

    func connection(_ entries: [AttemptID: AttemptState] = [:], ending: Bool = false) -> Event {
        .runnerConnected(Inventory(runner: "s1", boot: "", entries: entries, isEnding: ending))
    }

    func report(_ event: Event) -> Event { .external("slurm", event) }
    private func command(_ effect: Effect) -> Effect { .external("slurm", effect) }
    let first = AttemptID(1, 1)

    func process(_ world: World) -> LaunchedProcess { LaunchedProcess(pid: 0, startTicks: 0, at: world.now) }
    func exit(_ world: World, _ code: Int32 = 0) -> Event {
        report(.exited(first, ProcessExit(status: .code(code), at: world.now), treeIsGone: true))
    }

    private func load(_ world: World) -> ExecutorLoad? { world.scheduler.executorLoads.first }

    @Test func `a job is released only after its id was recorded`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        #expect(world.turn() == ["submitted g1 1+1 ready", "started 1#1 slot -1"])
        #expect(world.last.effects == [command(.submit(first, job: nil, priority: 0))])
        #expect(!world.last.reports.map(\.kind).contains(.started))
        #expect(world.after(report(.accepted(first, job: "4711"))) == ["accepted 1#1 4711"])
        #expect(world.last.effects == [command(.release(first))])
        #expect(world.after(report(.launched(first, process(world)))) == ["job started 1#1", "launched 1#1"])
        #expect(world.last.reports.map(\.kind) == [.started])
        #expect(world.after(exit(world)) == ["exited 1#1", "ended 1#1 succeeded", "finished 1 succeeded"])
        #expect(world.last.effects == [command(.acknowledge(first))])
        #expect(load(world)?.inFlight == 0)
    }

    @Test func `operations that waited for the start of a job lend it no priority after it`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.add(after: [1], when: .started, priority: 7)
        world.turn()
        #expect(world.last.effects == [command(.submit(first, job: nil, priority: 7))])
        world.after(report(.accepted(first, job: "4711")))
        world.after(report(.launched(first, process(world))))
        #expect(world.scheduler.effectivePriority(of: 1) == 0)
    }

    @Test func `an executor that is lost counts as away, and gets nothing more`() {
        var world = world()
        #expect(load(world)?.isConnected == true)
        world.after(report(.runnerLost))
        #expect(load(world)?.isConnected == false)
        world.add { $0.executor = "slurm" }
        #expect(world.turn() == ["submitted g1 1+1 ready"])
        world.after(report(connection()))
        #expect(world.last.effects == [command(.submit(first, job: nil, priority: 0))])
    }

    @Test func `a new priority reaches the engine while the job waits, and not later`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.turn()
        world.handle(report(.accepted(first, job: "4711")))
        world.turn()
        world.add(after: [1], priority: 7)
        world.turn()
        #expect(world.last.effects == [command(.submit(first, job: "4711", priority: 7))])
        world.handle(report(.launched(first, process(world))))
        world.turn()
        world.add(after: [1], priority: 9)
        world.turn()
        #expect(world.last.effects.isEmpty)
    }

    @Test func `operations of an executor take no slot of the pool`() {
        var world = world(workers: 1)
        for _ in 0..<3 { world.add { $0.executor = "slurm" } }
        world.add()
        world.turn()
        #expect(world.executing == [1, 2, 3, 4])
    }

    @Test func `operations of an executor that is not connected stay ready`() {
        var world = world(connected: false)
        world.add { $0.executor = "slurm" }
        world.turn()
        #expect(world.state(1) == .ready)
        #expect(world.scheduler.why(1, at: world.now).map(\.detail) == [.executorAway(name: "slurm")])
        world.handle(report(connection()))
        world.turn()
        #expect(world.state(1) == .executing)
    }

    @Test func `the window bounds attempts in flight`() {
        var world = world(window: 2)
        for _ in 0..<3 { world.add { $0.executor = "slurm" } }
        world.turn()
        #expect(world.executing == [1, 2])
        let reasons = world.scheduler.why(3, at: world.now)
        #expect(reasons.map(\.detail) == [.executorWindow(name: "slurm", window: 2, position: 1)])
        #expect(reasons.map(\.ids) == [[1, 2]])
        world.handle(report(.launched(first, process(world))))
        world.handle(exit(world))
        world.turn()
        #expect(world.executing == [2, 3])
        world.handle(.setExecutors([ExecutorSettings(name: "slurm", window: 3)]))
        world.add { $0.executor = "slurm" }
        world.turn()
        #expect(world.executing == [2, 3, 4])
    }

    @Test func `categories are held from the commit on`() {
        var world = world()
        world.add(categories: ["db"]) { $0.executor = "slurm" }
        world.add(categories: ["db"])
        world.turn()
        #expect(world.executing == [1])
        world.handle(report(.launched(first, process(world))))
        world.handle(exit(world))
        world.turn()
        #expect(world.executing == [2])
    }

    @Test func `an operation that waits for its executor reserves no category`() {
        var world = world(connected: false)
        world.add(categories: ["db"])
        world.turn()
        world.add(categories: ["db"], priority: 0) { $0.executor = "slurm" }
        for id in 3..<40 as Range<Int64> {
            world.add(categories: ["db"])
            world.handle(world.exit(id == 3 ? 1 : id - 1))
            world.turn()
            #expect(world.executing == [id])
        }
    }

    @Test func `the timeout counts from the start of the job`() {
        var world = world()
        world.add {
            $0.executor = "slurm"
            $0.timeout = .seconds(10)
        }
        world.turn()
        world.pass(seconds: 3600)
        #expect(world.after(.tick) == [])
        world.handle(report(.launched(first, process(world))))
        world.turn()
        world.pass(seconds: 9)
        #expect(world.after(.tick) == [])
        world.pass(seconds: 1)
        #expect(world.after(.tick) == ["cancelling 1 timedOut"])
        #expect(world.last.effects == [command(.terminate(first, grace: Policy().grace))])
    }

    @Test func `a refused attempt fails with the words of the executor and without a retry`() {
        var world = world()
        world.add {
            $0.executor = "slurm"
            $0.retry = RetryPolicy(limit: 3)
        }
        world.turn()
        #expect(
            world.after(report(.refused(first, "no such partition")))
                == ["ended 1#1 failed", "finished 1 failed refused: no such partition"])
        #expect(world.last.effects == [command(.acknowledge(first))])
    }

    @Test(arguments: [true, false])
    func `an interrupted attempt runs again only if its policy says so`(runsAgain: Bool) {
        var world = world()
        world.add {
            $0.executor = "slurm"
            $0.retry = RetryPolicy(limit: 1, backoff: 0, onInterrupted: runsAgain)
        }
        world.turn()
        let end = ExternalEnd(outcome: .interrupted, cause: "node n1 failed", at: world.now)
        let changes = world.after(report(.ended(first, end)))
        if runsAgain {
            #expect(changes == ["ended 1#1 interrupted", "retrying 1", "started 1#2 slot -1"])
        } else {
            #expect(changes == ["ended 1#1 interrupted", "finished 1 interrupted engine: node n1 failed"])
        }
    }

    @Test(arguments: [(wish: 60, delay: 60), (wish: 0, delay: 5), (wish: 2, delay: 5)])
    func `an attempt can ask for a longer back-off than its policy has`(wish: Int64, delay: Int64) {
        var world = world(window: 1)
        world.add {
            $0.executor = "slurm"
            $0.retry = RetryPolicy(limit: 1, backoff: .seconds(5), jitter: 0)
        }
        world.turn()
        let exit = ProcessExit(status: .code(75), at: world.now, retryAfter: .seconds(wish))
        #expect(
            world.after(report(.exited(first, exit, treeIsGone: true))) == [
                "job started 1#1", "launched 1#1", "exited 1#1", "ended 1#1 failed", "retrying 1",
            ])
        #expect(load(world)?.inFlight == 0, "the wait takes no part of the window")
        #expect(world.scheduler.nextDeadline.monotonic == world.now.monotonic + .seconds(delay))
        world.pass(seconds: delay)
        #expect(world.turn() == ["started 1#2 slot -1"])
    }

    // MARK: Reports that cannot be true

    static let impossible = [
        Moment(monotonic: .distantPast, wall: .distantPast), Moment(monotonic: .distantFuture, wall: .distantFuture),
    ]

    private func exits(_ world: World) -> [ProcessExit] {
        world.last.changes.compactMap { if case .exited(_, let exit) = $0 { exit } else { nil } }
    }

    @Test(arguments: impossible)
    func `an instant that cannot be is replaced by the nearest one between the start and now`(instant: Moment) {
        var world = world()
        world.add {
            $0.executor = "slurm"
            $0.timeout = .seconds(3600)
        }
        world.turn()
        let submitted = world.now
        world.pass(seconds: 5)
        let started = instant.wall < submitted.wall ? submitted : world.now
        world.after(report(.launched(first, LaunchedProcess(pid: 0, startTicks: 0, at: instant))))
        let starts: [Moment] = world.last.changes.compactMap { if case .jobStarted(_, let at) = $0 { at } else { nil } }
        #expect(starts == [started])
        world.pass(seconds: 5)
        let ended = instant.wall < submitted.wall ? started : world.now
        let exit = ProcessExit(status: .code(0), at: instant)
        world.after(report(.exited(first, exit, treeIsGone: true)))
        #expect(exits(world).map(\.at) == [ended])
    }

    @Test(arguments: impossible)
    func `the greeting of an executor has no effect of an instant that cannot be`(instant: Moment) {
        var world = world()
        world.add {
            $0.executor = "slurm"
            $0.timeout = .seconds(3600)
        }
        world.turn()
        let running = AttemptState.running(LaunchedProcess(pid: 0, startTicks: 0, at: instant))
        #expect(world.after(report(connection([first: running]))) == ["job started 1#1", "launched 1#1"])
        let end = ExternalEnd(
            outcome: .interrupted, cause: "", exit: ProcessExit(status: .signal(9), at: instant), at: instant)
        world.after(report(connection([first: .ended(end)])))
        #expect(exits(world).map(\.at) == [world.now])
    }

    @Test func `an executor delays the next attempt by a day at most`() {
        var world = world()
        world.add {
            $0.executor = "slurm"
            $0.retry = RetryPolicy(limit: 1, backoff: 0, jitter: 0)
        }
        world.turn()
        let exit = ProcessExit(status: .code(75), at: world.now, retryAfter: .max)
        world.after(report(.exited(first, exit, treeIsGone: true)))
        #expect(world.scheduler.nextDeadline.monotonic == world.now.monotonic + .days(1))
    }

    @Test(arguments: [.code(256), .code(-1), .signal(0), .signal(999)] as [ProcessExit.Status])
    func `an exit status that no process has counts as a failure, and negative usage as none`(
        status: ProcessExit.Status
    ) {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.turn()
        let usage = ProcessUsage(userMicroseconds: -5, systemMicroseconds: .min, maxResidentBytes: -1)
        let exit = ProcessExit(status: status, usage: usage, at: world.now)
        #expect(world.after(report(.exited(first, exit, treeIsGone: true))).last == "finished 1 failed exit 255")
        #expect(exits(world) == [ProcessExit(status: .code(255), at: world.now)])
    }

    @Test func `texts of an executor become one line without control characters`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.turn()
        world.after(report(.accepted(first, job: "4711\n")))
        #expect(world.last.changes.map(brief) == ["accepted 1#1 4711 "])
        #expect(
            world.after(report(.refused(first, "no\u{1B}[2J\nsuch\0partition é"))).last
                == "finished 1 failed refused: no [2J such partition é")
    }

    @Test func `a repeated submission of the executor changes nothing and repeats the release`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.turn()
        world.after(report(.accepted(first, job: "4711")))
        #expect(world.after(report(.accepted(first, job: "4711"))) == [])
        #expect(world.last.effects == [command(.release(first))])
    }

    @Test func `why shows the state of a job, and a new estimate of its start is not stored`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.turn()
        world.after(report(.accepted(first, job: "4711")))
        let pending = OperationUpdate(status: "PENDING (Priority)", expectedStart: 10)
        #expect(world.after(report(.updated(first, pending))).count == 1)
        #expect(world.after(report(.updated(first, OperationUpdate(status: pending.status, expectedStart: 20)))) == [])
        let state = EngineState("PENDING (Priority)", expectedStart: 20)
        let reasons = world.scheduler.why(1, at: world.now)
        #expect(reasons.map(\.kind) == [.executor])
        #expect(reasons.map(\.detail) == [.job(executor: "slurm", id: "4711", state: state)])
        #expect(world.after(report(.updated(first, OperationUpdate(status: "PENDING (Resources)")))).count == 1)
        world.after(report(.launched(first, process(world))))
        let last = EngineState("PENDING (Resources)")
        let detail = world.scheduler.why(1, at: world.now).first?.detail
        #expect(detail == .startedJob(executor: "slurm", id: "4711", state: last))
    }

    @Test func `a job that was accepted after a cancel is ended, not released`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.turn()
        world.after(.cancel([1], by: "root", reason: nil, force: false))
        world.after(report(.accepted(first, job: "4711")))
        #expect(world.last.effects == [command(.terminate(first, grace: Policy().grace))])
        #expect(world.after(report(.gone(first))) == ["ended 1#1 cancelled", "finished 1 cancelled by root"])
    }

    @Test func `an attempt that the executor does not know is submitted again with its job`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.turn()
        world.after(report(.accepted(first, job: "4711")))
        world.after(report(.runnerLost))
        #expect(world.after(report(connection())) == [])
        #expect(world.last.effects == [command(.submit(first, job: "4711", priority: 0))])
    }

    @Test func `a connection repeats what the executor knows`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.turn()
        #expect(world.after(report(connection([first: .accepted(job: "7")]))) == ["accepted 1#1 7"])
        #expect(world.last.effects == [command(.release(first))])
        let running = AttemptState.running(process(world))
        #expect(world.after(report(connection([first: running]))) == ["job started 1#1", "launched 1#1"])
        let end = ExternalEnd(outcome: .timedOut, cause: "TIMEOUT", at: world.now)
        #expect(
            world.after(report(connection([first: .ended(end)])))
                == ["ended 1#1 timedOut", "finished 1 timedOut engine: TIMEOUT"])
    }

    @Test func `attempts of others are ended or forgotten`() {
        var world = world()
        let end = ExternalEnd(outcome: .interrupted, cause: "", at: world.now)
        world.after(report(connection([AttemptID(8, 1): .accepted(job: "1"), AttemptID(9, 1): .ended(end)])))
        #expect(
            world.last.effects == [
                command(.terminate(AttemptID(8, 1), grace: Policy().grace)), command(.acknowledge(AttemptID(9, 1))),
            ])
        world.after(report(.ended(AttemptID(10, 1), end)))
        #expect(world.last.effects == [command(.acknowledge(AttemptID(10, 1)))])
    }

    @Test func `the runner and an executor come and go without touching attempts of each other`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.add()
        world.turn()
        world.handle(.runnerLost)
        world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1")))
        #expect(world.last.effects == [.reap(AttemptID(2, 1))])
        world.after(report(.runnerLost))
        world.after(report(connection()))
        #expect(world.last.effects == [command(.submit(first, job: nil, priority: 0))])
        #expect(world.executing == [1, 2])
    }

    @Test func `a frozen attempt is frozen again when its job starts, and its timeout stands still`() {
        var world = world()
        world.add {
            $0.executor = "slurm"
            $0.timeout = .seconds(1)
        }
        world.turn()
        world.after(report(.accepted(first, job: "7")))
        #expect(world.after(.suspend(.operations([1]), freeze: true)) == ["frozen 1 true"])
        #expect(world.last.effects == [command(.freeze(first))])
        world.after(report(.launched(first, process(world))))
        #expect(world.last.effects == [command(.freeze(first))])
        world.pass(seconds: 5)
        #expect(world.after(.tick) == [])
        world.after(.resume(.operations([1])))
        #expect(world.last.effects == [command(.thaw(first))])
        world.pass(seconds: 2)
        #expect(world.after(.tick) == ["cancelling 1 timedOut"])
    }

    @Test func `a connection repeats that an attempt is frozen`() {
        var world = world()
        world.add { $0.executor = "slurm" }
        world.turn()
        world.after(report(.accepted(first, job: "7")))
        let process = process(world)
        world.after(report(.launched(first, process)))
        world.after(report(.runnerLost))
        world.after(.suspend(.daemon, freeze: true))
        world.after(report(connection([first: .running(process)])))
        #expect(world.last.effects == [command(.freeze(first))])
    }

    @Test func `an attempt in flight is restored with its job`() {
        var policy = Policy()
        policy.executor = "slurm"
        policy.timeout = .seconds(1)
        var snapshot = Snapshot()
        snapshot.policies = [policy]
        snapshot.nextOperation = 3
        snapshot.nextGraph = 2
        snapshot.operations = [1, 2].map {
            Snapshot.Row(id: $0, graph: GraphID(1), policy: 0, state: .executing, attempt: 1, hasStarted: true)
        }
        let start = Moment(monotonic: .seconds(1000), wall: .seconds(1_000_000))
        snapshot.running = [1, 2].map {
            Snapshot.Running(attempt: AttemptID($0, 1), slot: nil, runner: "", boot: "", startedAt: start)
        }
        snapshot.running[0].job = "4711"
        snapshot.running[1].process = LaunchedProcess(pid: 0, startTicks: 0, at: start)
        var world = World(snapshot)
        #expect(load(world)?.inFlight == 2)
        world.pass(seconds: 1)
        world.after(report(connection([AttemptID(2, 1): .running(LaunchedProcess(pid: 0, startTicks: 0, at: start))])))
        #expect(
            world.last.effects == [
                command(.submit(first, job: "4711", priority: 0)), command(.thaw(AttemptID(2, 1))),
                command(.terminate(AttemptID(2, 1), grace: Policy().grace)),
            ])
    }

    @Test func `the timeout of a job counts from its start across a restart of the machine`() {
        var policy = Policy()
        policy.executor = "slurm"
        policy.timeout = .seconds(60)
        // The machine had been up for longer than now.
        let start = Moment(monotonic: .seconds(5_000), wall: .seconds(999_950))
        var running = Snapshot.Running(attempt: first, slot: nil, runner: "", boot: "b0", startedAt: start)
        running.process = LaunchedProcess(pid: 0, startTicks: 0, at: start)
        var snapshot = Snapshot()
        snapshot.policies = [policy]
        snapshot.nextOperation = 2
        snapshot.nextGraph = 2
        snapshot.operations = [
            Snapshot.Row(id: 1, graph: GraphID(1), policy: 0, state: .executing, attempt: 1, hasStarted: true)
        ]
        snapshot.running = [running]
        var world = World(snapshot)
        let entry = AttemptState.running(LaunchedProcess(pid: 0, startTicks: 0, at: start))
        world.after(report(.runnerConnected(Inventory(runner: "s1", boot: "b1", entries: [first: entry]))))
        world.pass(seconds: 9)
        #expect(world.after(.tick) == [])
        world.pass(seconds: 1)
        #expect(world.after(.tick) == ["cancelling 1 timedOut"])
    }

    @Test func `a position behind a full window has the estimate that decides it`() {
        var world = world(window: 1)
        var policy = Policy()
        policy.executor = "slurm"
        let path = EstimatedPath(milliseconds: 5_000)
        var submission = Submission()
        submission.policies = [policy]
        submission.operations = [Draft(policy: 0), Draft(policy: 0, path: path)]
        world.handle(.submit(submission))
        world.turn()
        let reasons = world.scheduler.why(2, at: world.now)
        #expect(reasons.map(\.detail) == [.executorWindow(name: "slurm", window: 1, position: 1)])
        #expect(reasons.map(\.path) == [path])
    }

    @Test func `a job takes a free category before a process that lacks a slot`() {
        var world = world(workers: 2)
        world.add(categories: ["db"])
        world.turn()
        world.add(categories: ["db"])
        world.add(categories: ["db"]) { $0.executor = "slurm" }
        world.add()
        world.turn()
        #expect(world.executing == [1, 4])
        world.add(priority: 5)
        world.turn()
        world.after(world.exit(1))
        #expect(world.executing.sorted() == [3, 4, 5], "5 takes the slot, and 2 has none")
    }
}

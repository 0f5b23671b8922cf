import OpsCore
import Testing

/// Cases of the rules that a random simulation seldom reaches. Each was found by a planted fault that no other test
/// noticed.
@Suite struct RareCaseTests {
    // MARK: Clocks

    @Test func `the timeout of an operation stops with its reported end`() {
        for code in [nil, 1] as [Int32?] {
            var world = World()
            world.add {
                $0.completion = .notify
                $0.leftovers = .wait
                $0.timeout = .seconds(5)
            }
            world.turn()
            world.after(
                code.map { world.exit(1, $0, gone: false) } ?? .updated(world.attempt(1), OperationUpdate(finished: 0)))
            #expect(world.scheduler.nextDeadline.monotonic == nil)
            world.pass(seconds: 6)
            #expect(world.turn() == [] && world.last.effects == [])
        }
    }

    @Test func `the timeout of a producer stops with its attempt`() {
        var world = World()
        let producer = world.add { $0.timeout = .seconds(5) }
        world.turn()
        let child = world.add(child: producer)
        world.turn()
        world.after(world.exit(producer))
        world.pass(seconds: 6)
        #expect(world.turn() == [], "the child goes on")
        #expect(world.after(world.exit(child)).last == "finished 1 succeeded")
    }

    @Test func `nothing is retried from the instant of its deadline on`() {
        var world = World()
        let deadline = world.now.wall + .seconds(5)
        world.add {
            $0.retry = RetryPolicy(limit: 3)
            $0.deadline = deadline
        }
        world.turn()
        world.pass(seconds: 5)
        #expect(world.after(world.exit(1, 1)).last == "finished 1 failed exit 1")
    }

    @Test func `an operation ages from each of its retries`() {
        var world = World(workers: 1)
        world.after(.setQueue("default", QueueEdit(aging: .set(.seconds(10)))))
        world.add { $0.retry = RetryPolicy(limit: 3, backoff: .seconds(1)) }
        world.turn()
        world.pass(seconds: 100)
        world.after(world.exit(1, 1))
        world.handle(.setWorkers(0))
        world.turn()
        #expect(world.scheduler.effectivePriority(of: 1) == 0)
        world.pass(seconds: 10)
        world.turn()
        #expect(world.scheduler.effectivePriority(of: 1) == 1)
    }

    @Test func `an operation that comes back ages`() {
        var world = World()
        world.after(.setQueue("default", QueueEdit(aging: .set(.seconds(10)))))
        world.add()
        world.turn()
        world.after(world.exit(1, 1))
        world.handle(.setWorkers(0))
        var revival = Revival()
        revival.queues = ["default"]
        revival.operations = [
            Snapshot.Row(id: 1, graph: GraphID(1), state: .finished, attempt: 1, attemptsInRun: 1, hasStarted: true)
        ]
        world.after(.retry([1], revived: revival))
        world.pass(seconds: 10)
        world.turn()
        #expect(world.scheduler.effectivePriority(of: 1) == 1)
    }

    // MARK: Ends

    @Test func `processes that are gone without a report leave their operation to a person`() {
        var world = World()
        world.add { $0.completion = .notify }
        world.turn()
        world.after(world.exit(1, gone: false))
        #expect(world.after(.gone(world.attempt(1))) == ["slot freed 1"])
        #expect(world.after(.finish(1, failed: false, message: nil, by: "ann")).last == "finished 1 succeeded")
    }

    @Test func `processes that are gone without an exit have been interrupted`() {
        var world = World()
        world.add()
        world.turn()
        #expect(world.after(.gone(world.attempt(1))).last == "finished 1 interrupted runner lost")
    }

    @Test func `only starts that are observed are told`() {
        for observers in [Observers.start, .finish, [.start, .finish]] {
            var world = World()
            world.add { $0.observers = observers }
            world.turn()
            #expect(world.last.effects.contains(.observeStart(1)) == observers.contains(.start))
        }
    }

    @Test func `attempts are counted in their run`() {
        var world = World()
        world.add { $0.retry = RetryPolicy(limit: 3, backoff: .seconds(1)) }
        #expect(world.scheduler.attemptInRun(of: 1) == 1)
        world.turn()
        #expect(world.scheduler.attemptInRun(of: 1) == 1)
        world.after(world.exit(1, 1))
        #expect(world.scheduler.attemptInRun(of: 1) == 2)
        #expect(world.scheduler.attemptInRun(of: 7) == 1)
    }

    // MARK: Groups

    @Test func `groups may be nested as deep as the limit says`() {
        for (depth, isTaken) in [(Limits.groupDepth, true), (Limits.groupDepth + 1, false)] {
            var world = World(workers: 0)
            var submission = Submission()
            submission.operations = (0..<Int32(depth + 1)).map {
                Draft(group: $0 > 0 ? $0 - 1 : nil, flags: $0 < Int32(depth) ? .group : [])
            }
            let result = world.handle(.submit(submission))
            let isSuccess = if case .success = result { true } else { false }
            #expect(isSuccess == isTaken, "\(depth): \(result)")
        }
    }

    @Test func `children of a group that holds all of a category share all of it`() {
        var world = World(workers: 8)
        world.after(.setCategory("gpu", capacity: 3))
        var submission = Submission()
        submission.categorySets = [[CategoryUse(name: "gpu", mode: .exclusive)], ["gpu"]]
        submission.operations =
            [Draft(categories: 0, flags: .group)] + (0..<4).map { _ in Draft(group: 0, categories: 1) }
        world.handle(.submit(submission))
        world.turn()
        #expect(world.executing == [1, 2, 3, 4])
        world.after(.setCategory("gpu", capacity: 4))
        #expect(world.executing == [1, 2, 3, 4, 5])
    }

    @Test func `a child of a producer that a restart brought back uses what its producer holds`() {
        var snapshot = Snapshot()
        snapshot.nextOperation = 3
        snapshot.nextGraph = 2
        snapshot.queues = [Snapshot.Queue(name: "default")]
        snapshot.categorySets = [["db"]]
        snapshot.operations = [
            Snapshot.Row(
                id: 1, graph: GraphID(1), categories: 0, state: .executing, attempt: 1, attemptsInRun: 1,
                hasStarted: true)
        ]
        snapshot.endedChildren = [Snapshot.EndedChildren(parent: 1, unsuccessful: 1, firstUnsuccessful: 2)]
        snapshot.running = [
            Snapshot.Running(
                attempt: AttemptID(1, 1), slot: 0, runner: "r1", boot: "b1", startedAt: Moment(monotonic: 0, wall: 0))
        ]
        var world = World(snapshot)
        world.add(categories: ["db"], child: 1)
        world.turn()
        #expect(world.executing == [1, 3])
    }

    // MARK: Queues and staging

    @Test func `a queue that is made again knows no slot time of the one before`() {
        let (ann, bob): (UInt32, UInt32) = (1001, 1002)
        var world = World(workers: 1)
        var edit = QueueEdit()
        edit.isFair = true
        world.after(.setQueue("q", edit))
        world.add(queue: "q", user: ann)
        world.turn()
        world.pass(seconds: 60)
        world.after(world.exit(1))
        world.after(.removeQueue("q"))
        world.after(.setQueue("q", edit))
        world.handle(.setWorkers(0))
        world.add(queue: "q", user: ann)
        world.add(queue: "q", user: bob)
        world.turn()
        world.after(.setWorkers(1))
        #expect(world.executing == [2], "both have used nothing")
    }

    @Test func `launches are staged after an attempt that is shorter than the limit, for as many workers as it says`() {
        for (duration, workers, isStaged) in [
            (Limits.shortRun - .nanoseconds(1), 2, true), (Limits.shortRun, 2, false), (1, 64, true), (1, 65, false),
        ] as [(TimeSpan, Int32, Bool)] {
            var world = World(workers: workers)
            world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1", acceptsStaging: true)))
            for _ in 0..<(workers + 4) { world.add() }
            world.turn()
            world.now += duration
            world.after(world.exit(1))
            #expect((world.scheduler.stagedCount > 0) == isStaged, "\(duration) ns, \(workers) workers")
        }
    }

    @Test func `an attempt that is assumed to have started counts once`() {
        var world = World(workers: 1)
        world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1", acceptsStaging: true)))
        for _ in 1...3 { world.add { $0.retry = RetryPolicy(limit: 1, backoff: 0) } }
        world.turn()
        world.after(world.exit(1))
        let staged = AttemptID(3, 1)
        #expect(world.scheduler.isStaged(staged) && !world.scheduler.isStaged(AttemptID(3, 2)))
        #expect(!world.scheduler.isStaged(AttemptID(2, 2)) && !world.scheduler.isStaged(AttemptID(9, 1)))
        world.after(.setDraining(to: false))
        #expect(world.executing == [2, 3])
        #expect(world.after(.exited(staged, failure(world), treeIsGone: true)).contains("retrying 3"))
        world.after(world.exit(2))
        #expect(world.executing == [3])
        #expect(world.after(world.exit(3, 1)).last == "finished 3 failed exit 1")
    }

    private func failure(_ world: World) -> ProcessExit { ProcessExit(status: .code(1), at: world.now) }

    @Test func `a change of a queue answers for one queue`() {
        var world = World()
        #expect(world.handle(.setQueue("q", QueueEdit(limit: .set(2)))) == .success(.done(1)))
        #expect(world.handle(.removeQueue("q")) == .success(.done(1)))
    }

    @Test func `an operation that waits is not being ended`() {
        var world = World(workers: 0)
        world.add()
        world.turn()
        #expect(!world.scheduler.isCancelling(1) && !world.scheduler.isCancelling(7))
    }

    @Test func `the load of a category counts all of it for an exclusive holder`() {
        for (uses, used) in [
            ([CategoryUse(name: "gpu", mode: .exclusive)], 4), ([CategoryUse(name: "gpu", mode: .shared)], 1),
            ([CategoryUse(name: "gpu", units: 3)], 3),
        ] as [([CategoryUse], Int32)] {
            var world = World()
            world.after(.setCategory("gpu", capacity: 4))
            world.add(categories: uses)
            world.add(categories: [CategoryUse(name: "gpu", units: 4)])
            world.turn()
            let load = world.scheduler.categoryLoads.first
            #expect(load?.used == used && load?.capacity == 4 && load?.waiting == 1)
        }
    }

    // MARK: Reasons

    @Test func `conditions are a reason while they are asked or when nothing else is`() {
        var world = World(workers: 0)
        world.add { $0.conditions = [ConditionPolicy()] }
        world.turn()
        #expect(world.scheduler.why(1, at: world.now).map(\.kind) == [.pool])
        world.after(.setWorkers(1))
        let asked = Reason(kind: .condition, ids: [1], detail: .condition(index: 0, again: nil))
        #expect(world.scheduler.why(1, at: world.now) == [asked])
        world.add()
        world.turn()
        #expect(world.scheduler.why(1, at: world.now).map(\.kind) == [.pool, .condition])
    }
}

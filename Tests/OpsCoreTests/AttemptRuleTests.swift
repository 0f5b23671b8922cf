import Testing

@testable import OpsCore

/// Rules of attempts as tables: which end is retried, what a report tells, which clock an operation has.
@Suite struct AttemptRuleTests {
    // MARK: Retries

    private enum End: CaseIterable {
        case exit1, exit7, signal, timeout, deadline, interrupted, cancel, success, reported7
    }

    /// Returns whether another attempt follows an end.
    private func isRetried(_ end: End, _ change: (inout RetryPolicy) -> Void) -> Bool {
        var world = World()
        let now = world.now
        world.add { policy in
            var retry = RetryPolicy(limit: 1, backoff: 0)
            change(&retry)
            policy.retry = retry
            if end == .timeout { policy.timeout = .seconds(1) }
            if end == .deadline { policy.deadline = now.wall + .seconds(1) }
            if end == .reported7 { policy.completion = .notify }
        }
        world.turn()
        switch end {
        case .exit1: world.handle(world.exit(1, 1))
        case .exit7: world.handle(world.exit(1, 7))
        case .signal:
            world.handle(.exited(world.attempt(1), ProcessExit(status: .signal(9), at: world.now), treeIsGone: true))
        case .timeout, .deadline:
            world.pass(seconds: 1)
            world.turn()
            world.handle(world.exit(1, 1))
        case .interrupted: world.handle(.gone(world.attempt(1)))
        case .cancel:
            world.handle(.cancel([1], by: "ann", reason: nil, force: false))
            world.handle(world.exit(1, 1))
        case .success: world.handle(world.exit(1))
        case .reported7:
            world.handle(.updated(world.attempt(1), OperationUpdate(finished: 7)))
            world.handle(world.exit(1))
        }
        let changes = world.turn()
        #expect(changes.contains("retrying 1") != changes.contains { $0.hasPrefix("finished 1") })
        return changes.contains("retrying 1")
    }

    private func retried(_ change: (inout RetryPolicy) -> Void) -> [End] {
        End.allCases.filter { isRetried($0, change) }
    }

    @Test func `an end is retried as its policy says`() {
        #expect(
            retried {
                $0.onFailed = true
                $0.onTimedOut = true
                $0.onInterrupted = true
            } == [.exit1, .exit7, .signal, .timeout, .interrupted, .reported7])
        #expect(
            retried {
                $0.onFailed = false
                $0.onTimedOut = true
                $0.onInterrupted = false
            } == [.timeout])
        #expect(
            retried {
                $0.onFailed = false
                $0.onTimedOut = false
                $0.onInterrupted = true
            } == [.interrupted])
        #expect(
            retried {
                $0.exitCodes = [7, 8]
                $0.onTimedOut = false
                $0.onInterrupted = false
            } == [.exit7, .reported7])
        #expect(retried { $0.limit = 0 } == [])
    }

    @Test(arguments: 0...3 as ClosedRange<Int32>)
    func `an operation has one attempt more than it has retries`(limit: Int32) {
        var world = World()
        world.add { $0.retry = RetryPolicy(limit: limit, backoff: 0) }
        world.turn()
        for attempt in 1...(limit + 1) {
            #expect(world.attempts[1] == attempt)
            world.after(world.exit(1, 1))
        }
        #expect(world.state(1) == nil)
    }

    @Test func `a retry waits for its delay and is then launched as the next attempt`() {
        var world = World()
        world.add { $0.retry = RetryPolicy(limit: 1, backoff: .seconds(5), jitter: 0) }
        world.turn()
        world.after(world.exit(1, 1))
        #expect(world.scheduler.why(1, at: world.now).map(\.kind) == [.backoff])
        #expect(world.scheduler.nextDeadline.monotonic == world.now.monotonic + .seconds(5))
        #expect(world.scheduler.counts.setApart.scheduled == 1)
        world.pass(seconds: 4)
        #expect(world.turn() == [])
        world.pass(seconds: 1)
        #expect(world.turn() == ["started 1#2 slot 0"])
        #expect(world.scheduler.counts.setApart.scheduled == 0)
    }

    @Test func `what a retry brings back begins its next run afresh`() {
        var world = World()
        world.add()
        world.turn()
        world.after(world.exit(1, 1))
        var revival = Revival()
        revival.queues = ["default"]
        revival.operations = [
            Snapshot.Row(
                id: 1, graph: GraphID(1), state: .finished, frozenBy: .operation, attempt: 3, run: 2, attemptsInRun: 3,
                hasStarted: true, notBefore: world.now.wall + .seconds(60))
        ]
        #expect(
            world.after(.retry([1], revived: revival)) == ["reopened 1 run 3 ready", "started 1#4 slot 0"])
        #expect(world.scheduler.attemptInRun(of: 1) == 1)
        world.add(after: [1], when: .started)
        world.turn()
        #expect(world.executing == [1, 2])
        #expect(world.scheduler.why(1, at: world.now).map(\.kind) == [.dependency], "nothing froze it")
    }

    @Test func `nobody has started before the next run has`() {
        var world = World(workers: 0)
        world.add()
        world.after(.cancel([1], by: "ann", reason: nil, force: false))
        var revival = Revival()
        revival.queues = ["default"]
        revival.operations = [
            Snapshot.Row(id: 1, graph: GraphID(1), state: .finished, attempt: 1, attemptsInRun: 1, hasStarted: true)
        ]
        world.after(.retry([1], revived: revival))
        world.add(after: [1], when: .started)
        world.turn()
        #expect(world.state(2) == .pending)
    }

    // MARK: Reports

    @Test func `an update is told where it says something about progress`() {
        var world = World()
        world.add()
        world.turn()
        let updates: [(OperationUpdate, [String?])] = [
            (OperationUpdate(status: "half"), ["half"]), (OperationUpdate(progressDone: 1), [nil]),
            (OperationUpdate(progressTotal: 2), [nil]), (OperationUpdate(result: "x"), []),
            (OperationUpdate(finished: 0), []), (OperationUpdate(hasOutputs: true), []),
        ]
        for (update, details) in updates {
            #expect(world.after(.updated(world.attempt(1), update)) == ["updated 1"])
            #expect(world.last.reports.map(\.detail) == details)
            #expect(world.last.reports.allSatisfy { $0.kind == .progress })
        }
        #expect(world.state(1) == .executing, "a report of its end counts for a notify operation alone")
    }

    @Test func `a fact that is told twice is stored once`() {
        var world = World()
        world.add { $0.leftovers = .wait }
        world.turn()
        #expect(world.after(world.launch(1)) == ["launched 1#1"])
        #expect(world.after(world.launch(1)) == [])
        #expect(world.after(world.exit(1, 3, gone: false)) == ["exited 1#1"])
        #expect(world.after(world.exit(1, 0, gone: false)) == [])
        #expect(world.after(world.exit(1, 0)) == ["ended 1#1 failed", "finished 1 failed exit 3"])
    }

    @Test func `a report about an attempt that is over is acknowledged once nothing of it is left`() {
        var world = World()
        world.add()
        world.add(flags: .group)
        world.turn()
        let acknowledged = Effect.acknowledge(AttemptID(1, 1))
        world.after(world.exit(1))
        #expect(world.last.effects == [acknowledged])
        world.after(world.exit(1, 0, gone: false))
        #expect(world.last.effects == [])
        for event in [
            world.exit(1), .gone(AttemptID(1, 1)), .launchFailed(AttemptID(1, 1), step: "exec", errno: 2),
        ] {
            #expect(world.after(event) == [])
            #expect(world.last.effects == [acknowledged])
        }
        #expect(world.after(.updated(AttemptID(1, 1), OperationUpdate(status: "x"))) == [])
        #expect(world.after(.launched(AttemptID(1, 1), LaunchedProcess(pid: 1, startTicks: 1, at: world.now))) == [])
    }

    @Test func `a group has no attempt that could be reported`() {
        var world = World()
        var submission = Submission()
        submission.operations = [Draft(flags: .group), Draft(group: 0)]
        world.handle(.submit(submission))
        world.turn()
        #expect(world.executing == [1, 2])
        for number in [0, 1] as [Int32] {
            #expect(!world.scheduler.isExecuting(AttemptID(1, number)))
            #expect(world.after(.gone(AttemptID(1, number))) == [])
        }
        #expect(world.scheduler.isExecuting(AttemptID(2, 1)) && !world.scheduler.isExecuting(AttemptID(2, 2)))
    }

    @Test func `every product is told to its producer, and to the observer of products`() {
        for isObserved in [false, true] {
            var world = World(workers: 1)
            world.add { $0.observers = isObserved ? [.produce] : [.start, .finish] }
            world.turn()
            var submission = Submission()
            submission.operations = [Draft(), Draft()]
            submission.producer = 1
            world.after(.submit(submission))
            let products = world.last.reports.filter { $0.kind == .produced }
            #expect(products.map(\.operation) == [1, 1] && products.map(\.product) == [2, 3])
            let effects: [Effect] = [.observeProduce(1, product: 2), .observeProduce(1, product: 3)]
            #expect(world.last.effects == (isObserved ? effects : []))
        }
    }

    @Test func `ends are observed as an operation or the configuration says`() {
        for (own, all, isGroup, owed) in [
            ([], [], false, false), ([.failed], [], false, true), ([.finish], [], false, true),
            ([.start, .produce], [], false, false), ([], [.failed], false, true), ([], [.finish], true, false),
            ([.finish], [], true, true), ([.start], [.start], false, false),
        ] as [(Observers, Observers, Bool, Bool)] {
            var world = World()
            world.handle(.setObserversOfAll(all))
            world.add(flags: isGroup ? .group : []) { $0.observers = own }
            world.turn()
            // A group without children has ended in this turn.
            if !isGroup { world.after(world.exit(1, 1)) }
            #expect(world.last.effects.contains(.observeFinish(1, run: 1)) == owed)
            #expect(world.last.changes.map(brief).contains("observer owed 1") == owed)
        }
    }

    // MARK: Clocks

    @Test func `an operation that may not start yet waits for its instant`() {
        for (seconds, isReady) in [(-1, true), (0, true), (1, false)] as [(Int64, Bool)] {
            var world = World()
            let instant = world.now.wall + .seconds(seconds)
            world.add { $0.notBefore = instant }
            world.turn()
            #expect((world.executing == [1]) == isReady)
            #expect(world.scheduler.nextDeadline.wall == (isReady ? nil : instant))
            guard !isReady else { continue }
            #expect(world.scheduler.why(1, at: world.now).map(\.detail) == [.instant(instant)])
            world.now.wall += .seconds(1)
            world.turn()
            #expect(world.executing == [1])
        }
    }

    @Test func `a timeout is only ever extended, counting from now`() {
        var world = World()
        world.add { $0.timeout = .seconds(60) }
        world.turn()
        let start = world.now.monotonic
        world.pass(seconds: 10)
        for (longer, total) in [(49, nil), (50, nil), (51, 61), (20, nil), (90, 100)] as [(Int64, Int64?)] {
            let changes = world.after(
                .updated(world.attempt(1), OperationUpdate(extendTimeout: .seconds(longer))))
            #expect(changes == ["updated 1"] + (total.map { ["timeout 1 \($0)s"] } ?? []))
        }
        #expect(world.scheduler.nextDeadline.monotonic == start + .seconds(100))
        world.pass(seconds: 89)
        #expect(world.turn() == [])
        world.pass(seconds: 1)
        #expect(world.turn() == ["cancelling 1 timedOut"])
    }

    @Test func `an extension that is reported during a freeze counts from its end`() {
        var world = World()
        world.add { $0.timeout = .seconds(60) }
        world.turn()
        world.pass(seconds: 10)
        let attempt = world.attempt(1)
        world.after(.suspend(.operations([1]), freeze: true))
        #expect(world.after(.updated(attempt, OperationUpdate(extendTimeout: .seconds(50)))) == ["updated 1"])
        #expect(
            world.after(.updated(attempt, OperationUpdate(extendTimeout: .seconds(90)))) == [
                "updated 1", "timeout 1 90s",
            ])
        world.pass(seconds: 1000)
        world.after(.resume(.operations([1])))
        #expect(world.scheduler.nextDeadline.monotonic == world.now.monotonic + .seconds(90))
    }

    @Test func `an operation that ages has few timers, however often it or its queue is edited`() {
        var world = World(workers: 0)
        let aging = Event.setQueue("default", QueueEdit(aging: .set(.seconds(60))))
        world.handle(aging)
        let (ready, pending) = (OperationID(world.add()), OperationID(world.add()))
        world.handle(.addDependency(pending, on: ready, when: .succeeded, finished: nil))
        for number in 1...1000 {
            world.handle(.edit([ready, pending], Edit(priority: Int8(number % 5))))
            world.handle(aging)
        }
        world.turn()
        #expect(world.scheduler.timers.wallEntries.count < 500)
        world.pass(seconds: 61)
        world.turn()
        #expect(world.scheduler.effectivePriority(of: ready) == 1)
    }

    @Test func `a deadline ends a group that executes, and its children with it`() {
        var world = World(workers: 1)
        let deadline = world.now.wall + .seconds(1)
        var policy = Policy()
        policy.deadline = deadline
        var submission = Submission()
        submission.policies = [policy]
        submission.operations = [Draft(policy: 0, flags: .group), Draft(group: 0), Draft(group: 0)]
        world.handle(.submit(submission))
        world.turn()
        #expect(world.scheduler.nextDeadline.wall == deadline)
        world.pass(seconds: 1)
        #expect(
            world.turn() == [
                "cancelling 1 timedOut", "cancelling 2 cancelled", "finished 3 cancelled group 1 timed out",
            ])
        #expect(
            world.after(world.exit(2, 143)) == [
                "exited 2#1", "ended 2#1 cancelled", "finished 2 cancelled group 1 timed out",
                "finished 1 timedOut deadline",
            ])
    }

    @Test func `a deadline ends a producer whose processes end while its child goes on`() {
        var world = World()
        let deadline = world.now.wall + .seconds(5)
        world.add { $0.deadline = deadline }
        world.turn()
        let child = world.add(child: 1)
        world.turn()
        world.after(world.exit(1, gone: false))
        world.pass(seconds: 5)
        #expect(world.turn() == ["cancelling 1 timedOut", "cancelling 2 cancelled"])
        #expect(world.after(.gone(world.attempt(1))) == ["ended 1#1 timedOut"])
        #expect(
            world.after(world.exit(child)).suffix(2) == [
                "finished 2 cancelled group 1 timed out", "finished 1 timedOut deadline",
            ])
    }

    @Test func `a level that is suspended keeps nothing from its deadline`() {
        var world = World()
        let deadline = world.now.wall + .seconds(1)
        world.handle(.suspend(.daemon, freeze: false))
        world.add { $0.deadline = deadline }
        world.add(after: [1])
        world.turn()
        world.pass(seconds: 1)
        #expect(world.turn() == ["finished 1 timedOut deadline", "finished 2 skipped root 1 timedOut"])
    }

    // MARK: Readings

    @Test func `only an attempt that has processes is where signals go`() {
        var world = World(workers: 1)
        world.add { $0.completion = .notify }
        world.add()
        world.add(flags: .group)
        var group = Submission()
        group.operations = [Draft(flags: .group), Draft(group: 0)]
        world.handle(.submit(group))
        world.turn()
        let first = world.scheduler.process(of: 1)
        #expect(first?.attempt == AttemptID(1, 1) && first?.executor == nil)
        for id in [2, 3, 4, 9] as [OperationID] { #expect(world.scheduler.process(of: id) == nil) }
        world.after(world.exit(1))
        #expect(world.state(1) == .executing && world.scheduler.process(of: 1) == nil, "its processes are gone")
    }

    @Test func `the state of an operation is told by its id`() {
        var world = World(workers: 1)
        world.after(.setQueue("q", QueueEdit(limit: .set(2), order: .longestPath)))
        world.add(queue: "q") { $0.timeout = .seconds(1) }
        world.add(after: [1], flags: .group)
        world.add(priority: 3)
        world.turn()
        let core = world.scheduler
        #expect([1, 2, 3].map { core.state(of: $0) } == [.ready, .pending, .executing] && core.state(of: 9) == nil)
        #expect([1, 2, 9].map { core.contains($0) } == [true, true, false])
        #expect(core.queue(of: 1) == "q" && core.queue(of: 2) == "default" && core.queue(of: 9) == nil)
        #expect([1, 2, 9].map { core.isGroup($0) } == [false, true, false])
        #expect(core.policy(of: 1 as OperationID)?.timeout == .seconds(1))
        #expect(core.policy(of: 2 as OperationID) == Policy() && core.policy(of: 9 as OperationID) == nil)
        #expect([1, 3, 9].map { core.effectivePriority(of: $0) } == [0, 3, nil])
        #expect(core.queueNames == ["default", "main", "q"] && core.hasQueue("q") && !core.hasQueue("r"))
        #expect(core.order(ofQueue: "q") == .longestPath && core.order(ofQueue: "r") == nil)
        let standings = core.queueStandings
        #expect(standings.map(\.name) == ["default", "main", "q"] && standings.map(\.limit) == [nil, 1, 2])
        #expect(standings.map(\.pending) == [1, 0, 0] && standings.map(\.ready) == [0, 0, 1])
        #expect(standings.map(\.executing) == [1, 0, 0] && !standings.contains { $0.isSuspended || $0.isFair })
        #expect(core.executing == [Scheduler.Executing(id: 3, attempt: 1, slot: 0)])
        #expect(core.nextOperationID == 4 && core.nextGraphID == GraphID(4))
        #expect(core.lastSequence == 6, "submitted three, ready two, started one")
    }
}

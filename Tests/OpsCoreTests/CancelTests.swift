import OpsCore
import OpsTesting
import Testing

@Suite struct CancelTests {
    func cancel(_ ids: OperationID..., force: Bool = false) -> Event {
        .cancel(ids, by: "root", reason: nil, force: force)
    }

    @Test func `a cancelled waiting operation finishes at once and its dependents are skipped`() {
        var world = World(workers: 0)
        world.add()
        world.add(after: [1])
        world.turn()
        #expect(world.after(cancel(1)) == ["finished 1 cancelled by root", "finished 2 skipped root 1 cancelled"])
    }

    @Test func `cancelling a chain cancels its dependents rather than skipping them`() {
        var world = World(workers: 0)
        world.add()
        world.add(after: [1])
        world.add(after: [2])
        world.turn()
        #expect(
            world.after(cancel(1, 2, 3)) == [
                "finished 1 cancelled by root", "finished 2 cancelled by root", "finished 3 cancelled by root",
            ])
    }

    @Test func `cancel counts the selected operations and those in the selected groups`() {
        var world = World()
        var submission = Submission()
        submission.operations = [Draft(flags: [.group, .held]), Draft(group: 0), Draft()]
        world.handle(.submit(submission))
        #expect(world.handle(cancel(1, 2, 3)) == .success(.done(3)))
    }

    @Test func `a cancelled executing operation keeps its category until its tree is gone`() {
        var world = World()
        world.add(categories: ["db"])
        world.add(categories: ["db"])
        world.turn()
        #expect(world.after(cancel(1)) == ["cancelling 1 cancelled"])
        #expect(world.last.effects == [.terminate(AttemptID(1, 1), grace: .seconds(10))])
        #expect(world.after(cancel(1)) == [])
        #expect(world.after(world.exit(1, gone: false)) == ["exited 1#1"])
        #expect(world.executing == [1])
        #expect(
            world.after(.gone(world.attempt(1))) == [
                "ended 1#1 cancelled", "finished 1 cancelled by root", "started 2#1 slot 0",
            ])
    }

    @Test func `a cancel after the reported end is stored`() {
        var world = World()
        world.add {
            $0.completion = .notify
            $0.leftovers = .wait
        }
        world.turn()
        world.after(.updated(world.attempt(1), OperationUpdate(finished: 0)))
        #expect(world.after(cancel(1)) == ["cancelling 1 succeeded"])
        #expect(world.last.effects == [.terminate(AttemptID(1, 1), grace: .seconds(10))])
    }

    /// Ways in which an attempt is resolved before its processes are gone.
    enum Resolver: CaseIterable { case exit, timeout, report }

    @Test(arguments: Resolver.allCases)
    func `a cancel ends an operation whose resolved attempt would be retried`(_ resolver: Resolver) {
        var world = World()
        world.add {
            $0.retry = RetryPolicy(limit: 3, backoff: 0)
            if resolver == .timeout { $0.timeout = .seconds(1) }
            guard resolver == .report else { return }
            $0.completion = .notify
            $0.leftovers = .wait
        }
        world.turn()
        switch resolver {
        case .exit: world.after(world.exit(1, 1, gone: false))
        case .timeout:
            world.pass(seconds: 1)
            world.turn()
        case .report: world.after(.updated(world.attempt(1), OperationUpdate(finished: 1)))
        }
        #expect(world.handle(cancel(1)) == .success(.done(1)))
        #expect(world.turn() == ["cancelling 1 cancelled"])
        #expect(world.last.effects == [.terminate(AttemptID(1, 1), grace: .seconds(10))])
        #expect(world.handle(cancel(1)) == .success(.done(0)))
        #expect(
            world.after(world.exit(1, 1)).suffix(2) == ["ended 1#1 cancelled", "finished 1 cancelled by root"])
    }

    @Test func `the end of a group ends a child whose resolved attempt would be retried`() {
        var world = World()
        var policy = Policy()
        policy.retry = RetryPolicy(limit: 3, backoff: 0)
        var submission = Submission()
        submission.policies = [policy]
        submission.operations = [Draft(flags: [.group]), Draft(group: 0, policy: 0)]
        world.handle(.submit(submission))
        world.turn()
        world.after(world.exit(2, 1, gone: false))
        world.after(cancel(1))
        #expect(world.after(world.exit(2, 1)).contains("finished 2 cancelled group 1 cancelled"))
    }

    @Test func `a deadline ends an operation whose resolved attempt would be retried`() {
        var world = World()
        let deadline = world.now.wall + .seconds(5)
        world.add {
            $0.retry = RetryPolicy(limit: 3, backoff: 0)
            $0.deadline = deadline
        }
        world.turn()
        world.after(world.exit(1, 1, gone: false))
        world.pass(seconds: 5)
        world.turn()
        #expect(world.after(world.exit(1, 1)).contains { $0.hasPrefix("finished 1 timedOut") })
    }

    @Test func `a cancel of a resolved attempt without a retry changes nothing`() {
        var world = World()
        world.add()
        world.turn()
        world.after(world.exit(1, 1, gone: false))
        #expect(world.handle(cancel(1)) == .success(.done(0)))
        #expect(world.after(.gone(world.attempt(1))) == ["ended 1#1 failed", "finished 1 failed exit 1"])
    }

    @Test func `a cancel that forbids a retry outlives a restart`() throws {
        var stage = try Stage<Scheduler>()
        var policy = Policy()
        policy.retry = RetryPolicy(limit: 3, backoff: 0)
        var submission = Submission()
        submission.policies = [policy]
        submission.operations = [Draft(policy: 0)]
        try stage.submit(submission)
        let attempt = AttemptID(1, 1)
        try stage.perform(.exited(attempt, ProcessExit(status: .code(1), at: stage.now), treeIsGone: false))
        try stage.perform(cancel(1))
        try stage.restart()
        #expect(stage.effects.last == .terminate(attempt, grace: .seconds(10)))
        try stage.perform(.gone(attempt))
        #expect(stage.store[1].outcome == .cancelled)
    }

    @Test func `a forced cancel finishes without waiting for the processes`() {
        var world = World()
        world.add()
        world.turn()
        #expect(
            world.after(cancel(1, force: true)) == ["ended 1#1 cancelled", "finished 1 cancelled abandoned by root"])
        #expect(world.after(.gone(AttemptID(1, 1))) == [])
        #expect(world.last.effects == [.acknowledge(AttemptID(1, 1))])
    }

    @Test func `a forced cancel kills at once, and keeps its reason`() {
        var world = World()
        world.add()
        world.turn()
        let changes = world.after(.cancel([1], by: "root", reason: "lost node", force: true))
        #expect(changes.last == "finished 1 cancelled abandoned by root: lost node")
        #expect(world.last.effects.contains(.terminate(AttemptID(1, 1), grace: .zero)))
    }

    @Test func `cancel refuses a finished operation and an unknown one`() {
        var world = World()
        world.add()
        world.turn()
        world.after(world.exit(1))
        #expect(world.handle(cancel(1)) == .failure(.alreadyFinished(1)))
        #expect(world.handle(cancel(1, 1)) == .success(.done(0)))
        #expect(world.handle(cancel(9)) == .failure(.unknownOperation(9)))
    }

    @Test func `cancel refuses an operation that ends in the same turn`() {
        var world = World()
        world.add()
        world.turn()
        world.handle(world.exit(1))
        #expect(world.scheduler.handle(cancel(1), at: world.now) == .failure(.alreadyFinished(1)))
        #expect(world.turn() == ["exited 1#1", "ended 1#1 succeeded", "finished 1 succeeded"])
    }

    @Test func `an operation in a suspended queue can be cancelled`() {
        var world = World()
        world.after(.suspend(.queue("default"), freeze: false))
        world.add()
        world.turn()
        #expect(world.after(cancel(1)) == ["finished 1 cancelled by root"])
    }
}

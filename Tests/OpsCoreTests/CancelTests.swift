import OpsCore
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

    @Test func `a forced cancel finishes without waiting for the processes`() {
        var world = World()
        world.add()
        world.turn()
        #expect(
            world.after(cancel(1, force: true)) == ["ended 1#1 cancelled", "finished 1 cancelled abandoned by root"])
        #expect(world.after(.gone(AttemptID(1, 1))) == [])
        #expect(world.last.effects == [.acknowledge(AttemptID(1, 1))])
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

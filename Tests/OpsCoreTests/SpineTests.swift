import OpsCore
import Testing

/// The life of one operation, and of those that depend on it.
@Suite struct SpineTests {
    @Test func `an operation is submitted, launched, finished and forgotten`() {
        var world = World()
        let id = world.add()
        #expect(world.turn() == ["submitted g1 1+1 ready", "started 1#1 slot 0"])
        #expect(world.last.effects == [.launch(AttemptID(1, 1), slot: 0)])
        #expect(world.last.reports.map(\.kind) == [.submitted, .ready, .started])
        #expect(world.last.reports.map(\.sequence) == [1, 2, 3])
        #expect(world.after(world.exit(id)) == ["exited 1#1", "ended 1#1 succeeded", "finished 1 succeeded"])
        #expect(world.last.effects == [.acknowledge(AttemptID(1, 1))])
        #expect(world.state(id) == nil)
        #expect(world.turn() == [])
    }

    @Test func `a dependent starts in the turn of the exit`() {
        var world = World()
        world.add()
        world.add(after: [1])
        world.turn()
        #expect(
            world.after(world.exit(1)) == [
                "exited 1#1", "ended 1#1 succeeded", "finished 1 succeeded", "ready 2", "started 2#1 slot 0",
            ])
    }

    @Test func `a failure skips indirect dependents and is named as their root`() {
        var world = World()
        world.add()
        world.add(after: [1])
        world.add(after: [2])
        world.add(after: [3], when: .finished)
        world.turn()
        #expect(
            world.after(world.exit(1, 2)) == [
                "exited 1#1", "ended 1#1 failed", "finished 1 failed exit 2", "finished 2 skipped root 1 failed",
                "finished 3 skipped root 1 failed", "ready 4", "started 4#1 slot 0",
            ])
    }

    @Test func `an operation skipped for a start that never came names its root`() {
        var world = World()
        world.add()
        world.add(after: [1])
        world.add(after: [2], when: .started)
        world.add(flags: .held)
        world.add(after: [4], when: .started)
        world.turn()
        #expect(
            world.after(world.exit(1, 1)).suffix(2) == [
                "finished 2 skipped root 1 failed", "finished 3 skipped root 1 failed",
            ])
        #expect(
            world.after(.cancel([4], by: "root", reason: nil, force: false)) == [
                "finished 4 cancelled by root", "finished 5 skipped never started 4",
            ])
    }

    @Test func `operations start by priority within the size of the pool`() {
        var world = World(workers: 1)
        world.add()
        world.add(priority: -1)
        world.add()
        world.add(priority: 5)
        #expect(world.drain() == [4, 1, 3, 2])
    }

    @Test func `the main queue runs one operation at a time`() {
        var world = World()
        for _ in 0..<3 { world.add(queue: "main") }
        world.turn()
        #expect(world.executing == [1])
        #expect(
            world.scheduler.why(2, at: world.now) == [
                Reason(kind: .queue, ids: [1], detail: .queue(name: "main", limit: 1, position: 1))
            ])
        world.after(world.exit(1))
        #expect(world.executing == [2])
    }

    @Test func `raising the limit of a queue starts waiting operations at once`() {
        var world = World(workers: 8)
        world.after(.setQueue("q", QueueEdit(limit: .set(0))))
        for _ in 0..<5 { world.add(queue: "q") }
        world.turn()
        #expect(world.executing == [])
        world.after(.setQueue("q", QueueEdit(limit: .set(3))))
        #expect(world.executing == [1, 2, 3])
        world.after(.setQueue("q", QueueEdit(limit: .clear)))
        #expect(world.executing == [1, 2, 3, 4, 5])
    }

    @Test func `an automatic retry starts after its backoff`() {
        var world = World()
        let id = world.add { $0.retry = RetryPolicy(limit: 1, jitter: 0) }
        world.turn()
        #expect(world.after(world.exit(id, 1)) == ["exited 1#1", "ended 1#1 failed", "retrying 1"])
        #expect(world.scheduler.why(1, at: world.now).map(\.kind) == [.backoff])
        #expect(world.scheduler.nextDeadline.monotonic == world.now.monotonic + .seconds(1))
        world.pass(seconds: 1)
        #expect(world.turn() == ["started 1#2 slot 0"])
        #expect(world.after(world.exit(id, 1)) == ["exited 1#2", "ended 1#2 failed", "finished 1 failed exit 1"])
        #expect(world.scheduler.nextDeadline == Deadlines())
    }

    @Test func `a timeout ends the processes before the operation`() {
        var world = World()
        world.add { $0.timeout = .seconds(5) }
        world.turn()
        world.pass(seconds: 5)
        #expect(world.turn() == ["cancelling 1 timedOut"])
        #expect(world.last.effects == [.terminate(AttemptID(1, 1), grace: .seconds(10))])
        #expect(
            world.after(world.exit(1)) == ["exited 1#1", "ended 1#1 timedOut", "finished 1 timedOut longer than 5s"])
    }

    @Test func `the timeout of each further attempt is multiplied`() {
        var scale = RetryScale()
        scale[.timeout] = 2000
        var world = World()
        world.add {
            $0.timeout = .seconds(5)
            $0.retry = RetryPolicy(limit: 1, backoff: 0, scale: scale)
        }
        world.turn()
        world.pass(seconds: 5)
        #expect(world.turn() == ["cancelling 1 timedOut"])
        world.after(world.exit(1))
        #expect(world.scheduler.attemptInRun(of: 1) == 2)
        world.pass(seconds: 9)
        #expect(world.turn() == [])
        world.pass(seconds: 1)
        #expect(world.turn() == ["cancelling 1 timedOut"])
        #expect(world.after(world.exit(1)).last == "finished 1 timedOut longer than 10s")
    }

    @Test func `a notify operation goes on after the exit of its process`() {
        var world = World()
        world.add { $0.completion = .notify }
        world.turn()
        #expect(world.after(world.exit(1)) == ["exited 1#1", "slot freed 1"])
        #expect(world.scheduler.why(1, at: world.now).map(\.detail) == [.finishMessage])
        #expect(
            world.after(.finish(1, failed: false, message: nil, by: "root")) == [
                "ended 1#1 succeeded", "finished 1 succeeded",
            ])
    }

    @Test func `an operation without processes frees its slot and counts for its queue`() {
        var world = World(workers: 1)
        world.handle(.setQueue("narrow", QueueEdit(limit: .set(1), target: .any)))
        for queue in ["narrow", "narrow", "default"] {
            var submission = Submission()
            submission.queues = [queue]
            var policy = Policy()
            policy.completion = .notify
            submission.policies = [policy]
            submission.categorySets = [["db"]]
            let isOther = queue == "default"
            submission.operations = [Draft(queue: 0, categories: isOther ? nil : 0, policy: isOther ? nil : 0)]
            world.handle(.submit(submission))
        }
        world.turn()
        #expect(world.executing == [1])
        #expect(world.after(world.exit(1)) == ["exited 1#1", "slot freed 1", "started 3#1 slot 0"])
        #expect(world.scheduler.why(2, at: world.now).map(\.kind).contains(.queue))
        #expect(
            world.after(.finish(1, failed: false, message: nil, by: "root")) == [
                "ended 1#1 succeeded", "finished 1 succeeded",
            ])
        #expect(world.after(world.exit(3)).last == "started 2#1 slot 0")
    }

    @Test func `an end while opsd was away has the time at which it happened`() throws {
        var world = World()
        world.add()
        world.turn()
        let exit = world.exit(1)
        let then = world.now.wall
        world.pass(seconds: 60)
        world.after(exit)
        let ends = world.last.changes.compactMap { if case .finished(_, _, _, let at) = $0 { at } else { nil } }
        #expect(ends == [then])
    }

    @Test func `finish is refused for an operation that ends by its exit`() {
        var world = World()
        world.add()
        world.turn()
        let word = Event.finish(1, failed: false, message: nil, by: "root")
        #expect(world.scheduler.handle(word, at: world.now) == .failure(.endsByItsExit(1)))
        #expect(world.turn() == [])
    }

    @Test func `a note is reported and changes nothing else`() {
        var world = World()
        #expect(world.handle(.note(7, graph: GraphID(3), text: "one")) == .success(.done(1)))
        world.turn()
        #expect(world.after(.note(7, graph: GraphID(3), text: "ask Ann")) == ["noted 7 ask Ann"])
        #expect(world.last.reports.map(\.detail) == ["note"])
        #expect(world.last.reports.first?.graph == GraphID(3))
        #expect(world.last.effects.isEmpty)
        #expect(world.after(.note(7, graph: GraphID(3), text: nil)) == ["noted 7 nothing"])
    }

    @Test func `facts about old attempts change nothing`() {
        var world = World()
        world.add()
        world.turn()
        world.after(world.exit(1))
        #expect(world.after(world.exit(1)) == [])
        #expect(world.last.effects == [.acknowledge(AttemptID(1, 1))])
        #expect(world.after(.gone(AttemptID(77, 1))) == [])
    }
}

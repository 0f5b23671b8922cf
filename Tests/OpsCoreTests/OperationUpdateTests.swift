import OpsCore
import Testing

/// Operations that end by a message of their own, or by a user, while some of their processes are alive.
@Suite struct OperationUpdateTests {
    static let first = AttemptID(1, 1)
    static let kill = Effect.terminate(first, grace: .seconds(10))

    /// Returns a world with an operation whose main process has exited with 0 and left other processes.
    func daemonized(_ leftovers: Leftovers) -> World {
        var world = World()
        world.add {
            $0.completion = .notify
            $0.leftovers = leftovers
        }
        world.turn()
        #expect(world.after(world.exit(1, gone: false)) == ["exited 1#1"])
        #expect(world.last.effects == [], "what may yet say the word is let be")
        return world
    }

    static let word = Event.updated(first, OperationUpdate(finished: 0))

    @Test func `a reported result ends leftover processes`() {
        var world = daemonized(.kill)
        #expect(world.after(Self.word).contains("cancelling 1 succeeded"))
        #expect(world.last.effects == [Self.kill])
        #expect(world.after(.gone(Self.first)) == ["ended 1#1 succeeded", "finished 1 succeeded"])
    }

    @Test func `a reported status is a success if it is 0 or one of the success codes`() {
        for (status, end) in [(0, "succeeded"), (3, "succeeded"), (4, "failed reported 4")] as [(Int32, String)] {
            var world = World()
            world.add {
                $0.completion = .notify
                $0.successCodes = [3]
            }
            world.turn()
            world.after(.updated(Self.first, OperationUpdate(finished: status)))
            #expect(world.after(world.exit(1)).last == "finished 1 \(end)")
        }
    }

    @Test func `a child is retried although its parent has reported its result`() {
        var world = daemonized(.kill)
        world.add(child: 1) { $0.retry = RetryPolicy(limit: 1, backoff: .zero) }
        world.turn()
        world.after(Self.word)
        #expect(world.scheduler.isCancelling(1))
        world.after(.gone(Self.first))
        #expect(!world.scheduler.isCancelling(1), "it waits for its child alone")
        #expect(world.after(world.exit(2, 1)).contains("retrying 2"))
    }

    @Test func `a child is retried while processes of its parent, which has reported its result, are ending`() {
        var world = daemonized(.kill)
        world.add(child: 1) { $0.retry = RetryPolicy(limit: 1, backoff: .zero) }
        world.turn()
        world.after(Self.word)
        #expect(world.scheduler.isCancelling(1))
        #expect(world.after(world.exit(2, 1)).suffix(2) == ["retrying 2", "started 2#2 slot 1"])
        world.after(.gone(Self.first))
        #expect(world.after(world.exit(2)).suffix(2) == ["finished 2 succeeded", "finished 1 succeeded"])
    }

    @Test func `an operation with leftovers wait finishes when its leftover processes have ended`() {
        var world = daemonized(.wait)
        world.after(Self.word)
        #expect(world.last.effects == [])
        #expect(world.scheduler.isCancelling(1) == false)
        #expect(world.after(.gone(Self.first)) == ["ended 1#1 succeeded", "finished 1 succeeded"])
    }

    @Test func `cancel ends leftover processes that a reported result waits for`() {
        var world = daemonized(.wait)
        world.after(Self.word)
        world.after(.cancel([1], by: "ann", reason: nil, force: false))
        #expect(world.last.effects == [Self.kill])
        #expect(
            world.after(.gone(Self.first)) == ["ended 1#1 succeeded", "finished 1 succeeded"], "the first end counts")
    }

    @Test func `an operation with leftovers leave finishes without ending its processes`() {
        var world = daemonized(.leave)
        let changes = world.after(Self.word)
        #expect(changes.suffix(2) == ["ended 1#1 succeeded", "finished 1 succeeded"])
        #expect(world.last.effects == [.acknowledge(Self.first)])
    }

    @Test func `leftover processes may stay once the main process has exited`() {
        var world = World()
        world.add {
            $0.completion = .notify
            $0.leftovers = .leave
        }
        world.turn()
        world.after(Self.word)
        #expect(world.last.effects == [], "its main process has not exited yet")
        #expect(
            world.after(world.exit(1, gone: false)) == ["exited 1#1", "ended 1#1 succeeded", "finished 1 succeeded"])
    }

    @Test func `a failed exit ends all processes of the attempt`() {
        var world = World()
        world.add { $0.completion = .notify }
        world.turn()
        #expect(world.after(world.exit(1, 3, gone: false)) == ["exited 1#1"])
        #expect(world.last.effects == [Self.kill])
        // The command may have been lost with a connection.
        world.after(world.exit(1, 3, gone: false))
        #expect(world.last.effects == [Self.kill])
    }

    @Test func `a report that only lost processes could send fails with the runner`() {
        var world = daemonized(.kill)
        world.after(.runnerLost)
        world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1")))
        #expect(world.last.effects == [.reap(Self.first)])
        #expect(world.scheduler.why(1, at: world.now).map(\.detail) == [.runner])
        #expect(
            world.after(.gone(Self.first)).suffix(2) == ["ended 1#1 interrupted", "finished 1 interrupted runner lost"])
    }

    /// The result was sent to an opsd that died before it stored it, or while there was no opsd.
    @Test func `a reported result counts before the exit status`() {
        var world = daemonized(.kill)
        let exit = ProcessExit(status: .code(0), at: world.now)
        world.after(.runnerLost)
        let words = OperationUpdate(result: "kept", finished: 0)
        let changes = world.after(
            .runnerConnected(
                Inventory(
                    runner: "r1", boot: "b1", entries: [Self.first: .gone(exit)], updates: [Self.first: words])))
        #expect(changes == ["updated 1", "cancelling 1 succeeded", "ended 1#1 succeeded", "finished 1 succeeded"])
        #expect(world.last.effects.last == .acknowledge(Self.first))
    }

    /// The operation ends by its message, and an attempt starts again, while the inventory is compared.
    @Test func `an operation that reported its result gets no commands`() {
        var world = World()
        world.add {
            $0.completion = .notify
            $0.leftovers = .leave
            $0.retry = RetryPolicy(limit: 1, backoff: .seconds(1))
        }
        world.turn()
        world.after(.runnerLost)
        let exit = ProcessExit(status: .code(0), at: world.now)
        let changes = world.after(
            .runnerConnected(
                Inventory(
                    runner: "r1", boot: "b1", entries: [Self.first: .exited(exit)],
                    updates: [Self.first: OperationUpdate(finished: 1)])))
        #expect(changes.last == "retrying 1")
        #expect(world.last.effects == [.acknowledge(Self.first)])
    }
}

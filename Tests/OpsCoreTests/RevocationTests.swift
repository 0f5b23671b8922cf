import OpsCore
import Testing

/// Staged launches that the caller of `handle` did not revoke first.
@Suite("Revocation without a caller") struct RevocationTests {
    /// Returns a world with 4, 5 and 6 staged behind 2 and 3, which execute.
    private func staged() -> World {
        var world = World(workers: 2)
        world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1", acceptsStaging: true)))
        for _ in 0..<6 { world.add() }
        world.turn()
        world.after(world.exit(1))
        return world
    }

    private func attempt(_ id: Int64, _ number: Int32 = 1) -> AttemptID { AttemptID(OperationID(id), number) }

    @Test func `a request revokes what is staged, and each of it counts as started until the runner has answered`() {
        var world = staged()
        #expect(
            world.after(.suspend(.daemon, freeze: false)) == [
                "assumed 4#1 slot 2", "assumed 5#1 slot 3", "assumed 6#1 slot 4", "suspended true",
            ])
        #expect(world.last.effects.first == .revokeStaged)
        #expect(world.executing == [2, 3, 4, 5, 6] && world.scheduler.stagedCount == 0)
    }

    @Test func `launches reported before the confirmation have started, and the others wait again`() {
        var world = staged()
        world.after(.suspend(.daemon, freeze: false))
        world.handle(world.exit(2))
        #expect(
            world.after(.stagedStarted(attempt(4), SlotStart(slot: 1, at: world.now))).last == "confirmed 4#1 slot 1")
        #expect(world.after(.revocationConfirmed) == ["unstaged 5#1", "unstaged 6#1"])
        #expect(world.executing == [3, 4])
        #expect(world.state(5) == .ready && world.state(6) == .ready)
    }

    @Test func `the timeout of a launch that had started when it was revoked counts from its start`() {
        var world = World(workers: 2)
        world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1", acceptsStaging: true)))
        for _ in 0..<4 { world.add { $0.timeout = .seconds(5) } }
        world.turn()
        world.after(world.exit(1))
        world.after(.suspend(.daemon, freeze: false))
        let begun = world.now
        world.pass(seconds: 2)
        world.handle(world.exit(2))
        let changes = world.after(.stagedStarted(attempt(4), SlotStart(slot: 1, at: begun)))
        #expect(changes.last == "confirmed 4#1 slot 1")
        world.after(world.exit(3))
        #expect(world.scheduler.nextDeadline.monotonic == begun.monotonic + .seconds(5))
        #expect(world.scheduler.why(4, at: world.now).first?.detail == .process)
        world.pass(seconds: 3)
        #expect(world.turn() == ["cancelling 4 timedOut"])
    }

    @Test func `an operation that was cancelled meanwhile and has not started ends with the confirmation`() {
        var world = staged()
        world.after(.cancel([OperationID(5)], by: "u", reason: nil, force: false))
        #expect(world.state(5) == .executing)
        let changes = world.after(.revocationConfirmed)
        #expect(changes.contains("ended 5#1 cancelled") && changes.contains("finished 5 cancelled by u"))
        #expect(changes.contains("unstaged 4#1") && changes.contains("unstaged 6#1"))
    }

    @Test func `a turn revokes launches that have rested too long`() {
        var world = staged()
        world.now.monotonic += Limits.shortRun
        #expect(world.scheduler.mustRevokeStaged(at: world.now))
        #expect(world.turn().first == "assumed 4#1 slot 2")
        #expect(world.after(.revocationConfirmed).contains("unstaged 4#1"))
    }

    @Test func `another runner's connection revokes what the first one holds`() {
        var world = staged()
        let changes = world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1", acceptsStaging: true)))
        #expect(changes.prefix(3) == ["assumed 4#1 slot 2", "assumed 5#1 slot 3", "assumed 6#1 slot 4"])
        #expect(world.last.effects.contains(.reap(attempt(4))))
    }
}

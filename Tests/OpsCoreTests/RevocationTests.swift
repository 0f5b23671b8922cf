import OpsCore
import Testing

/// Staged launches that the caller of `handle` did not revoke.
@Suite("Revocation without a caller") struct RevocationTests {
    /// 4, 5 and 6 are staged behind 2 and 3, which execute.
    private func staged() -> World {
        var world = World(workers: 2)
        world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1", takesHand: true)))
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
                "presumed 4#1 slot 2", "presumed 5#1 slot 3", "presumed 6#1 slot 4", "suspended true",
            ])
        #expect(world.last.effects.first == .recall)
        #expect(world.executing == [2, 3, 4, 5, 6] && world.scheduler.handCount == 0)
    }

    @Test func `what the runner reports before its confirmation has started, and the rest waits again`() {
        var world = staged()
        world.after(.suspend(.daemon, freeze: false))
        world.handle(world.exit(2))
        #expect(world.after(.taken(attempt(4), Place(slot: 1, at: world.now))).last == "placed 4#1 slot 1")
        #expect(world.after(.emptyHanded) == ["withdrawn 5#1", "withdrawn 6#1"])
        #expect(world.executing == [3, 4])
        #expect(world.state(5) == .ready && world.state(6) == .ready)
    }

    @Test func `an operation that was cancelled meanwhile and has not started ends with the confirmation`() {
        var world = staged()
        world.after(.cancel([OperationID(5)], by: "u", reason: nil, force: false))
        #expect(world.state(5) == .executing)
        let changes = world.after(.emptyHanded)
        #expect(changes.contains("ended 5#1 cancelled") && changes.contains("finished 5 cancelled by u"))
        #expect(changes.contains("withdrawn 4#1") && changes.contains("withdrawn 6#1"))
    }

    @Test func `a turn revokes launches that have rested too long`() {
        var world = staged()
        world.now.monotonic += Limits.shortRun
        #expect(world.scheduler.mustRecall(at: world.now))
        #expect(world.turn().first == "presumed 4#1 slot 2")
        #expect(world.after(.emptyHanded).contains("withdrawn 4#1"))
    }

    @Test func `another runner's connection revokes what the first one holds`() {
        var world = staged()
        let changes = world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1", takesHand: true)))
        #expect(changes.prefix(3) == ["presumed 4#1 slot 2", "presumed 5#1 slot 3", "presumed 6#1 slot 4"])
        #expect(world.last.effects.contains(.reap(attempt(4))))
    }
}

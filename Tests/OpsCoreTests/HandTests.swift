import OpsCore
import Testing

/// What goes into the runner's hand, and out of it.
@Suite struct HandTests {
    /// Two slots, a runner that takes a hand, and so many operations.
    private func world(_ count: Int) -> World {
        var world = World(workers: 2)
        world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1", takesHand: true)))
        for _ in 0..<count { world.add() }
        world.turn()
        return world
    }

    private func attempt(_ id: Int64, _ number: Int32 = 1) -> AttemptID { AttemptID(OperationID(id), number) }

    private func effects(_ world: World) -> [Effect] { world.last.effects.filter { $0 != .recall } }

    @Test func whatIsNextIsForetoldOnceSomethingShortHasSucceeded() {
        var world = world(6)
        #expect(world.scheduler.handCount == 0)
        // The slot was free: 3 starts as ever, and then the pool is full.
        let changes = world.after(world.exit(1))
        #expect(changes.suffix(4) == ["started 3#1 slot 0", "foretold 4#1", "foretold 5#1", "foretold 6#1"])
        #expect(
            effects(world) == [
                .acknowledge(attempt(1)), .launch(attempt(3), slot: 0), .hand(attempt(4), after: []),
                .hand(attempt(5), after: []), .hand(attempt(6), after: []),
            ])
        #expect(world.state(4) == .ready)
        #expect(world.scheduler.why(4, at: world.now).map(\.kind) == [.pool])
    }

    @Test func whatTheRunnerTakesHasStartedWithoutALaunch() {
        var world = world(6)
        world.after(world.exit(1))
        world.handle(world.exit(2))
        let changes = world.after(.taken(attempt(4), Place(slot: 1, at: world.now)))
        #expect(
            changes == ["exited 2#1", "ended 2#1 succeeded", "finished 2 succeeded", "started 4#1 slot 1"])
        #expect(effects(world) == [.acknowledge(attempt(2))])
        #expect(world.executing == [3, 4])
    }

    @Test func aHandIsFilledUpAndSufficesUntilHalfOfItIsTaken() {
        var world = world(4 + Limits.hand * 2)
        world.after(world.exit(1))
        #expect(world.scheduler.handCount == Limits.hand)
        for next in 0..<Int64(Limits.hand / 2) {
            #expect(world.scheduler.handSuffices)
            world.handle(world.exit(2 + next))
            #expect(!world.scheduler.handSuffices, "a slot is free")
            world.handle(.taken(attempt(4 + next), Place(slot: Int32(1 - next % 2), at: world.now)))
        }
        #expect(world.scheduler.handSuffices)
        world.handle(world.exit(2 + Int64(Limits.hand / 2)))
        world.handle(
            .taken(
                attempt(4 + Int64(Limits.hand / 2)), Place(slot: Int32(1 - Limits.hand / 2 % 2), at: world.now)))
        #expect(!world.scheduler.handSuffices)
        world.turn()
        #expect(world.scheduler.handCount == Limits.hand)
    }

    @Test func aHandThatIsTakenBackIsReadyAgain() {
        var world = world(6)
        world.after(world.exit(1))
        #expect(world.after(.recalled(taken: 0)) == ["withdrawn 4#1", "withdrawn 5#1", "withdrawn 6#1"])
        #expect(world.last.effects == [.recall])
        // No other hand before the runner has put this one away.
        #expect(world.after(world.exit(2)).last == "started 4#1 slot 1")
        world.handle(.emptyHanded)
        #expect(world.after(world.exit(3)).last == "foretold 6#1")
    }

    @Test func ofTheNextRunnerNothingIsTakenBack() {
        var world = world(6)
        world.after(world.exit(1))
        world.handle(.recalled(taken: 0))
        world.handle(.runnerLost)
        world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1")))
        #expect(!world.last.effects.contains(.recall))
    }

    @Test func aHandIsTakenBackWhenItRestsOrASlotIsFree() {
        var world = world(6)
        world.after(world.exit(1))
        #expect(!world.scheduler.mustRecall(at: world.now))
        var later = world.now
        later.monotonic += Limits.shortRun
        #expect(world.scheduler.nextDeadline.monotonic == later.monotonic)
        #expect(world.scheduler.mustRecall(at: later))
        world.handle(world.exit(2, 1))
        #expect(world.scheduler.mustRecall(at: world.now))
    }

    @Test func whatRunsLongHasNothingForetold() {
        var world = world(6)
        world.pass(seconds: 1)
        #expect(world.after(world.exit(1)).last == "started 3#1 slot 0")
        #expect(world.scheduler.handCount == 0)
    }

    @Test func aRunnerThatKnowsNoHandIsGivenNone() {
        var world = World(workers: 2)
        for _ in 0..<4 { world.add() }
        world.turn()
        world.after(world.exit(1))
        #expect(world.scheduler.handCount == 0)
    }

    @Test func whatComesBetweenEndsTheHand() {
        // 4 waits for 1 and 2: whoever comes after it may not start before it.
        var world = world(3)
        world.add(after: [2, 3])
        world.add()
        world.turn()
        #expect(world.after(world.exit(1)).last == "started 3#1 slot 0")
        #expect(world.scheduler.handCount == 0)
    }

    @Test func layersPassTheirSlotsOn() {
        var world = world(4)
        for _ in 0..<3 { world.add(after: [1, 2, 3, 4]) }
        world.turn()
        #expect(world.after(world.exit(1)).last == "foretold 4#1")
    }

    @Test(arguments: [0, 1, 2, 3, 4, 5])
    func whatIsNotPlainIsNeverInHand(kind: Int) {
        var world = world(3)
        world.handle(.setQueue("q", QueueEdit(limit: .some(5))))
        switch kind {
        case 0: world.add(categories: ["a"])
        case 1: world.add(queue: "q")
        case 2: world.add { $0.completion = .notify }
        case 3: world.add { $0.conditions = [ConditionPolicy()] }
        case 4: world.add { $0.observers = .start }
        default: world.add { $0.successCodes = [3] }
        }
        world.add()
        world.turn()
        world.after(world.exit(1))
        #expect(world.scheduler.handCount == 0)
    }

    @Test func ofACategoryNothingIsPassedOn() {
        var world = World(workers: 2)
        world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1", takesHand: true)))
        world.add(categories: ["a"])
        for _ in 0..<4 { world.add() }
        world.turn()
        world.after(world.exit(2))
        #expect(world.scheduler.handCount == 0)
    }

    @Test func ofARunnerThatIsEndingNothingIsInHand() {
        var world = world(6)
        world.after(world.exit(1))
        #expect(world.scheduler.handCount == 3)
        world.handle(.recalled(taken: 0))
        let inventory = Inventory(
            runner: "r1", boot: "b1", entries: [attempt(2): running(world), attempt(3): running(world)],
            isEnding: true, takesHand: true)
        let changes = world.after(.runnerConnected(inventory))
        #expect(changes.filter { $0.hasPrefix("withdrawn") } == ["withdrawn 4#1", "withdrawn 5#1", "withdrawn 6#1"])
        world.handle(.emptyHanded)
        #expect(world.after(world.exit(2)).last == "finished 2 succeeded")
        #expect(world.scheduler.handCount == 0)
        #expect(world.executing == [3])
        #expect(world.state(4) == .ready)
    }

    // MARK: After a crash

    private func snapshot() -> Snapshot {
        .withHand(Snapshot.Row(id: 2, graph: GraphID(1), state: .ready))
    }

    private func gone(_ world: World) -> Inventory.Entry { .gone(Exit(status: .code(0), at: world.now)) }
    private func running(_ world: World) -> Inventory.Entry {
        .running(Process(pid: 7, startTicks: 1, at: world.now))
    }

    @Test func whatTheRunnerKnowsHadBegun() {
        var world = World(workers: 1, snapshot(), connected: false)
        #expect(world.last.changes.map(brief) == ["presumed 2#1 slot 1"])
        #expect(world.executing == [1, 2])
        let inventory = Inventory(
            runner: "r1", boot: "b1", entries: [attempt(1): gone(world), attempt(2): running(world)],
            places: [attempt(2): Place(slot: 0, at: world.now)])
        let changes = world.after(.runnerConnected(inventory))
        #expect(changes.suffix(3) == ["finished 1 succeeded", "placed 2#1 slot 0", "launched 2#1"])
        #expect(world.executing == [2])
    }

    @Test func whatItsRunnerDoesNotKnowHadNot() {
        var world = World(workers: 1, snapshot(), connected: false)
        let inventory = Inventory(runner: "r1", boot: "b1", entries: [attempt(1): running(world)])
        let changes = world.after(.runnerConnected(inventory))
        #expect(changes == ["launched 1#1", "withdrawn 2#1"])
        #expect(world.state(2) == .ready)
        #expect(!world.last.effects.contains(.launch(attempt(2), slot: 0)))
        #expect(world.after(world.exit(1)).last == "started 2#1 slot 0")
    }

    @Test func whatAnEndingRunnerDoesNotKnowHasItsTurnWithTheNext() {
        var world = World(workers: 1, snapshot(), connected: false)
        let inventory = Inventory(
            runner: "r1", boot: "b1", entries: [attempt(1): running(world)], isEnding: true, takesHand: true)
        #expect(world.after(.runnerConnected(inventory)) == ["launched 1#1", "withdrawn 2#1"])
        #expect(world.after(world.exit(1)).last == "finished 1 succeeded")
        #expect(world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1"))).last == "started 2#1 slot 0")
    }

    @Test func underAnotherRunnerNobodyCanSay() {
        var world = World(workers: 1, snapshot(), connected: false)
        world.after(.runnerConnected(Inventory(runner: "r2", boot: "b1")))
        #expect(world.last.effects.contains(.reap(attempt(2))))
        #expect(world.after(.gone(attempt(2))).last == "finished 2 interrupted runner lost")
    }

    @Test func whoseProcessIsHeardOfHadBegun() {
        var world = World(workers: 1, snapshot(), connected: false)
        #expect(
            world.after(.exited(attempt(2), Exit(status: .code(0), at: world.now), treeIsGone: true))
                == ["placed 2#1 slot 1", "exited 2#1", "ended 2#1 succeeded", "finished 2 succeeded"])
    }

    @Test func afterAPowerCutItIsInterrupted() {
        var world = World(workers: 1, snapshot(), connected: false)
        let changes = world.after(.runnerConnected(Inventory(runner: "r2", boot: "b2")))
        #expect(changes.contains("placed 2#1 slot 1"))
        #expect(changes.contains("finished 2 interrupted machine restarted"))
    }

    @Test func aCancelBeforeTheRunnerIsThereHolds() {
        var world = World(workers: 1, snapshot(), connected: false)
        #expect(
            world.after(.cancel([2], by: "ann", reason: nil, force: false)) == ["cancelling 2 cancelled"])
        let inventory = Inventory(runner: "r1", boot: "b1", entries: [attempt(1): running(world)])
        #expect(world.after(.runnerConnected(inventory)).last == "finished 2 cancelled by ann")
    }

    /// As above, stored as presumed, and 3 waits for its start.
    @Test func whatWaitsForAStartGoesOnWaitingWhileItIsPresumed() {
        var again = snapshot()
        again.nextOperation = 4
        again.presumeSecond()
        again.operations.append(Snapshot.Row(id: 3, graph: GraphID(1), state: .pending))
        again.edges = [Snapshot.Edge(from: 3, on: 2, when: .started)]
        var world = World(workers: 1, again, connected: false)
        #expect(world.state(3) == .pending)
        let inventory = Inventory(runner: "r1", boot: "b1", entries: [attempt(1): running(world)])
        world.after(.runnerConnected(inventory))
        #expect(world.state(3) == .pending)
        #expect(world.after(world.exit(1)).contains("ready 3"))
    }

    @Test func whatWasPresumedTwiceIsPresumedOnce() {
        var twice = snapshot()
        twice.presumeSecond()
        var world = World(workers: 1, twice, connected: false)
        #expect(world.last.changes.isEmpty)
        let inventory = Inventory(runner: "r1", boot: "b1", entries: [attempt(1): running(world)])
        #expect(world.after(.runnerConnected(inventory)).last == "withdrawn 2#1")
    }
}

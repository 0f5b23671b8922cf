import Testing

@testable import OpsCore

@Suite struct FairnessTests {
    private static let (ann, bob): (UInt32, UInt32) = (1001, 1002)

    private func world(workers: Int32 = 1, limit: Int32? = nil) -> World {
        var world = World(workers: workers)
        var edit = QueueEdit(limit: limit.map { .set($0) } ?? .keep)
        edit.isFair = true
        world.after(.setQueue("default", edit))
        return world
    }

    /// Ends the executing operations after some seconds, and returns the operations that start then.
    private func next(_ world: inout World, after seconds: Int64 = 10) -> [Int64] {
        world.pass(seconds: seconds)
        for one in world.scheduler.executing where one.slot != nil { world.handle(world.exit(one.id.rawValue)) }
        world.turn()
        return world.executing
    }

    @Test func `the user with less slot time goes first`() {
        var world = world()
        for _ in 1...3 { world.add(user: Self.ann) }
        world.turn()
        for _ in 4...5 { world.add(user: Self.bob) }
        world.turn()
        #expect(world.executing == [1])
        #expect(next(&world) == [4], "Bob has had nothing yet")
        #expect(next(&world) == [2], "both have had 10 s: the order of submission")
        #expect(next(&world, after: 1) == [5], "Bob has had less")
        #expect(next(&world) == [3])
    }

    @Test func `users take turns for the room of a queue and of a category`() {
        for limit in [nil, 1] as [Int32?] {
            var world = world(workers: 8, limit: limit)
            let categories: [CategoryUse] = limit == nil ? ["disk"] : []
            for _ in 1...3 { world.add(categories: categories, user: Self.ann) }
            world.turn()
            for _ in 4...5 { world.add(categories: categories, user: Self.bob) }
            world.turn()
            #expect(world.executing == [1])
            #expect(next(&world) == [4])
            #expect(next(&world) == [2])
        }
    }

    @Test func `priority comes before fairness`() {
        var world = world()
        world.add(user: Self.ann)
        world.turn()
        world.add(user: Self.bob)
        world.add(priority: 1, user: Self.ann)
        world.turn()
        #expect(next(&world) == [3])
        #expect(next(&world) == [2])
    }

    @Test func `without fairness the order of submission counts`() {
        var world = world()
        var edit = QueueEdit()
        edit.isFair = false
        for _ in 1...3 { world.add(user: Self.ann) }
        world.turn()
        world.add(user: Self.bob)
        #expect(world.after(.setQueue("default", edit)).contains("queue default not fair"))
        #expect(next(&world) == [2])
        #expect(next(&world) == [3])
    }

    @Test func `slot time of processes that still run counts`() {
        var world = world(workers: 2)
        world.add(user: Self.ann)
        world.turn()
        world.pass(seconds: 1)
        world.add(user: Self.bob)
        world.turn()
        world.pass(seconds: 5)
        world.handle(world.exit(2))
        world.add(user: Self.ann)
        world.add(user: Self.bob)
        world.turn()
        #expect(world.executing == [1, 4], "Ann has had 6 s, and Bob 5 s")
        world.pass(seconds: 1)
        world.add(user: Self.bob)
        world.after(world.exit(4))
        #expect(world.executing == [1, 5], "Ann has had 7 s, and Bob 6 s")
        world.pass(seconds: 1)
        world.after(world.exit(5))
        #expect(world.executing == [1, 3], "there is nothing else")
    }

    @Test func `privileged users count as one`() {
        var world = world()
        world.add(user: 0)
        world.turn()
        world.add(user: 0)
        world.add(user: Self.bob)
        #expect(next(&world) == [3])
        #expect(next(&world) == [2])
    }

    @Test func `the position in line follows from the slot time`() {
        var world = world()
        world.add(user: Self.ann)
        world.turn()
        world.add(user: Self.ann)
        world.add(user: Self.bob)
        world.pass(seconds: 3)
        world.turn()
        let reasons = [2, 3].flatMap { world.scheduler.why(OperationID($0), at: world.now) }
        #expect(reasons.map(\.detail) == [.pool(workers: 1, position: 2), .pool(workers: 1, position: 1)])
    }

    @Test func `slot time outlives a restart`() {
        var snapshot = Snapshot()
        snapshot.queues[0].isFair = true
        let now = Moment(monotonic: .seconds(1_000), wall: .seconds(1_000_000))
        snapshot.slotTimes = [
            Snapshot.SlotTime(queue: "default", user: Self.ann, used: .seconds(60), at: now.wall),
            Snapshot.SlotTime(queue: "default", user: Self.bob, used: .seconds(50), at: now.wall),
            Snapshot.SlotTime(queue: "gone", user: Self.bob, used: 1, at: now.wall),
        ]
        (snapshot.nextOperation, snapshot.nextGraph) = (3, 2)
        snapshot.policies = [Policy()]
        for (id, user) in [(1, Self.ann), (2, Self.bob)] {
            snapshot.operations.append(
                Snapshot.Row(id: OperationID(Int64(id)), graph: GraphID(1), user: user, state: .ready))
        }
        var world = World(workers: 1, snapshot)
        #expect(world.executing == [2])
        #expect(next(&world, after: 1) == [1])
    }

    @Test func `each start and end is stored`() {
        var world = world()
        world.add(user: Self.ann)
        #expect(world.turn().contains("slot time of 1001 in default 0 s"))
        world.pass(seconds: 7)
        #expect(world.after(world.exit(1)).contains("slot time of 1001 in default 7 s"))
    }

    @Test func `old slot time counts less, however often it is read`() {
        let queue = QueueIndex(rawValue: 0)
        func minutes(_ count: Int64) -> MonotonicInstant { .seconds(60 * count) }
        var times = SlotTimes()
        let account = times.account(queue, 1001, at: 0)
        _ = times.count(account, 1, at: 0)
        #expect(times.used(account, at: .seconds(30)) == .seconds(30))
        let full = times.count(account, -1, at: minutes(1) - .nanoseconds(1))
        var seldom = times
        for step: Int64 in 0...180 { _ = times.used(account, at: minutes(1) + .seconds(7 * step)) }
        let half = seldom.used(account, at: minutes(22))
        #expect(half == times.used(account, at: minutes(22)))
        #expect(half > full * 48 / 100)
        #expect(half < full * 52 / 100)
        #expect(times.reading(account, at: minutes(10_000)) == 0)
        #expect(times.used(account, at: minutes(20)) == half, "a clock that stands still or goes back changes nothing")
    }

    @Test func `processes that run for days use as much as is forgotten`() {
        var times = SlotTimes()
        let account = times.account(QueueIndex(rawValue: 0), nil, at: -5)
        _ = times.count(account, 3, at: -5)
        let used = times.used(account, at: .seconds(100_000 * 60))
        #expect(used == .minutes(3 * 31))
        #expect(times.checkInvariants(running: [:]).count == 1)
        times.forget(QueueIndex(rawValue: 0))
        #expect(times.checkInvariants(running: [:]).isEmpty)
        #expect(times.find(QueueIndex(rawValue: 0), nil) == nil)
    }
}

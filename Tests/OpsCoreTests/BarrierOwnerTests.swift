import OpsCore
import Testing

/// A barrier of an ordinary user orders that user's operations; a barrier of root orders everybody's.
@Suite struct BarrierOwnerTests {
    private let ann: UInt32 = 1000
    private let bob: UInt32 = 1001
    private let root: UInt32 = 0

    private func reasons(_ id: Int64, _ world: World) -> [Reason] {
        world.scheduler.why(OperationID(id), at: world.now)
    }

    private func revival(_ row: Snapshot.Row) -> Revival {
        var revival = Revival()
        revival.queues = ["default"]
        revival.operations = [row]
        return revival
    }

    @Test func `a barrier of an ordinary user waits for and holds back that user's operations alone`() {
        var world = World(workers: 8)
        world.add(user: bob)
        world.add(user: ann)
        let barrier = world.add(flags: .barrier, user: ann)
        let others = [
            world.add(user: bob), world.add(priority: 100, user: root), world.add(flags: .barrier, user: bob),
        ]
        let later = world.add(user: ann)
        world.turn()
        #expect(world.executing == [1, 2, others[0], others[1]])
        #expect(reasons(barrier, world) == [Reason(kind: .barrier, ids: [2], detail: .barrier)])
        #expect(reasons(later, world) == [Reason(kind: .barrier, ids: [OperationID(barrier)], detail: .barrier)])
        #expect(reasons(others[2], world).map(\.ids) == [[1, OperationID(others[0])]])
        world.after(world.exit(2))
        #expect(world.executing == [1, barrier] + others.prefix(2), "1 is of another user")
        world.after(world.exit(barrier))
        #expect(world.executing == [1] + others.prefix(2) + [later])
    }

    @Test func `a barrier of root waits for everything earlier and holds back everybody`() {
        var world = World(workers: 8)
        world.add(user: ann)
        world.add(flags: .barrier, user: bob)
        let barrier = world.add(flags: .barrier, user: root)
        let later = [world.add(user: ann), world.add(user: root), world.add(flags: .barrier, user: bob)]
        world.turn()
        #expect(world.executing == [1, 2])
        #expect(reasons(barrier, world).map(\.ids) == [[1, 2]])
        for id in later { #expect(reasons(id, world).map(\.ids) == [[OperationID(barrier)]]) }
        world.after(world.exit(1))
        world.after(world.exit(2))
        #expect(world.executing == [barrier])
        world.after(world.exit(barrier))
        #expect(world.executing == later)
    }

    @Test func `a barrier of the daemon's own user holds back everybody`() {
        var snapshot = Snapshot()
        snapshot.privilegedUsers = [0, ann]
        var world = World(workers: 8, snapshot)
        let barrier = world.add(flags: .barrier, user: ann)
        world.add(user: bob)
        world.turn()
        #expect(world.executing == [barrier])
    }

    @Test func `an operation waits for the barriers of its user and of root in turn`() {
        var world = World(workers: 8)
        let own = world.add(flags: [.barrier, .held], user: ann)
        let wall = world.add(flags: [.barrier, .held], user: root)
        let next = world.add(flags: [.barrier, .held], user: ann)
        let last = world.add(user: ann)
        world.turn()
        for (id, before) in [(wall, own), (next, wall), (last, next)] {
            #expect(reasons(id, world).first?.ids == [OperationID(before)])
        }
        world.after(.cancel([OperationID(next)], by: "ann", reason: nil, force: false))
        #expect(reasons(last, world).map(\.ids) == [[OperationID(wall)]])
        world.after(.cancel([OperationID(wall)], by: "root", reason: nil, force: false))
        #expect(reasons(last, world).map(\.ids) == [[OperationID(own)]])
        world.after(.cancel([OperationID(own)], by: "ann", reason: nil, force: false))
        #expect(world.executing == [last])
    }

    @Test func `only an operation that waits for a barrier lends it its priority`() {
        var world = World(workers: 8)
        world.add(flags: .held, user: ann)
        let barrier = world.add(flags: .barrier, user: ann)
        world.add(priority: 90, user: root)
        world.turn()
        #expect(world.scheduler.effectivePriority(of: 1) == 0)
        #expect(world.scheduler.effectivePriority(of: OperationID(barrier)) == 0)
        world.add(priority: 4, user: ann)
        world.turn()
        #expect(world.scheduler.effectivePriority(of: 1) == 4)
        #expect(world.scheduler.effectivePriority(of: OperationID(barrier)) == 4)
        world.add(priority: 50, flags: .barrier, user: root)
        world.turn()
        #expect(world.scheduler.effectivePriority(of: 1) == 50, "a barrier of root waits for everybody's operations")
    }

    @Test func `a restart gives the same barriers`() {
        var snapshot = Snapshot()
        snapshot.nextOperation = 7
        snapshot.nextGraph = 2
        let g1 = GraphID(1)
        snapshot.operations = [
            Snapshot.Row(id: 1, graph: g1, user: ann, flags: [.barrier, .held]),
            Snapshot.Row(id: 2, graph: g1, user: bob, state: .ready), Snapshot.Row(id: 3, graph: g1, user: ann),
            Snapshot.Row(id: 4, graph: g1, state: .ready), Snapshot.Row(id: 5, graph: g1, flags: [.barrier, .held]),
            Snapshot.Row(id: 6, graph: g1, user: bob),
        ]
        let world = World(workers: 8, snapshot)
        #expect(world.executing == [2, 4])
        #expect(reasons(3, world).map(\.ids) == [[1]])
        #expect(reasons(5, world).first?.ids == [1, 2, 3, 4])
        #expect(reasons(6, world).map(\.ids) == [[5]])
    }

    @Test func `a barrier that a retry brings back is one for its own user again`() {
        var world = World(workers: 8)
        world.add(user: ann)
        let barrier = world.add(flags: .barrier, user: ann)
        world.turn()
        world.after(world.exit(1))
        world.after(world.exit(barrier, 1))
        world.add(flags: .held, user: ann)
        world.add(flags: .held, user: bob)
        let row = Snapshot.Row(
            id: OperationID(barrier), graph: GraphID(2), user: ann, state: .finished, flags: [.barrier, .held],
            attempt: 1)
        world.after(.retry([row.id], revived: revival(row)))
        world.after(.resume(.operations([3, 4])))
        #expect(world.executing == [4])
        #expect(reasons(3, world).contains { $0.ids == [OperationID(barrier)] })
    }

    @Test func `an operation that moves comes behind the barriers that order it there`() {
        var world = World(workers: 8)
        world.handle(.setQueue("q", QueueEdit()))
        let barriers = [ann, bob, root].map { world.add(queue: "q", flags: [.barrier, .held], user: $0) }
        let moved = [ann, bob].map { world.add(flags: .held, user: $0) }
        let stays = world.add(queue: "q", user: ann)
        world.after(.cancel([OperationID(barriers[2])], by: "root", reason: nil, force: false))
        world.after(.edit(moved.map { OperationID($0) }, Edit(queue: "q")))
        world.after(.resume(.operations(moved.map { OperationID($0) })))
        #expect(world.executing == [])
        for (id, barrier) in zip(moved, barriers) { #expect(reasons(id, world).map(\.ids) == [[OperationID(barrier)]]) }
        world.after(.edit([OperationID(barriers[0])], Edit(queue: "default")))
        #expect(world.executing == [moved[0], stays], "the barrier of its user has left")
    }

    @Test func `a barrier does not wait for an operation of another user that moved away before it came`() {
        var world = World(workers: 8)
        world.handle(.setQueue("q", QueueEdit()))
        let first = world.add(flags: [.barrier, .held], user: root)
        let moved = world.add(flags: .held, user: ann)
        world.after(.edit([OperationID(moved)], Edit(queue: "q")))
        world.after(.cancel([OperationID(first)], by: "root", reason: nil, force: false))
        let barrier = world.add(flags: .barrier, user: bob)
        world.turn()
        #expect(world.executing == [barrier])
        #expect(world.scheduler.checkInvariants().isEmpty)
    }

    @Test func `a child is refused that waits for its producer through a barrier of its own user`() {
        var world = World(workers: 8)
        world.add(user: ann)
        world.add(flags: .barrier, user: ann)
        world.add(user: bob)
        world.add(flags: .barrier, user: bob)
        world.turn()
        #expect(world.executing == [1, 3])
        #expect(world.add(child: 1, user: ann) == -1)
        world.after(.cancel([2], by: "ann", reason: nil, force: false))
        #expect(world.add(child: 1, user: ann) == 5)
        #expect(world.add(child: 3, user: bob) == -1)
        world.turn()
        #expect(world.executing == [1, 3, 5])
    }

    @Test func `an edge against the order of a barrier is a cycle for its own user alone`() {
        var world = World(workers: 8)
        world.add(flags: .held, user: ann)
        world.add(flags: .barrier, user: ann)
        let (own, other) = (world.add(flags: .held, user: ann), world.add(flags: .held, user: bob))
        let depend = { (on: Int64) in Event.addDependency(1, on: OperationID(on), when: .finished, finished: nil) }
        guard case .failure(.cycle) = world.handle(depend(own)) else { return #expect(Bool(false), "accepted") }
        guard case .success = world.handle(depend(other)) else { return #expect(Bool(false), "refused") }
        world.turn()
    }

    @Test func `a barrier of one user does not keep others from the runner's next launches`() {
        func staged(with user: UInt32) -> Int {
            var world = World(workers: 1)
            world.handle(.runnerConnected(Inventory(runner: "r1", boot: "b1", acceptsStaging: true)))
            world.add(flags: [.barrier, .held], user: user)
            for _ in 0..<3 { world.add(user: bob) }
            world.turn()
            if let first = world.executing.first { world.after(world.exit(first)) }
            return world.scheduler.stagedCount
        }
        #expect(staged(with: ann) > 0)
        #expect(staged(with: bob) == 0 && staged(with: root) == 0)
    }

    @Test func `a partition is forgotten with the last operation of its user`() {
        var world = World(workers: 8)
        for _ in 0..<3 {
            for user in 1...50 as ClosedRange<UInt32> { world.add(flags: .barrier, user: user) }
            _ = world.drain()
        }
        #expect(world.scheduler.checkInvariants().isEmpty)
    }
}

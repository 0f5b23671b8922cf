import Testing

@testable import OpsCore

/// Maximum number of unfinished operations of one ordinary user.
@Suite struct OperationLimitTests {
    private let ann: UInt32 = 1000
    private let bob: UInt32 = 1001

    private func world(limit: Int, _ change: (inout Snapshot) -> Void = { _ in }) -> World {
        var snapshot = Snapshot()
        snapshot.operationsPerUser = limit
        change(&snapshot)
        return World(workers: 8, snapshot)
    }

    private func submission(_ count: Int, of user: UInt32) -> Submission {
        var submission = Submission()
        submission.user = user
        submission.operations = Array(repeating: Draft(flags: .held), count: count)
        return submission
    }

    @Test func `edges count for the user of the operation that waits, until it waits no more`() {
        var world = World(workers: 8)
        world.scheduler.registry.edgesPerUser = 3
        let first = world.add(flags: .held, user: bob)
        let others = (0..<4).map { _ in world.add(flags: .held, user: ann) }
        let waiting = world.add(after: [first, others[0]], user: ann)
        #expect(world.add(after: [first, others[1]], user: ann) == -1, "one edge too many")
        func depend(_ on: Int64) -> Result<Acceptance, Rejection> {
            world.handle(.addDependency(OperationID(waiting), on: OperationID(on), when: .succeeded, finished: nil))
        }
        #expect(depend(others[1]) == .success(.done(1)))
        #expect(depend(others[2]) == .failure(.tooManyEdgesOfUser(ann, limit: 3)))
        #expect(world.add(after: [first, others[0], others[1], others[2]], user: 0) > 0, "root has no limit")
        #expect(world.add(after: [first], user: bob) > 0)
        world.after(.removeDependency(OperationID(waiting), on: OperationID(others[1])))
        #expect(depend(others[3]) == .success(.done(1)))
        world.after(.cancel([OperationID(waiting)], by: "ann", reason: nil, force: false))
        #expect(world.add(after: [first, others[0], others[1]], user: ann) > 0)
        world.turn()
        #expect(world.scheduler.checkInvariants().isEmpty)
    }

    @Test func `categories of a set count once for each user, until the last operation with the set has finished`() {
        var world = World(workers: 8)
        world.scheduler.registry.categoriesPerUser = 3
        let refusal = Result<Acceptance, Rejection>.failure(.tooManyCategoriesOfUser(ann, limit: 3))
        func add(_ categories: [CategoryUse], user: UInt32 = 1000) -> Int64 {
            world.add(categories: categories, flags: .held, user: user)
        }
        func edit(_ id: Int64, _ categories: [CategoryUse]) -> Result<Acceptance, Rejection> {
            world.handle(.edit([OperationID(id)], Edit(categories: categories)))
        }
        let first = add(["a", "b"])
        let second = add(["a", "b"])
        let third = add(["c"])
        #expect(first > 0 && second > 0 && third > 0)
        #expect(add(["d"]) == -1, "one category too many")
        #expect(add(["c"]) > 0 && add([]) > 0, "nothing new")
        #expect(add(["a", "b", "c", "d"], user: 0) > 0, "root has no limit")
        #expect(add(["a", "b"], user: bob) > 0)
        #expect(edit(first, ["d"]) == refusal)
        #expect(edit(first, ["c"]) == .success(.done(1)))
        #expect(add(["d"]) == -1, "the other operation has the set")
        world.handle(.cancel([OperationID(second)], by: "ann", reason: nil, force: false))
        let together = [
            EditedTogether([OperationID(first)], Edit(categories: ["d"])),
            EditedTogether([OperationID(third)], Edit(categories: ["e", "f"])),
        ]
        #expect(world.handle(.edit(together)) == refusal)
        #expect(edit(first, ["d", "e"]) == .success(.done(1)))
        #expect(add(["f"]) == -1)
        world.turn()
        #expect(world.scheduler.categories.count(ofUser: ann) == 3)
    }

    @Test func `a restart counts categories, and a retry needs room for its own`() {
        var world = world(limit: 9) { snapshot in
            snapshot.nextOperation = 4
            snapshot.nextGraph = 2
            snapshot.categorySets = [["a", "b"], ["c"]]
            snapshot.operations = (1...3).map { id in
                Snapshot.Row(
                    id: OperationID(id), graph: GraphID(1), user: ann, categories: id < 3 ? 0 : 1, state: .ready,
                    flags: .held)
            }
        }
        world.scheduler.registry.categoriesPerUser = 3
        #expect(world.add(categories: ["d"], flags: .held, user: ann) == -1)
        world.after(.cancel([3], by: "ann", reason: nil, force: false))
        let other = world.add(categories: ["d"], flags: .held, user: ann)
        #expect(other > 0)
        world.turn()
        var revival = Revival()
        revival.queues = ["default"]
        revival.categorySets = [["c"]]
        revival.operations = [
            Snapshot.Row(id: 3, graph: GraphID(1), user: ann, categories: 0, state: .finished, flags: .held)
        ]
        let retry = Event.retry([3], revived: revival)
        #expect(world.handle(retry) == .failure(.tooManyCategoriesOfUser(ann, limit: 3)))
        world.after(.cancel([OperationID(other)], by: "ann", reason: nil, force: false))
        #expect(world.handle(retry) == .success(.done(1)))
        world.turn()
        #expect(world.scheduler.categories.count(ofUser: ann) == 3)
    }

    @Test func `a submission beyond the limit is refused as a whole, and others are not`() {
        var world = world(limit: 5)
        #expect(throws: Never.self) { try world.handle(.submit(submission(3, of: ann))).get() }
        #expect(
            world.handle(.submit(submission(3, of: ann)))
                == .failure(.tooManyOfUser(ann, unfinished: 3, more: 3, limit: 5)))
        #expect(throws: Never.self) { try world.handle(.submit(submission(2, of: ann))).get() }
        #expect(throws: Never.self) { try world.handle(.submit(submission(5, of: bob))).get() }
        #expect(throws: Never.self) { try world.handle(.submit(submission(50, of: 0))).get() }
        world.turn()
        #expect(world.scheduler.counts.pending + world.scheduler.counts.ready == 60)
    }

    @Test func `an operation that has ended makes room in the same turn`() {
        var world = world(limit: 2)
        let first = world.add(user: ann)
        #expect(world.add(user: ann) > 0 && world.add(user: ann) == -1)
        world.turn()
        world.handle(.cancel([OperationID(2)], by: "ann", reason: nil, force: false))
        world.handle(world.exit(first))
        #expect(world.add(user: ann) > 0)
        world.turn()
        #expect(world.scheduler.partitions.members(of: ann) == 1 + (world.state(2) == nil ? 0 : 1))
    }

    @Test func `children count for the user who submits them`() {
        var world = world(limit: 2)
        let parent = world.add(user: ann)
        world.turn()
        #expect(world.add(child: parent, user: ann) > 0)
        #expect(world.add(child: parent, user: ann) == -1)
        #expect(world.add(child: parent, user: 0) > 0)
        world.turn()
    }

    @Test func `an operation that moves to another queue counts once`() {
        var world = world(limit: 2)
        world.after(.setQueue("other", QueueEdit()))
        let id = world.add(flags: .held, user: ann)
        world.after(.edit([OperationID(id)], Edit(queue: "other")))
        #expect(world.scheduler.partitions.members(of: ann) == 1)
        #expect(world.add(flags: .held, user: ann) > 0 && world.add(flags: .held, user: ann) == -1)
    }

    @Test func `a retry with more edges than its user may have is refused`() {
        var world = World(workers: 8)
        world.scheduler.registry.edgesPerUser = 1
        let other = world.add(flags: .held, user: bob)
        let failed = world.add(user: ann)
        world.turn()
        world.after(world.exit(failed, 1))
        world.add(after: [other], user: ann)
        world.turn()
        var revival = Revival()
        revival.queues = ["default"]
        let id = OperationID(failed)
        revival.operations = [Snapshot.Row(id: id, graph: GraphID(1), user: ann, state: .finished, attempt: 1)]
        revival.edges = [Snapshot.Edge(from: id, on: OperationID(other), when: .succeeded)]
        #expect(world.handle(.retry([id], revived: revival)) == .failure(.tooManyEdgesOfUser(ann, limit: 1)))
        revival.operations[0].user = bob
        #expect(world.handle(.retry([id], revived: revival)) == .success(.done(1)))
        world.turn()
    }

    @Test func `a retry beyond the limit is refused and brings nothing back`() {
        var world = world(limit: 2)
        let failed = world.add(user: ann)
        world.turn()
        world.after(world.exit(failed, 1))
        for _ in 0..<2 { world.add(flags: .held, user: ann) }
        world.turn()
        var revival = Revival()
        revival.queues = ["default"]
        revival.operations = [
            Snapshot.Row(id: OperationID(failed), graph: GraphID(1), user: ann, state: .finished, attempt: 1)
        ]
        let retry = Event.retry([OperationID(failed)], revived: revival)
        #expect(world.handle(retry) == .failure(.tooManyOfUser(ann, unfinished: 2, more: 1, limit: 2)))
        #expect(world.turn() == [])
        world.after(.setOperationsPerUser(3))
        #expect(world.handle(retry) == .success(.done(1)))
        world.turn()
        #expect(world.scheduler.partitions.members(of: ann) == 3)
    }

    @Test func `a restart counts what is there, which stays where the limit is lowered`() {
        var world = world(limit: 2) { snapshot in
            snapshot.nextOperation = 5
            snapshot.nextGraph = 2
            snapshot.operations = (1...4).map { id in
                Snapshot.Row(
                    id: OperationID(id), graph: GraphID(1), user: id < 4 ? ann : 0, state: .ready, flags: .held)
            }
        }
        #expect(world.scheduler.counts.ready == 4 && world.scheduler.partitions.members(of: ann) == 3)
        #expect(
            world.handle(.submit(submission(1, of: ann)))
                == .failure(.tooManyOfUser(ann, unfinished: 3, more: 1, limit: 2)))
        world.after(.cancel([1, 2], by: "ann", reason: nil, force: false))
        #expect(world.add(flags: .held, user: ann) > 0)
    }

    @Test func `the daemon's own user has no limit`() {
        var world = world(limit: 1) { $0.privilegedUsers = [0, ann] }
        #expect(throws: Never.self) { try world.handle(.submit(submission(9, of: ann))).get() }
        world.turn()
    }
}

import OpsCore
import Testing

/// Classic problems of dependencies with mutual exclusion, each of which makes some other scheduler hang, leak or
/// starve.
@Suite struct TrapTests {
    @Test func `a dependent in the same category may be submitted first`() {
        var world = World()
        var submission = Submission()
        submission.categorySets = [["db"]]
        submission.operations = [Draft(categories: 0), Draft(categories: 0)]
        submission.edges = [DraftEdge(from: 0, on: .local(1))]
        world.handle(.submit(submission))
        #expect(world.drain() == [2, 1])
    }

    @Test func `a dependent in the same category may be submitted second`() {
        var world = World()
        world.add(categories: ["db"])
        world.add(after: [1], categories: ["db"])
        #expect(world.drain() == [1, 2])
    }

    @Test func `a dependency in the same category may be added later`() {
        var world = World(workers: 0)
        world.add(categories: ["db"])
        world.add(categories: ["db"])
        world.turn()
        #expect(
            world.after(.addDependency(1, on: 2, when: .succeeded, finished: nil)) == [
                "edge 1 on 2 succeeded", "pending 1",
            ])
        world.handle(.setWorkers(4))
        #expect(world.drain() == [2, 1])
    }

    @Test func `cancelling one waiting operation does not stop the next`() {
        var world = World()
        for _ in 0..<3 { world.add(categories: ["db"]) }
        world.turn()
        world.after(.cancel([2], by: "root", reason: nil, force: false))
        world.after(world.exit(1))
        #expect(world.executing == [3])
    }

    @Test func `a category named twice counts once in its stricter mode`() {
        var world = World()
        world.add(categories: [CategoryUse(name: "db", mode: .shared), "db"])
        world.add(categories: [CategoryUse(name: "db", mode: .shared)])
        world.turn()
        #expect(world.executing == [1])
        #expect(world.drain() == [2])
    }

    @Test func `an operation starts when its last dependency is removed`() {
        var world = World()
        world.add(flags: .held)
        world.add(after: [1])
        world.turn()
        #expect(world.after(.removeDependency(2, on: 1)) == ["no edge 2 on 1", "ready 2", "started 2#1 slot 0"])
    }

    @Test func `a chain of a hundred thousand operations is skipped in one turn`() {
        let count = 100_000
        var world = World(workers: 1)
        var submission = Submission()
        submission.operations = [Draft](repeating: Draft(), count: count)
        submission.edges = (1..<count).map { DraftEdge(from: Int32($0), on: .local(Int32($0 - 1))) }
        world.handle(.submit(submission))
        _ = world.scheduler.endTurn(at: world.now)
        world.handle(world.exit(1, 1))
        let transition = world.scheduler.endTurn(at: world.now)
        #expect(transition.changes.count == count + 2)
        #expect(transition.changes.last.map(brief) == "finished \(count) skipped root 1 failed")
        #expect(world.scheduler.executing.isEmpty && world.scheduler.counts.pending == 0)
    }

    @Test func `a dependent submitted while its dependency finishes starts`() {
        var world = World()
        for i in 0..<5_000 {
            let first = world.add()
            if i % 2 == 0 { world.turn() }
            if i % 3 == 0 { world.handle(world.exit(first)) }
            let second = world.add(after: [first])
            world.turn()
            if i % 3 != 0 || i % 2 != 0 { world.after(world.exit(first)) }
            #expect(world.executing == [second])
            world.after(world.exit(second))
        }
    }

    @Test func `at most 16 narrow operations overtake a wide one`() {
        var world = World(workers: 8)
        world.after(.setCategory("gpu", capacity: 4))
        for _ in 0..<4 { world.add(categories: ["gpu"]) }
        world.turn()
        let wide = world.add(categories: [CategoryUse(name: "gpu", units: 4)])
        var passed = 0
        while world.state(wide) != .executing {
            world.add(categories: ["gpu"])
            world.turn()
            let before = Set(world.executing)
            world.after(world.exit(world.executing[0]))
            if !Set(world.executing).subtracting(before).isEmpty, world.state(wide) != .executing { passed += 1 }
            guard passed <= 16 else { break }
        }
        #expect(passed == 16)
        #expect(world.executing == [wide])
    }

    @Test func `a capacity near the largest number does not overflow`() {
        var world = World(workers: 8)
        world.after(.setCategory("memory", capacity: .max))
        let half = CategoryUse(name: "memory", units: 1_500_000_000)
        let holder = world.add(categories: [half])
        let waiting = world.add(categories: [half])
        world.turn()
        #expect(world.executing == [holder])
        // While a category is closed, an operation may ask for more units than it had.
        world.after(.setCategory("memory", capacity: 0))
        let closed = world.add(categories: [CategoryUse(name: "memory", units: .max)])
        world.turn()
        world.after(.setCategory("memory", capacity: .max))
        world.after(world.exit(holder))
        world.after(world.exit(waiting))
        #expect(world.executing == [closed])
    }

    @Test func `extending a timeout by the largest number does not overflow`() {
        var world = World(workers: 1)
        let id = world.add { $0.timeout = .seconds(1) }
        world.turn()
        world.after(.updated(world.attempt(id), OperationUpdate(extendTimeout: .max)))
        world.after(.suspend(.operations([OperationID(id)]), freeze: true))
        world.pass(seconds: 1)
        world.after(.resume(.operations([OperationID(id)])))
        #expect(world.executing == [id])
    }

    @Test func `at most 16 readers overtake a writer`() {
        var world = World(workers: 8)
        let reader = CategoryUse(name: "table", mode: .shared)
        world.add(categories: [reader])
        world.turn()
        let writer = world.add(categories: [CategoryUse(name: "table", mode: .exclusive)])
        var passed = 0
        for _ in 0..<40 {
            let next = world.add(categories: [reader])
            world.turn()
            if world.state(next) == .executing { passed += 1 }
            if world.executing.count > 1 { world.after(world.exit(world.executing[0])) }
        }
        #expect(passed == 16)
        #expect(
            world.scheduler.why(OperationID(writer + 30), at: world.now).map(\.detail) == [
                .reserved(category: "table")
            ])
        while let first = world.executing.first, first != writer { world.after(world.exit(first)) }
        #expect(world.executing == [writer])
    }

    @Test func `a dependency inherits the priority of a dependent until that is cancelled`() {
        var world = World(workers: 1)
        world.add()
        world.add(priority: 5)
        world.add(priority: -5)
        world.add(after: [3], priority: 50)
        world.turn()
        #expect(world.scheduler.effectivePriority(of: 3) == 50)
        world.after(.cancel([4], by: "root", reason: nil, force: false))
        #expect(world.scheduler.effectivePriority(of: 3) == -5)
        #expect(world.drain() == [1, 2, 3].filter { !world.executing.contains($0) } || world.executing.isEmpty)
    }

    @Test func `operations of a group inherit the priority of an operation that waits for its category`() {
        var world = World(workers: 1)
        var submission = Submission()
        submission.categorySets = [["db"]]
        submission.operations = [Draft(categories: 0, flags: .group), Draft(group: 0), Draft(group: 0)]
        world.handle(.submit(submission))
        world.add(priority: 10)
        world.turn()
        #expect(world.executing == [1, 4])
        world.add(categories: ["db"], priority: 20)
        world.turn()
        #expect(world.scheduler.effectivePriority(of: 2) == 20)
        world.after(world.exit(4))
        #expect(world.drain().suffix(2) == [3, 5])
    }

    @Test func `two groups do not deadlock`() {
        var world = World()
        var submission = Submission()
        submission.categorySets = [["a"], ["b"]]
        submission.operations = [
            Draft(categories: 0, flags: .group), Draft(group: 0, categories: 1), Draft(categories: 1, flags: .group),
            Draft(group: 2, categories: 0),
        ]
        world.handle(.submit(submission))
        #expect(world.drain() == [1, 2, 3, 4])
    }

    @Test func `a group waits for operations that its children depend on`() {
        var world = World()
        var submission = Submission()
        submission.categorySets = [["db"]]
        submission.operations = [Draft(categories: 0, flags: .group), Draft(group: 0), Draft(categories: 0)]
        submission.edges = [DraftEdge(from: 1, on: .local(2))]
        world.handle(.submit(submission))
        #expect(world.drain() == [3, 1, 2])
    }

    @Test func `of two groups in one category the one that the other needs goes first`() {
        var world = World()
        var submission = Submission()
        submission.categorySets = [["db"]]
        submission.operations = [
            Draft(categories: 0, flags: .group), Draft(group: 0), Draft(categories: 0, flags: .group), Draft(group: 2),
        ]
        submission.edges = [DraftEdge(from: 1, on: .local(2))]
        world.handle(.submit(submission))
        #expect(world.drain() == [3, 4, 1, 2])
    }
}

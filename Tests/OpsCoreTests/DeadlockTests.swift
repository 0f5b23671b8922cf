import OpsCore
import Testing

/// Deadlocks: a group must not hold until its end a category that the dependencies of its children need.
@Suite struct DeadlockTests {
    /// One operation of a submission: its categories, its group (or -1), its dependencies, and whether it is a group.
    struct Line {
        var categories: [CategoryUse] = []
        var group: Int32 = -1
        var after: [Int32] = []
        var isGroup = false
        var isHeld = false
    }

    func isDone(_ world: World) -> Bool {
        let counts = world.scheduler.counts
        return counts.pending + counts.ready + counts.executing == 0
    }

    func submission(_ lines: [Line]) -> Submission {
        var submission = Submission()
        for (place, line) in lines.enumerated() {
            submission.categorySets.append(line.categories)
            var flags: Draft.Flags = line.isGroup ? .group : []
            if line.isHeld { flags.insert(.held) }
            submission.operations.append(
                Draft(group: line.group, categories: line.categories.isEmpty ? -1 : Int32(place), flags: flags))
            submission.edges += line.after.map { DraftEdge(from: Int32(place), on: .local($0)) }
        }
        return submission
    }

    @Test func `an operation that children wait for starts first, however long it is held`() {
        var world = World()
        world.after(.setCategory("a", capacity: 2))
        let two = [CategoryUse(name: "a", units: 2)]
        world.handle(
            .submit(
                submission([
                    Line(categories: ["a"], isHeld: true), Line(categories: two, isGroup: true), Line(group: 1),
                    Line(group: 1, after: [0]),
                ])))
        world.turn()
        #expect(world.executing.isEmpty)
        #expect(
            world.scheduler.why(2, at: world.now) == [
                Reason(kind: .category, ids: [1], detail: .yields(category: "a"))
            ])
        world.after(.resume(.operations([1])))
        #expect(world.executing == [1])
        world.after(world.exit(1))
        #expect(world.executing == [2, 3, 4])
    }

    @Test(arguments: [true, false])
    func `a need between the children of the category's holder is refused`(inOneSubmission: Bool) {
        // 1 {a} holds 2 and 3; 4 {a} comes after 2 and before 3.
        let lines = [
            Line(categories: ["a"], isGroup: true), Line(group: 0), Line(group: 0, after: [3]),
            Line(categories: ["a"], after: [1]),
        ]
        var world = World(workers: 0)
        if inOneSubmission {
            guard case .failure(.deadlock(let circle, "a")) = world.handle(.submit(submission(lines))) else {
                Issue.record("taken")
                return
            }
            #expect(circle.first == circle.last)
            #expect(circle.contains(.local(0)) && circle.contains(.local(3)))
            return
        }
        var open = lines
        open[2].after = []
        world.handle(.submit(submission(open)))
        guard
            case .failure(.deadlock(let circle, "a")) = world.handle(
                .addDependency(3, on: 4, when: .finished, finished: nil))
        else {
            Issue.record("taken")
            return
        }
        #expect(circle.contains(.existing(1)) && circle.contains(.existing(4)))
        world.handle(.setWorkers(4))
        #expect(world.drain() == [1, 2, 3, 4])
    }

    @Test func `an edit that causes a deadlock is refused`() {
        var world = World(workers: 0)
        world.handle(
            .submit(
                submission([
                    Line(categories: ["a"], isGroup: true), Line(group: 0), Line(group: 0, after: [3]),
                    Line(after: [1]),
                ])))
        world.turn()
        guard case .failure(.deadlock(_, category: "a")) = world.handle(.edit([4], Edit(categories: ["a"]))) else {
            Issue.record("taken")
            return
        }
        #expect(world.turn() == [], "nothing of it was done")
        #expect(world.handle(.edit([4], Edit(categories: ["b"]))) == .success(.done(1)))
        world.handle(.setWorkers(4))
        #expect(world.drain() == [2, 4, 3])
    }

    @Test func `a group gets no category that the dependencies of its children need`() {
        var world = World(workers: 0)
        world.handle(
            .submit(
                submission([
                    Line(isGroup: true, isHeld: true), Line(group: 0), Line(categories: ["a"], after: [1]),
                    Line(group: 0, after: [2]),
                ])))
        world.turn()
        guard case .failure(.deadlock(_, category: "a")) = world.handle(.edit([1], Edit(categories: ["a"]))) else {
            Issue.record("taken")
            return
        }
        #expect(world.handle(.edit([1], Edit(categories: ["b"]))) == .success(.done(1)))
    }

    @Test func `children in a new group take their category within what their producer holds`() {
        var world = World()
        world.add(categories: ["a"])
        world.turn()
        var children = submission([Line(isGroup: true), Line(categories: ["a"], group: 0)])
        children.producer = 1
        children.asChildren = true
        world.handle(.submit(children))
        world.turn()
        #expect(world.executing == [1, 2, 3])
    }

    @Test func `a child that waits for a category of its producer is refused`() {
        var world = World()
        world.add(categories: ["a"])
        world.add(categories: ["a"], flags: .held)
        world.add(after: [2])
        world.turn()
        var child = Submission()
        child.operations = [Draft()]
        child.edges = [DraftEdge(from: 0, on: .existing(3))]
        child.producer = 1
        child.asChildren = true
        guard case .failure(.deadlock(let cycle, category: "a")) = world.handle(.submit(child)) else {
            Issue.record("taken")
            return
        }
        #expect(cycle.contains(.local(0)) && !cycle.contains(.existing(4)), "the child gets no id")
        #expect(world.turn() == [])
        #expect(world.scheduler.nextOperationID == 4)
    }

    @Test func `a retry that causes a deadlock is refused`() {
        var world = World()
        world.handle(
            .submit(
                submission([
                    Line(categories: ["a"], isGroup: true), Line(group: 0), Line(group: 0, isHeld: true),
                    Line(after: [1]),
                ])))
        world.turn()
        world.after(world.exit(2))
        world.after(world.exit(4, 1))
        var revival = Revival()
        revival.queues = ["default"]
        revival.categorySets = [["a"]]
        revival.operations = [
            Snapshot.Row(id: 4, graph: GraphID(1), categories: 0, state: .finished, attempt: 1, attemptsInRun: 1)
        ]
        #expect(world.handle(.addDependency(3, on: 4, when: .started, finished: nil)) == .failure(.unknownOperation(4)))
        world.handle(.retry([4], revived: revival))
        #expect(world.scheduler.state(of: 4) == .ready)
        guard
            case .failure(.deadlock(_, category: "a")) = world.handle(
                .addDependency(3, on: 4, when: .failed, finished: nil))
        else {
            Issue.record("taken")
            return
        }
    }

    /// The group was skipped because of its own child: it was made to wait for the child after the child had ended.
    @Test(arguments: [false, true]) func `a retry of a group that waits for its own child is refused`(
        _ isLockedUpElsewhere: Bool
    ) {
        var world = World(workers: 0)
        world.handle(
            .submit(submission([Line(categories: ["b"], isGroup: true, isHeld: true), Line(group: 0), Line(group: 0)])))
        world.handle(.cancel([3], by: "ann", reason: nil, force: false))
        world.turn()
        let fact = FinishedFact(outcome: .cancelled, root: 3, hasStarted: false, rootOutcome: .cancelled)
        world.handle(.addDependency(1, on: 3, when: .succeeded, finished: fact))
        world.turn()
        if isLockedUpElsewhere {
            tieByLoweredCapacity(&world)
        }
        var revival = Revival()
        revival.queues = ["default"]
        revival.categorySets = [["b"]]
        revival.operations = [
            Snapshot.Row(id: 1, graph: GraphID(1), categories: 0, state: .finished, flags: .group),
            Snapshot.Row(id: 2, graph: GraphID(1), parent: 1, state: .finished),
            Snapshot.Row(id: 3, graph: GraphID(1), parent: 1, state: .finished),
        ]
        revival.edges = [Snapshot.Edge(from: 1, on: 3, when: .succeeded)]
        let answer = world.handle(.retry([1], revived: revival))
        guard case .failure(.cycle) = answer else {
            Issue.record("taken: \(answer)")
            return
        }
    }

    /// Each of the two groups waits for an operation that depends on a child of the other group.
    @Test func `a deadlock of two groups is refused`() {
        var world = World()
        let lines = [
            Line(categories: ["a"], isGroup: true), Line(group: 0), Line(group: 0, after: [6]),
            Line(categories: ["b"], isGroup: true), Line(group: 3), Line(group: 3, after: [7]),
            Line(categories: ["a"], after: [4]), Line(categories: ["b"], after: [1]),
        ]
        guard case .failure(.deadlock) = world.handle(.submit(submission(lines))) else {
            Issue.record("taken")
            return
        }
    }

    /// 3 {a} waits for a child of 1 {b}, and 6 {a, b} must come before that child. 3 yields to 6, although it waits
    /// only for the start of 1.
    @Test func `a wait for a start is a wait for all that comes before it`() {
        var world = World()
        world.handle(
            .submit(
                submission([
                    Line(categories: ["b"], isGroup: true), Line(group: 0), Line(categories: ["a"], isGroup: true),
                    Line(group: 2, after: [1]), Line(group: 0, after: [5]), Line(categories: ["a", "b"], isHeld: true),
                ])))
        world.turn()
        #expect(world.executing.isEmpty)
        world.handle(.resume(.operations([6])))
        #expect(world.drain().first == 6)
        #expect(isDone(world))
    }

    /// 1 {a} may start only when group 4 {b} no longer needs a, because 6 {b} depends on the start of 4 and comes
    /// before the end of 1.
    @Test func `a start that would force a deadlock on other operations waits`() {
        var world = World()
        world.handle(
            .submit(
                submission([
                    Line(categories: ["a"], isGroup: true), Line(group: 0, after: [5]), Line(),
                    Line(categories: ["b"], isGroup: true, isHeld: true), Line(group: 3),
                    Line(categories: ["b"], after: [4]),
                    Line(categories: ["a"], group: 3),
                ])))
        world.turn()
        #expect(world.executing == [3])
        world.handle(.resume(.operations([4])))
        #expect(Set(world.drain()) == [1, 2, 4, 5, 6, 7])
    }

    @Test func `a group without categories lies between a holder and its children`() {
        var world = World(workers: 4)
        world.handle(
            .submit(
                submission([
                    Line(categories: ["a"], isGroup: true), Line(group: 0, isGroup: true),
                    Line(categories: ["a"], group: 1), Line(categories: ["a"], group: 1, after: [2]),
                ])))
        world.turn()
        #expect(world.executing == [1, 2, 3])
        world.after(world.exit(3))
        world.after(world.exit(4))
        #expect(isDone(world))
    }

    @Test func `nested groups share the category that the outer group holds`() {
        var world = World()
        world.handle(
            .submit(
                submission([
                    Line(categories: ["a"], isGroup: true), Line(categories: ["a"], group: 0, isGroup: true),
                    Line(categories: ["a"], group: 1), Line(group: 1, after: [2]),
                    Line(categories: ["a"], group: 0, after: [1]),
                ])))
        #expect(world.drain() == [1, 2, 3, 4, 5])
    }

    /// A group holds a category that a dependency of its last child needs, and the second unit of the category is
    /// removed.
    private func tieByLoweredCapacity(_ world: inout World) {
        world.after(.setCategory("a", capacity: 2))
        world.handle(
            .submit(
                submission([
                    Line(categories: ["a"], isGroup: true), Line(group: 0), Line(group: 0, after: [3]),
                    Line(categories: ["a"], after: [1]),
                ])))
        world.turn()
        world.after(.setCategory("a", capacity: 1))
    }

    @Test func `a deadlock by a lowered capacity is explained`() {
        var world = World(workers: 0)
        tieByLoweredCapacity(&world)
        #expect(world.executing == [1])
        let knot = Reason(kind: .category, ids: [1, 3, 4], detail: .deadlocked(category: "a"))
        #expect(world.scheduler.why(3, at: world.now).last == knot)
        #expect(world.scheduler.why(4, at: world.now).last == knot)
        world.after(.setWorkers(1))
        world.after(world.exit(2))
        #expect(world.executing == [1])
        world.after(.setCategory("a", capacity: 2))
        #expect(world.executing == [1, 4])
        world.after(world.exit(4))
        world.after(world.exit(3))
        #expect(isDone(world))
    }

    /// 1 {b} executes, and 4, a child of the group 2 {a}, is deadlocked; 6 {b} waits for 1.
    private func worldWithDeadlock() -> World {
        var world = World(workers: 1)
        world.add(categories: ["b"])
        world.turn()
        tieByLoweredCapacity(&world)
        world.add(categories: ["b"])
        world.turn()
        #expect(world.executing == [1, 2])
        return world
    }

    @Test(arguments: [[4, 6], [6, 4]] as [[OperationID]])
    func `children that close a deadlock are refused beside one that exists`(after: [OperationID]) {
        var world = worldWithDeadlock()
        var children = Submission()
        children.operations = [Draft()]
        children.producer = 1
        children.asChildren = true
        children.edges = after.map { DraftEdge(from: 0, on: .existing($0)) }
        guard case .failure(.deadlock(let cycle, category: "b")) = world.handle(.submit(children)) else {
            Issue.record("taken")
            return
        }
        #expect(cycle.contains(.existing(1)) && cycle.contains(.existing(6)))
        #expect(!cycle.contains(.existing(4)), "that one was deadlocked before")
        children.edges = [DraftEdge(from: 0, on: .existing(4))]
        #expect(world.handle(.submit(children)) == .success(.submitted(GraphID(1), first: 7, count: 1)))
    }

    @Test func `an edge that closes a deadlock is refused beside one that exists`() {
        var world = worldWithDeadlock()
        let child = OperationID(world.add(after: [4], child: 1))
        let edge = Event.addDependency(child, on: 6, when: .finished, finished: nil)
        guard case .failure(.deadlock(let cycle, category: "b")) = world.handle(edge) else {
            Issue.record("taken")
            return
        }
        #expect(cycle.contains(.existing(6)) && cycle.contains(.existing(child)))
        #expect(world.handle(.addDependency(child, on: 5, when: .finished, finished: nil)) == .success(.done(1)))
    }

    /// Each of them could run beside 3 {a:2} of three units; but 1 {a} starts before it and ends after it, and so would
    /// 5 {a}.
    @Test func `deadlock avoidance adds up the units of several holders`() {
        var world = World()
        world.after(.setCategory("a", capacity: 3))
        world.handle(
            .submit(
                submission([
                    Line(categories: ["a"], isGroup: true, isHeld: true), Line(group: 0),
                    Line(categories: [CategoryUse(name: "a", units: 2)], after: [1]), Line(group: 0, after: [2]),
                    Line(categories: ["a"], isGroup: true), Line(group: 4, after: [3]),
                ])))
        world.turn()
        #expect(world.executing.isEmpty)
        world.handle(.resume(.operations([1])))
        #expect(world.drain().contains(5))
        #expect(isDone(world))
    }

    /// Each has a reservation. 1 needs a, which the group 2 holds, which waits for 5; 5 needs d, which is reserved for
    /// 4. 4 needs c, which the group 6 holds, which waits for 8; 8 needs b, which is reserved for 1.
    @Test func `two reservations never wait for each other`() {
        var world = World(workers: 20)
        world.handle(
            .submit(
                submission([
                    Line(categories: ["a", "b"], isHeld: true), Line(categories: ["a"], isGroup: true),
                    Line(group: 1, after: [4]), Line(categories: ["c", "d"], isHeld: true),
                    Line(categories: ["d"], isHeld: true), Line(categories: ["c"], isGroup: true),
                    Line(group: 5, after: [7]), Line(categories: ["b"], isHeld: true),
                ])))
        world.turn()
        world.after(.resume(.operations([1, 4])))
        #expect(world.executing == [2, 6])
        for _ in 0..<20 {
            for category: CategoryUse in ["b", "d"] {
                let passing = world.add(categories: [category])
                world.turn()
                if world.executing.contains(passing) { world.after(world.exit(passing)) }
            }
        }
        let kept = world.add(categories: ["b"])
        world.turn()
        #expect(world.scheduler.why(OperationID(kept), at: world.now).map(\.detail) == [.reserved(category: "b")])
        world.after(.resume(.operations([5, 8])))
        #expect(world.executing == [2, 5, 6, 8])
        for id: Int64 in [5, 8] { world.handle(world.exit(id)) }
        _ = world.drain()
        #expect(isDone(world))
    }

    /// 2 holds all of the two units that 1 has. In it, 3 and 4 have no room beside each other, and each waits for a
    /// part of the other.
    @Test func `a group that holds all of the share of another one has no more room than that`() {
        func lines(units: Int32) -> [Line] {
            let inner = [CategoryUse(name: "a", units: units)]
            return [
                Line(categories: [CategoryUse(name: "a", units: 2)], isGroup: true, isHeld: true),
                Line(categories: [.exclusive("a")], group: 0, isGroup: true),
                Line(categories: inner, group: 1, isGroup: true), Line(categories: inner, group: 1, isGroup: true),
                Line(group: 2), Line(group: 2, after: [3]), Line(group: 3, after: [4]),
            ]
        }
        func isDeadlock(_ result: Result<Acceptance, Rejection>) -> Bool {
            if case .failure(.deadlock(_, category: "a")) = result { true } else { false }
        }
        var world = World()
        world.after(.setCategory("a", capacity: 8))
        let wide = world.handle(.submit(submission(lines(units: 2))))
        #expect(isDeadlock(wide))
        let narrow = world.handle(.submit(submission(lines(units: 1))))
        #expect(!isDeadlock(narrow))
        let widened = world.handle(.edit([3, 4], Edit(categories: [CategoryUse(name: "a", units: 2)])))
        #expect(isDeadlock(widened))
        world.after(.resume(.operations([1])))
        _ = world.drain()
        #expect(isDone(world))
    }

    /// Found by the torture: the group 2 {a} was overtaken sixteen times and yields to 4 {a, b}, which must not wait
    /// for a reservation of that group.
    @Test func `a group that yields has no reservation against others`() {
        var world = World(workers: 20)
        world.after(.setCategory("a", capacity: 2))
        world.add(categories: ["a"])
        let first = world.add(categories: ["a"])
        world.handle(
            .submit(
                submission([
                    Line(categories: [.exclusive("a")], isGroup: true), Line(group: 0, after: [2]),
                    Line(categories: ["a", "b"], isHeld: true),
                ])))
        world.turn()
        #expect(world.executing == [1, 2])
        var running = [1, first]
        for _ in 0..<20 {
            let next = world.add(categories: ["a"])
            world.after(world.exit(running.removeFirst()))
            if world.executing.contains(next) { running.append(next) }
            if running.isEmpty { break }
        }
        world.handle(.resume(.operations([5])))
        for id in world.executing { world.handle(world.exit(id)) }
        world.turn()
        #expect(world.executing.contains(5))
        _ = world.drain()
        #expect(isDone(world))
    }
}

extension CategoryUse {
    static func exclusive(_ name: String) -> CategoryUse { CategoryUse(name: name, mode: .exclusive) }
}

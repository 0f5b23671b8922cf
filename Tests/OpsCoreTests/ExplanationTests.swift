import OpsCore
import Testing

/// Explanations have a limited length, and contain the total number of entries.
@Suite struct ExplanationTests {
    private static let more = Limits.named + 500

    private static func submission(_ operations: [Draft], edges: [DraftEdge] = []) -> Submission {
        var submission = Submission()
        submission.categorySets = [["c"]]
        submission.operations = operations
        submission.edges = edges
        return submission
    }

    @Test func `the first dependencies are explained one by one and the rest together`() throws {
        var world = World()
        let places = (0..<Int32(Self.more))
        // Two equal edges and one on the start of the same operation are a single reason.
        let twice = [DraftEdge(from: places.upperBound, on: .local(0), when: .succeeded)]
        let started = [DraftEdge(from: places.upperBound, on: .local(0), when: .started)]
        let edges = places.map { DraftEdge(from: places.upperBound, on: .local($0)) }
        let drafts = Array(repeating: Draft(flags: .held), count: Self.more + 1)
        world.after(.submit(Self.submission(drafts, edges: twice + started + edges)))
        let reasons = world.scheduler.why(OperationID(Int64(Self.more) + 1), at: world.now)
            .filter { $0.kind == .dependency }
        #expect(reasons.count == Limits.named + 1)
        #expect(
            reasons.prefix(3).map(\.detail) == [
                .dependency(.succeeded), .dependency(.started), .dependency(.succeeded),
            ])
        #expect(reasons.prefix(3).map(\.ids) == [[1], [1], [2]])
        let last = try #require(reasons.last)
        #expect(last.count == Self.more - (Limits.named - 1))
        #expect(last.ids.count == last.count)
    }

    @Test func `only the first of many children are named`() throws {
        var world = World()
        let children = Array(repeating: Draft(group: 0, flags: .held), count: Self.more)
        world.after(.submit(Self.submission([Draft(flags: .group)] + children)))
        let reason = try #require(world.scheduler.why(1, at: world.now).first)
        #expect(reason.detail == .children)
        #expect(reason.count == Self.more)
        #expect(reason.ids == (2..<Int64(Limits.named) + 2).map { OperationID($0) })
    }

    @Test func `a category lists its holders and the first waiting operations`() throws {
        var world = World()
        world.after(.submit(Self.submission(Array(repeating: Draft(categories: 0), count: Self.more))))
        let standing = try #require(world.scheduler.categoryStandings.first)
        #expect(standing.holders == [1])
        #expect(standing.waiting == (2..<Int64(Limits.named) + 2).map { OperationID($0) })
        #expect(world.scheduler.categoryStanding(of: "c") == standing)
        #expect(world.scheduler.categoryStanding(of: "d") == nil)
    }

    @Test func `each operation of a line is told its own position`() {
        var world = World(workers: 1)
        world.after(.submit(Self.submission(Array(repeating: Draft(categories: 0), count: 4))))
        let positions = (2...4).map { id -> Int? in
            for reason in world.scheduler.why(OperationID(Int64(id)), at: world.now) {
                if case .category("c", _, 1, let position) = reason.detail { return position }
            }
            return nil
        }
        #expect(positions == [1, 2, 3])
    }

    @Test func `held operations are counted, pending and ready ones`() {
        var world = World()
        world.add(flags: .held)
        world.add(after: [1], flags: .held)
        world.add(after: [1], flags: .held)
        world.turn()
        let counts = world.scheduler.counts
        #expect(counts.setApart.heldReady == 1 && counts.setApart.heldPending == 2 && counts.setApart.held == 3)
        world.after(.resume(.operations([2])))
        #expect(world.scheduler.counts.setApart.held == 2)
    }

    @Test func `the number of explained categories is limited`() {
        var world = World()
        var submission = Self.submission((0..<Int32(Self.more)).map { Draft(categories: $0, flags: .held) })
        submission.categorySets = (0..<Self.more).map { [CategoryUse(name: "c\($0)")] }
        world.after(.submit(submission))
        #expect(world.scheduler.categoryStandings.count == Limits.named)
        #expect(world.scheduler.categoryNames.count == Self.more)
    }

    @Test func `a category that was set or is held is listed beside very many others`() {
        var world = World()
        var submission = Self.submission((0..<Int32(Self.more)).map { Draft(categories: $0, flags: .held) })
        submission.categorySets = (0..<Self.more).map { [CategoryUse(name: "c\($0)")] }
        world.after(.submit(submission))
        world.add(categories: ["y"])
        world.after(.setCategory("z", capacity: 2))
        #expect(world.scheduler.categoryStandings.map(\.name).suffix(2) == ["y", "z"])
        #expect(world.scheduler.categoryLoads.map(\.name).suffix(2) == ["y", "z"])
        #expect(world.scheduler.categoryLoads.count == Limits.named)
    }

    @Test func `conditions that nobody has evaluated yet are the reason to wait`() {
        var world = World()
        world.handle(.suspend(.daemon, freeze: false))
        world.turn()
        world.add { $0.conditions = [ConditionPolicy()] }
        world.handle(.resume(.daemon))
        let reasons = world.scheduler.why(OperationID(1), at: world.now)
        #expect(reasons.map(\.detail) == [.conditionsInLine])
    }

    @Test func `the position in line leaves out operations that are held`() {
        var world = World(workers: 1)
        world.add()
        world.turn()
        world.add(flags: .held)
        world.add()
        world.add()
        world.turn()
        let reasons = world.scheduler.why(OperationID(4), at: world.now)
        #expect(reasons.map(\.detail) == [.pool(workers: 1, position: 2)])
        #expect(reasons.first?.ids == [OperationID(1)])
    }
}

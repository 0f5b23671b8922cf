import OpsCore
import OpsStore
import Testing

/// Observers of graphs in the store.
@Suite struct GraphObserverRowTests {
    private let graph = GraphID(1)

    private func world() throws -> World {
        let world = try World()
        var submission = Submission()
        submission.operations = [Draft(), Draft()]
        var texts = SubmissionTexts(
            submission, graphName: "g", particulars: [.init(command: "[]"), .init(command: "[]")])
        texts.observers = GraphObservers(finish: #"["a"]"#, failure: #"["b"]"#)
        world.submit(texts)
        try world.commit()
        return world
    }

    private func finish(_ world: World, _ id: Int64, code: Int32 = 0) throws {
        world.start(OperationID(id))
        world.end(OperationID(id), code: code)
        try world.commit()
    }

    @Test func `observers are stored with their graph and owed until they have run`() throws {
        let world = try world()
        #expect(world.store.popObservedGraphs() == [graph])
        #expect(world.store.popObservedGraphs() == [])
        let history = try world.history()
        let observed = try #require(try history.observedGraph(graph))
        #expect(observed.observers == GraphObservers(finish: #"["a"]"#, failure: #"["b"]"#))
        #expect(observed.name == "g" && observed.count == 2 && observed.ran == [])
        try finish(world, 1, code: 2)
        let progress = try history.progress(of: graph)
        #expect(progress.unfinished == 1 && progress.outcome == nil)
        #expect(try history.unfinishedCount(of: graph) == 1)
        #expect(try history.firstFailure(of: graph, since: .zero) == OperationID(1))
        try world.store.setRan([.failure], of: graph)
        #expect(try history.graphsWithOwedObservers() == [graph])
        try finish(world, 2)
        let end = try history.progress(of: graph)
        #expect(try history.unfinishedCount(of: graph) == 0)
        #expect(end.unfinished == 0 && end.unsuccessful == 1 && end.outcome == .failed)
        try world.store.setRan([.finish], of: graph)
        #expect(try history.graphsWithOwedObservers() == [])
    }

    @Test func `finished operations are not read to find out what is left of a graph`() throws {
        let world = try World()
        var submission = Submission()
        submission.operations = Array(repeating: Draft(), count: 1000)
        world.submit(
            SubmissionTexts(submission, particulars: Array(repeating: .init(command: "[]"), count: 1000)))
        for id in Int64(1)...999 {
            world.start(OperationID(id))
            world.end(OperationID(id), code: id == 500 ? 2 : 0)
        }
        try world.commit()
        let history = try world.history()
        #expect(try history.unfinishedCount(of: graph) == 1)
        #expect(try history.firstFailure(of: graph, since: .zero) == OperationID(500))
        #expect(try history.progress(of: graph).count == 1000)
        // The reads below are interrupted after about 2000 instructions of SQLite.
        func isOver() -> Bool { true }
        #expect(try history.reading(until: isOver) { try history.unfinishedCount(of: graph) } == 1)
        let failed = try history.reading(until: isOver) { try history.firstFailure(of: graph, since: .zero) }
        #expect(failed == OperationID(500))
        #expect(throws: StoreError.self) { try history.reading(until: isOver) { try history.progress(of: graph) } }
    }

    @Test func `the last operation of a graph may be the one that failed`() throws {
        let world = try world()
        try finish(world, 2, code: 2)
        #expect(try world.history().firstFailure(of: graph, since: .zero) == OperationID(2))
    }

    @Test func `a retry after the end lets observers run once more`() throws {
        let world = try world()
        try finish(world, 1, code: 2)
        // The graph continues; an observer that has run is not run again.
        try world.store.setRan([.failure], of: graph)
        world.change(.reopened(OperationID(1), run: 2, .ready))
        world.report(.retrying, OperationID(1), graph: graph, new: .ready)
        try world.commit()
        #expect(try world.history().observedGraph(graph)?.ran == [.failure])
        try finish(world, 2)
        try world.store.setRan([.finish], of: graph)
        _ = world.store.popObservedGraphs()
        world.change(.reopened(OperationID(2), run: 2, .ready))
        world.report(.retrying, OperationID(2), graph: graph, new: .ready)
        let instant = world.now
        try world.commit()
        #expect(world.store.popObservedGraphs() == [graph])
        let observed = try #require(try world.history().observedGraph(graph))
        #expect(observed.ran == [] && observed.since == instant)
        #expect(try world.history().firstFailure(of: graph, since: instant) == nil, "an earlier failure is told")
    }

    @Test func `a graph that owes observers is not pruned`() throws {
        let world = try world()
        try finish(world, 1)
        try finish(world, 2)
        func prune() throws -> Int {
            let pruning = world.store.prune(olderThan: .distantFuture)
            for _ in 0..<100 where !pruning.isComplete { _ = try pruning.step(limit: 10) }
            return pruning.removed
        }
        #expect(try prune() == 0)
        try world.store.setRan([.finish], of: graph)
        #expect(try prune() == 2)
        #expect(try world.history().observedGraph(graph) == nil)
    }
}

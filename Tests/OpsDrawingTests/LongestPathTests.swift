import Testing

@testable import OpsDrawing

@Suite struct LongestPathTests {
    private func ran(_ drawn: DrawnGraph, _ times: [(Int64, Int64)]) -> DrawnGraph {
        var drawn = drawn
        for (index, time) in times.enumerated() {
            drawn.operations[index].startedAt = time.0
            drawn.operations[index].finishedAt = time.1
        }
        return drawn
    }

    @Test func `the dependency that finished last is on the path`() {
        let drawn = ran(graph("a", "b", "c: a b"), [(0, 5), (0, 9), (9, 12)])
        #expect(drawn.longestPath().operations == [1, 2])
    }

    @Test func `a path leads through the last child of a group`() {
        let drawn = ran(graph("g", "g/a", "g/b", "c: g"), [(0, 9), (0, 9), (0, 3), (9, 12)])
        let path = drawn.longestPath()
        #expect(path.operations == [1, 3] && path.edges.map(\.from) == [0])
    }

    @Test func `a graph that has not run has no path`() {
        #expect(graph("a", "b: a").longestPath().operations.isEmpty)
    }
}

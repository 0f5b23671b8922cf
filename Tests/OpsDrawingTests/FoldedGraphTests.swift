import Testing

@testable import OpsDrawing

@Suite struct FoldedGraphTests {
    @Test func `two hundred runs of an array are one node`() {
        let operations = (0..<200).map { DrawnOperation(id: $0, title: "run-\($0)", status: .pending) }
        let folded = FoldedGraph(DrawnGraph(title: "g", operations: operations, edges: []))
        #expect(folded.nodes.map(\.title) == ["run-0 … run-199"])
        #expect(folded.nodes[0].operations.count == 200)
    }

    @Test func `a graph of few operations is drawn whole`() {
        let operations = (0..<40).map { DrawnOperation(id: $0, title: "run-\($0)", status: .pending) }
        #expect(FoldedGraph(DrawnGraph(title: "g", operations: operations, edges: [])).nodes.count == 40)
    }

    @Test func `operations of different layers and groups stay apart`() {
        var operations = (0..<60).map { DrawnOperation(id: $0, title: "run-\($0)", status: .pending) }
        operations.append(DrawnOperation(id: 60, title: "g", status: .pending, isGroup: true))
        operations += (61..<80).map { DrawnOperation(id: $0, title: "run-\($0)", status: .pending, group: 60) }
        let edges = (30..<60).map { DrawnEdge(from: $0 - 30, to: $0, when: "succeeded") }
        let folded = FoldedGraph(DrawnGraph(title: "g", operations: operations, edges: edges))
        #expect(folded.nodes.map(\.operations.count) == [30, 30, 1, 19])
        #expect(folded.edges.keys.map { [$0.from, $0.to] } == [[0, 1]])
    }

    @Test func `seven equal operations are not folded`() {
        var operations = (0..<7).map { DrawnOperation(id: $0, title: "run-\($0)", status: .pending) }
        operations += (7..<60).map { index in
            DrawnOperation(id: index, title: String(repeating: "x", count: index), status: .pending)
        }
        #expect(FoldedGraph(DrawnGraph(title: "g", operations: operations, edges: [])).nodes.count == 60)
    }
}

import Foundation
import Testing

@testable import OpsDrawing

#if canImport(FoundationXML)
    import FoundationXML
#endif

@Suite struct GraphSVGTests {
    private func isWellFormed(_ text: String) -> Bool { XMLParser(data: Data(text.utf8)).parse() }

    @Test func `a hostile name cannot leave its text`() {
        var drawn = graph("a", "b: a")
        drawn.operations[0].title = "</text><script>alert(1)</script>\"'&\u{1}"
        let text = GraphSVG(drawn, now: 0).text()
        #expect(isWellFormed(text))
        #expect(!text.contains("<script"))
    }

    @Test(arguments: UInt64(1)...20) func `a random graph is a sound document`(_ seed: UInt64) {
        #expect(isWellFormed(GraphSVG(randomGraph(seed), now: 0).text()))
    }

    @Test func `an empty graph is a picture with its title`() {
        let text = GraphSVG(DrawnGraph(title: "g7 empty", operations: [], edges: []), now: 0).text()
        #expect(isWellFormed(text) && text.contains(">g7 empty</text>"))
    }

    @Test func `the legend counts every state`() {
        var drawn = graph("a", "b: a", "c: a")
        drawn.operations[0].status = .succeeded
        drawn.operations[1].status = .failed
        let text = GraphSVG(drawn, now: 0).text()
        #expect(text.contains("✓ succeeded 1") && text.contains("✗ failed 1") && text.contains("· pending 1"))
    }

    @Test func `ten thousand equal operations make a small picture`() {
        let operations = (0..<10_000).map { DrawnOperation(id: $0, title: "n\($0)", status: .pending) }
        #expect(GraphSVG(DrawnGraph(title: "g", operations: operations, edges: []), now: 0).text().utf8.count < 10_000)
    }

    @Test func `a picture for a page brings no style and names its operations`() throws {
        let drawn = graph("a", "b: a")
        let text = try #require(GraphSVG.page(drawn, now: 0))
        #expect(isWellFormed(text) && !text.contains("<style"))
        for operation in drawn.operations { #expect(text.contains("<g data-ids=\"\(operation.id)\">")) }
        let equal = (0..<50).map { DrawnOperation(id: $0, title: "n\($0)", status: .pending) }
        let folded = GraphSVG.page(DrawnGraph(title: "g", operations: equal, edges: []), now: 0)
        #expect(folded?.contains("data-ids=\"0,1,2,") == true)
    }

    @Test func `a graph of too many different operations has no picture for a page`() {
        let operations = (0...GraphSVG.pageLimit).map { index in
            DrawnOperation(
                id: index,
                title: String(repeating: "x", count: index % 97) + "-\(index)-"
                    + String(repeating: "y", count: index / 97), status: .pending)
        }
        #expect(GraphSVG.page(DrawnGraph(title: "g", operations: operations, edges: []), now: 0) == nil)
    }
}

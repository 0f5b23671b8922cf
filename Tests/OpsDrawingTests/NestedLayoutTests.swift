import Testing

@testable import OpsDrawing

@Suite struct NestedLayoutTests {
    private func layout(_ graph: DrawnGraph) -> (folded: FoldedGraph, layout: NestedLayout) {
        let folded = FoldedGraph(graph)
        return (folded, NestedLayout(folded, size: { _ in (120, 40) }, titleWidth: { _ in 100 }))
    }

    /// Sums of the same numbers in another order differ by less than this.
    private let rounding = 1e-6

    private func overlap(_ a: NestedLayout.Frame, _ b: NestedLayout.Frame) -> Bool {
        a.x < b.right - rounding && b.x < a.right - rounding && a.y < b.y + b.height - rounding
            && b.y < a.y + a.height - rounding
    }

    @Test func `an operation stands right of everything it waits for`() {
        let (_, layout) = layout(graph("a", "b: a", "c: a", "d: b c"))
        #expect(layout.frames[0].right < layout.frames[1].x && layout.frames[1].right < layout.frames[3].x)
        #expect(layout.frames[1].x == layout.frames[2].x)
    }

    @Test func `what follows a group stands after its box`() {
        let (_, layout) = layout(graph("g", "g/a", "g/b: g/a", "after: g"))
        #expect(layout.frames[0].right < layout.frames[3].x)
    }

    @Test func `a line into a group reaches the child and not the box of the group`() throws {
        let (_, layout) = layout(graph("a", "g", "g/x", "g/y: g/x a"))
        let stops = try #require(layout.lines[.init(from: 0, to: 3)])
        let last = try #require(stops.last)
        #expect(last.left == layout.frames[3].x && last.y == layout.frames[3].middle)
    }

    @Test func `children of one group that wait for each other through the outside are drawn`() {
        let (_, layout) = layout(graph("g", "g/a", "x: g/a", "g/b: x"))
        #expect(layout.lines.count == 2)
    }

    @Test(arguments: UInt64(1)...60) func `boxes do not overlap, and groups hold their children`(_ seed: UInt64) {
        let (folded, layout) = layout(randomGraph(seed))
        for (index, node) in folded.nodes.enumerated() {
            let frame = layout.frames[index]
            if let parent = node.parent.map({ layout.frames[$0] }) {
                #expect(frame.x >= parent.x && frame.right <= parent.right + rounding)
                #expect(frame.y >= parent.y + NestedLayout.titleHeight - rounding)
                #expect(frame.y + frame.height <= parent.y + parent.height + rounding)
            }
            for other in folded.nodes.indices where other < index && folded.nodes[other].parent == node.parent {
                #expect(!overlap(frame, layout.frames[other]), "\(node.title) and \(folded.nodes[other].title)")
            }
            #expect(frame.x >= 0 && frame.y >= -rounding)
            #expect(frame.right <= layout.width + rounding && frame.y + frame.height <= layout.height + rounding)
        }
    }

    @Test(arguments: UInt64(1)...60) func `a line runs from its operation to the one that waits, and through no box`(
        _ seed: UInt64
    ) throws {
        let (folded, layout) = layout(randomGraph(seed))
        for (edge, stops) in layout.lines {
            let first = try #require(stops.first)
            let last = try #require(stops.last)
            #expect(first.left == layout.frames[edge.from].right && last.left == layout.frames[edge.to].x)
            // Between its stops a line is level; an operation is alone in its row.
            for stop in stops.dropFirst().dropLast() where stop.right > stop.left {
                for index in folded.nodes.indices where !folded.nodes.contains(where: { $0.parent == index }) {
                    let frame = layout.frames[index]
                    let isInside = stop.y > frame.y && stop.y < frame.y + frame.height
                    #expect(!(isInside && stop.left < frame.right && frame.x < stop.right))
                }
            }
        }
    }

    @Test func `the nearest centres keep order and gap`() {
        #expect(Layers.centres(wanted: [10, 10], lengths: [4, 4], gap: 2) == [7, 13])
        #expect(Layers.centres(wanted: [0, 100], lengths: [4, 4], gap: 2) == [0, 100])
        #expect(Layers.centres(wanted: [9, 6, 3], lengths: [2, 2, 2], gap: 1) == [3, 6, 9])
    }
}

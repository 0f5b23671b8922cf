import Foundation
import Testing

@Suite struct GraphTests {
    private static let diamond = """
        {"name": "diamond", "operations": [
          {"name": "top", "command": ["true"]},
          {"name": "left", "command": ["true"], "after": ["top"]},
          {"name": "right", "command": ["true"], "after": ["top"]},
          {"name": "bottom", "command": ["true"], "after": ["left", "right"], "held": true}]}
        """

    @Test func `graph prints a graph in four formats`() throws {
        let machine = try Machine()
        let graph = try machine.graph(Self.diamond)
        try machine.ok("wait", "left", "right")
        let drawing = try machine.ok("graph", "diamond").out
        #expect(drawing.hasPrefix("\(graph) diamond\n"))
        for mark in ["✓ top", "✓ left", "✓ right", "⏸ bottom"] { #expect(drawing.contains(mark), "\(drawing)") }
        #expect(try machine.ok("graph", graph).out == drawing)
        let dot = try machine.ok("graph", graph, "--dot").out
        #expect(dot.hasPrefix("digraph ") && dot.contains("n1 -> n2") && dot.contains("n3 -> n4"))
        let svg = try machine.ok("graph", graph, "--svg").out
        #expect(svg.hasPrefix("<svg ") && svg.hasSuffix("</svg>\n") && svg.contains("bottom"))
        let picture = try machine.ok("graph", graph, "--json").object
        #expect((picture["nodes"] as? [Any])?.count == 4 && (picture["edges"] as? [Any])?.count == 4)
    }

    @Test func `graph refuses an unknown graph and two formats at once`() throws {
        let machine = try Machine()
        _ = try machine.graph(Self.diamond)
        let output = try machine.ctl("graph", "diamnod")
        #expect(output.status == 4 && output.err.contains("diamond"), "\(output.err)")
        #expect(try machine.ctl("graph", "diamond", "--dot", "--svg").status == 2)
    }

    @Test func `an operation that was not needed is not listed below the drawing`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            #"{"operations": [{"name": "good", "command": ["true"]}, "#
                + #"{"name": "cure", "command": ["true"], "after": [{"op": "good", "when": "failed"}]}]}"#)
        try machine.ok("wait", "--graph", graph)
        let drawing = try machine.ok("graph", graph).out
        #expect(drawing.contains("cure") && !drawing.contains("cure: "), "\(drawing)")
    }

    @Test func `graphs are listed without an argument`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            #"{"name": "ci", "operations": [{"command": ["true"]}, {"command": ["false"]}, {"command": ["true"], "held": true}]}"#
        )
        _ = try machine.ctl("wait", "1", "2")
        let row = try machine.ok("graph", "--json").object
        #expect(row["graph"] as? String == graph && row["name"] as? String == "ci")
        #expect(
            row["finished"] as? Int == 2 && row["unsuccessful"] as? Int == 1 && row["held"] as? Int == 1
                && row["ready"] as? Int == 0)
        #expect(try machine.ok("graph").out.contains("ci"))
        _ = try machine.submit("--delay", "1h", "--", "true")
        let later = try machine.ok("graph", "--json").lines[1]
        #expect(later.contains(#""ready":0,"scheduled":1,"held":0"#), "\(later)")
        #expect(try machine.ok("graph").lines[2].contains("1 scheduled"))
    }
}

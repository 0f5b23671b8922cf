import Testing

@testable import OpsDaemon

/// Placeholders in the graph of a schedule.
@Suite struct RunTextTests {
    private func filled(_ text: RunText, _ graph: String) throws -> String {
        String(decoding: try text.fill(Array(graph.utf8)), as: UTF8.self)
    }

    @Test func `a value replaces a placeholder, and the placeholder replaces its literal form`() throws {
        let text = RunText(["scheduled": #"at "noon""#])
        #expect(try filled(text, #"["${scheduled} $${scheduled}"]"#) == #"["at \"noon\" ${scheduled}"]"#)
        let others = #"["${file} $${file} $HOME ${scheduled:-x} $$ $"]"#
        #expect(try filled(text, others) == others)
    }

    @Test func `a text for the shell refers to the variable with a file name`() throws {
        var text = RunText(["scheduled": "noon"])
        text.add("file", "$(touch x)", in: "OPS_TRIGGER_FILE")
        let shell = #"[{"shell":"cat \"${file}\" $${file} ${scheduled}","labels":{"shell":"${file}"}}]"#
        #expect(
            try filled(text, shell)
                == #"[{"shell":"cat \"${OPS_TRIGGER_FILE}\" ${file} noon","labels":{"shell":"$(touch x)"}}]"#)
        #expect(try filled(text, #"[{"command":["${file}"]}]"#) == #"[{"command":["$(touch x)"]}]"#)
        #expect(try filled(text, #"{"shell":"${file}"}"#) == #"{"shell":"${OPS_TRIGGER_FILE}"}"#)
    }
}

import OpsWire
import Testing

@testable import opsctl

@Suite struct OperationKeysTests {
    /// Returns the keys that options give an operation, as JSON.
    private func keys(_ options: String...) throws -> String {
        var parser = Parser(["submit"] + options + ["true"])
        var text = JSONWriter()
        text.beginObject()
        try OperationKeys(arguments: try parser.parse()).write(to: &text)
        text.endObject()
        return String(decoding: text.bytes, as: UTF8.self)
    }

    @Test func `an observer is an array of texts or a text for the shell`() throws {
        #expect(
            try keys("--observer", #"failed=["page-me", "now"]"#) == #"{"observers":{"failed":["page-me","now"]}}"#)
        for text in ["[ -t 1 ] || page-me", "[1]", "page-me"] {
            #expect(
                try keys("--observer", "failed=" + text)
                    == #"{"observers":{"failed":["/bin/sh","-c","\#(text)"]}}"#)
        }
    }

    @Test func `a load that is no finite number is left to the daemon to refuse`() throws {
        #expect(try keys("--condition", "loadBelow=2") == #"{"conditions":[{"loadBelow":2.0}]}"#)
        #expect(try keys("--condition", "loadBelow=nan") == #"{"conditions":[{"loadBelow":"nan"}]}"#)
    }
}

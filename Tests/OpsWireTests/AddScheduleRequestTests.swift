import Testing

@testable import OpsWire

@Suite struct AddScheduleRequestTests {
    private func file(_ fill: (inout AddScheduleRequest) -> Void) throws -> String {
        String(decoding: try AddScheduleRequest.with(fill).graphFile().bytes, as: UTF8.self)
    }

    @Test func `the graph file of a schedule has everything that was given, except environments`() throws {
        let text = try file {
            $0.name = "nightly"
            $0.at = ["@daily", "@weekly"]
            $0.zone = "UTC"
            $0.window = "2h"
            $0.count = 3
            $0.replace = true
            $0.order = "longestPath"
            $0.defaults = RawJSON(Array(#"{"environment":{"TOKEN":"secret"},"timeout":"1h"}"#.utf8))
            $0.capture = Capture()
            $0.operations = RawElements(Array(#"[{"command":["true"],"environment":{"A":"b"}}]"#.utf8))
        }
        #expect(
            text == #"{"name":"nightly","schedule":{"at":["@daily","@weekly"],"zone":"UTC","window":"2h","count":3},"#
                + #""order":"longestPath","defaults":{"environment":"***","timeout":"1h"},"#
                + #""operations":[{"command":["true"],"environment":"***"}]}"#)
    }

    @Test func `the graph file of a trigger has no calendar`() throws {
        let text = try file {
            $0.name = "in"
            $0.onPath = "/in/*"
            $0.batch = true
        }
        #expect(text == #"{"name":"in","schedule":{"onPath":"/in/*","batch":true},"operations":[]}"#)
    }
}

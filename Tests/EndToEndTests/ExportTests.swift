import Foundation
import Testing

@Suite struct ExportTests {
    private func graph(_ machine: Machine) throws -> String {
        let graph = try machine.graph(
            """
            {"name": "nightly", "operations": [
                {"name": "build", "shell": "echo $TRACEPARENT"},
                {"name": "test", "command": ["false"], "after": ["build"], "retry": {"limit": 1, "backoff": "10ms"},
                    "labels": {"team": "data"}},
                {"name": "deploy", "command": ["true"], "after": ["test"]}]}
            """)
        _ = try machine.ctl("wait", "--graph", graph)
        return graph
    }

    private func spans(_ machine: Machine) throws -> [[String: Any]] {
        let trace = try machine.ok("export", graph(machine), "--otlp").object
        let resource = try #require((trace["resourceSpans"] as? [[String: Any]])?.first)
        let scope = try #require((resource["scopeSpans"] as? [[String: Any]])?.first)
        return try #require(scope["spans"] as? [[String: Any]])
    }

    @Test func `a trace for OpenTelemetry has the spans that processes find in TRACEPARENT`() throws {
        let machine = try Machine()
        let spans = try spans(machine)
        var ids: Set<String> = []
        for span in spans {
            let trace = try #require(span["traceId"] as? String)
            #expect(trace.wholeMatch(of: #/[0-9a-f]{32}/#) != nil)
            let id = try #require(span["spanId"] as? String)
            #expect(id.wholeMatch(of: #/[0-9a-f]{16}/#) != nil)
            #expect(ids.insert(id).inserted)
            let start = try #require(Int64(span["startTimeUnixNano"] as? String ?? ""))
            let end = try #require(Int64(span["endTimeUnixNano"] as? String ?? ""))
            #expect(start <= end)
        }
        for span in spans {
            if let parent = span["parentSpanId"] as? String { #expect(ids.contains(parent)) }
        }
        #expect(spans.count { $0["parentSpanId"] == nil } == 1)
        let found = try machine.ok("log", "build").lines[0].split(separator: "-").map(String.init)
        #expect(found.count == 4 && found[0] == "00" && found[3] == "01")
        let own = try #require(spans.first { $0["spanId"] as? String == found[2] })
        #expect(own["traceId"] as? String == found[1])
        #expect(own["name"] as? String == "attempt 1")
        let names = spans.compactMap { $0["name"] as? String }
        #expect(names.contains("RUN nightly") && names.contains("RUN test"))
        #expect(names.contains("attempt 2") && names.contains("waiting to retry"))
    }

    @Test func `each span with an error has its type, and each attempt its exit code`() throws {
        let machine = try Machine()
        let found = try spans(machine).map { span -> String in
            let attributes = span["attributes"] as? [[String: Any]] ?? []
            func value(_ key: String) -> String {
                let value = attributes.first { $0["key"] as? String == key }?["value"] as? [String: String]
                return value?.values.first ?? "-"
            }
            return "\(span["name"] as? String ?? ""): \(value("error.type")) \(value("process.exit.code"))"
        }
        #expect(
            found.filter { !$0.contains("waiting") && !$0.contains("blocked") }.sorted() == [
                "RUN build: - -", "RUN deploy: skipped -", "RUN nightly: failed -", "RUN test: failed -",
                "attempt 1: - 0", "attempt 1: failed 1", "attempt 2: failed 1",
            ])
    }

    @Test func `a trace for Chrome has times in microseconds and arrows for dependencies`() throws {
        let machine = try Machine()
        let trace = try machine.ok("export", graph(machine), "--chrome").object
        let events = try #require(trace["traceEvents"] as? [[String: Any]])
        let attempts = events.filter { $0["cat"] as? String == "attempt" }
        #expect(attempts.count == 3)
        for event in attempts {
            let start = try #require(event["ts"] as? Double)
            #expect(abs(start / 1e6 - Date().timeIntervalSince1970) < 3600)
            #expect(event["ph"] as? String == "X" && event["dur"] is Double)
        }
        #expect(events.count { $0["ph"] as? String == "s" } == events.count { $0["ph"] as? String == "f" })
    }

    @Test func `an operation that was not needed is not exported as a failure`() throws {
        let machine = try Machine()
        let graph = try machine.graph(
            """
            {"operations": [
                {"name": "deploy", "command": ["true"]},
                {"name": "alarm", "command": ["true"], "after": [{"op": "deploy", "when": "failed"}]}]}
            """)
        try machine.ok("wait", "--graph", graph)
        let spans = try machine.ok("export", graph, "--otlp").out
        #expect(spans.contains(#"{"key":"cicd.pipeline.result","value":{"stringValue":"success"}}"#))
        #expect(!spans.contains(#""code":2"#), "\(spans)")
        #expect(try machine.ok("export", graph, "--chrome").out.contains("alarm not needed"))
    }

    @Test func `a graph that runs is exported as far as it has come`() throws {
        let machine = try Machine()
        let id = try machine.submit("--name", "long", "--", "sleep", "60")
        try machine.await("started", of: id)
        #expect(try machine.ok("export", "g1", "--otlp").out.contains("\"executing\""))
        #expect(try machine.ok("export", "g1", "--chrome").out.contains("\"executing\""))
        #expect(try machine.ctl("export", "g1").status == 2)
        #expect(try machine.ctl("export", "g9", "--otlp").status == 4)
    }

    @Test func `an attempt that has failed stays failed in the trace while its operation waits`() throws {
        let machine = try Machine()
        let id = try machine.submit("--retry", "1", "--retry-backoff", "1h", "--", "false")
        try machine.await("retrying", of: id)
        func outcomes() throws -> [String] {
            let trace = try machine.ok("export", "g1", "--chrome").object
            let events = try #require(trace["traceEvents"] as? [[String: Any]])
            return events.filter { $0["cat"] as? String == "attempt" }.compactMap {
                ($0["args"] as? [String: Any])?["outcome"] as? String
            }
        }
        #expect(try outcomes() == ["failed"], "during its back-off")
        try machine.ok("cancel", "\(id)")
        #expect(try outcomes() == ["failed"], "cancelled during its back-off")
        try machine.ok("suspend")
        try machine.ok("retry", "\(id)")
        #expect(try outcomes() == ["failed"], "not started again")
        try machine.ok("cancel", "\(id)")
        try machine.ok("resume")
    }
}

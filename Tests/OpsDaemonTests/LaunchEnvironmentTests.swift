import OpsCore
import OpsExecutor
import OpsStore
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon

@Suite struct LaunchEnvironmentTests {
    private static func submission(_ operations: String, capturing variables: StringMap) -> SubmitRequest {
        var request = Client.submission(operations)
        request.terms.capture = Capture()
        request.terms.capture?.environment = variables
        request.terms.capture?.directory = "/"
        return request
    }

    private static func problem(_ failure: ReplyError?) -> Problem? {
        guard case .control(.invalidOperation(let problems)) = failure else { return nil }
        return problems.first
    }

    @Test(arguments: [("NOTIFY_SOCKET=x", "1"), ("OPS_ID=7", ""), ("", "1"), ("A\0B", "1"), ("A", "1\0OPS_ID=7")])
    func `captured variables are checked as those of an operation are`(name: String, value: String) throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let request = Self.submission(#"[{"command":["true"]}]"#, capturing: StringMap([(name, value)]))
        #expect(Self.problem(try client.refusal(request))?.key == "capture.environment")
    }

    @Test(arguments: ["NOTIFY_SOCKET", "OPS_ID", "OPS_SOCKET", "OPS_RESULT_A"])
    func `variables that opsd sets are refused by name`(name: String) throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let own = try client.refusal(Client.submission(#"[{"command":["true"],"environment":{"\#(name)":"1"}}]"#))
        #expect(Self.problem(own)?.key == "environment.\(name)")
        #expect(Self.problem(own)?.index == 0)
        var request = Client.submission(#"[{"command":["true"]}]"#)
        let defaults = Array(#"{"environment":{"\#(name)":"1"}}"#.utf8)
        request.terms.defaults = try scan(defaults) { scanner throws(InvalidParameter) in
            try RawJSON(from: &scanner)
        }
        #expect(Self.problem(try client.refusal(request))?.key == "environment.\(name)")
        // The user did not choose the variables of the shell that submits.
        let captured = Self.submission(#"[{"command":["true"]}]"#, capturing: StringMap([(name, "1"), ("A", "2")]))
        let id = try client.call(captured).first
        #expect(try client.call(.with { $0.ref = "\(id)" } as ShowRequest).operation.environment == ["A": "2"])
        _ = try client.submit(#"[{"command":["true"],"environment":{"OPS_INDEX":"1"}}]"#)
    }

    @Test(arguments: [3, 300]) func `an environment is laid over another one`(count: Int) {
        var variables = StringMap((0..<count).map { ("A\($0)", "captured") })
        variables.override(with: StringMap((1..<(count + 1)).map { ("A\($0)", "own") }))
        #expect(variables.entries.map(\.name) == (0...count).map { "A\($0)" })
        #expect(variables.entries.map(\.value) == ["captured"] + Array(repeating: "own", count: count))
    }

    /// Returns the variables of a launch, sorted.
    private func variables(_ fixture: Fixture, units: [UnitVariable] = []) throws -> [String] {
        let composer = LaunchComposer(
            socket: "/s", logs: fixture.daemon.logs, logCap: 0, store: fixture.daemon.store,
            history: fixture.daemon.history, authorization: fixture.daemon.authorization)
        let texts = LaunchTexts(
            name: "a", graph: GraphID(1), queue: "default", command: #"["true"]"#,
            details: #"{"environment":{"OPS_ID":"7","NOTIFY_SOCKET":"/x","B":"2"}}"#,
            environment: #"{"OPS_SOCKET":"/x","A":"1","NOTIFY_SOCKET=y":"1","OPS_INDEX":"5"}"#, uid: 0, gid: 0,
            user: "root", hasDependencies: false)
        let request = try composer.launch(
            AttemptID(OperationID(3), 1), slot: 0, Policy(), texts, namesSlot: false, units: units)
        var words: [String] = []
        request.environment.visit { words.append(String(decoding: $0, as: UTF8.self)) }
        return words.sorted()
    }

    @Test func `a launch has each variable of opsd once`() throws {
        let fixture = try Fixture()
        let trace = TraceContext.trace(instance: fixture.daemon.store.instance, graph: 1)
        let span = TraceContext.span(trace: trace, operation: 3, attempt: 1)
        #expect(
            try variables(fixture) == [
                "A=1", "B=2", "OPS_ATTEMPT=1", "OPS_GRAPH=g1", "OPS_ID=3", "OPS_INDEX=5", "OPS_NAME=a",
                "OPS_QUEUE=default", "OPS_SOCKET=/s",
                "TRACEPARENT=\(TraceContext.parent(trace: trace, span: span))",
            ])
    }

    @Test func `texts that differ only in their bytes are those of their own operation`() throws {
        let fixture = try Fixture()
        let composer = LaunchComposer(
            socket: "/s", logs: fixture.daemon.logs, logCap: 0, store: fixture.daemon.store,
            history: fixture.daemon.history, authorization: fixture.daemon.authorization)
        for name in ["\u{e9}", "e\u{301}"] {
            let texts = LaunchTexts(
                name: "a", graph: GraphID(1), queue: "default", command: #"["true"]"#,
                details: #"{"directory":"/\#(name)"}"#, environment: #"{"V":"\#(name)"}"#, uid: 0, gid: 0,
                user: "root", hasDependencies: false)
            let request = try composer.launch(
                AttemptID(OperationID(3), 1), slot: 0, Policy(), texts, namesSlot: false, units: [])
            var words: [ExactText] = []
            request.environment.visit { words.append(ExactText(String(decoding: $0, as: UTF8.self))) }
            #expect(words.contains(ExactText("V=\(name)")))
            #expect(ExactText(request.directory) == ExactText("/\(name)"))
        }
    }

    @Test func `categories that write one variable write their units together`() throws {
        let units = [
            UnitVariable(category: "my-cat", value: "0,1", export: "CVD"),
            UnitVariable(category: "my.cat", value: "7", export: nil),
            UnitVariable(category: "x", value: "2", export: "CVD"),
        ]
        let words = try variables(Fixture(), units: units).filter { $0.contains("UNITS") || $0.hasPrefix("CVD") }
        #expect(words == ["CVD=0,1,2", "OPS_UNITS_MY_CAT=0,1,7", "OPS_UNITS_X=2"])
    }
}

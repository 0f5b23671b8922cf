import Testing

@testable import OpsWire

/// Returns the problems of these operations of a graph.
func problems(_ operations: String, defaults: String? = nil) -> [GraphProblem] {
    var decoder = GraphDecoder(defaults: defaults.map { Array($0.utf8) }, now: .zero)
    decoder.add(Array(operations.utf8))
    do throws(GraphRefusal) {
        _ = try decoder.finish()
        return []
    } catch { return error.problems }
}

@Suite struct GraphProblemTests {
    private func said(_ operations: String, defaults: String? = nil) -> [String] {
        problems(operations, defaults: defaults).map {
            "\($0.index.map(String.init) ?? "-") \($0.name ?? "-") \($0.key ?? "-"): \($0.message)"
        }
    }

    @Test(arguments: [
        (#""a b""#, #"contains " ": only A-Z a-z 0-9 _ . : / - are allowed"#),
        (#""gr\u00fcn""#, #"contains "ü": only A-Z a-z 0-9 _ . : / - are allowed"#),
        (#""""#, "has 0 characters: a name has 1 to 200"),
        ("\"" + String(repeating: "x", count: 201) + "\"", "has 201 characters: a name has 1 to 200"),
        (#""12""#, "must not be all digits: that would be an id"),
    ]) func `a refused name is shown with what is wrong`(name: String, reason: String) {
        #expect(said(#"[{"name": \#(name), "command": ["x"]}]"#) == ["0 - name: \(reason)"])
    }

    @Test(arguments: [
        (#""timeout": "99999999999h""#, "timeout: longer than 36525d, the maximum"),
        (#""timeout": "-5m""#, "timeout: must not be negative"), (#""timeout": -1"#, "timeout: must not be negative"),
        (#""deadline": "99999999999h""#, "deadline: longer than 36525d, the maximum"),
        (
            #""conditions": [{"window": "06:00-6:00"}]"#,
            "conditions[0].window: the window is empty: it begins and ends at the same time"
        ),
        (
            #""retry": {"limit": 1, "exitCodes": []}"#,
            "retry.exitCodes: must not be empty; leave it out to retry after every exit code"
        ),
        (#""set": {"A": "1"}"#, #"set: belongs to "include""#),
    ]) func `the refusal of a value says what is wrong with it`(member: String, reason: String) {
        #expect(said(#"[{"command": ["x"], \#(member)}]"#) == ["0 - \(reason)"])
    }

    /// In YAML, the end of the list is not where it was written.
    @Test(arguments: [#""retry": {"limit": 1, "exitCodes":  []}"#, #""successCodes":  []"#])
    func `the position of an empty list is its beginning`(member: String) throws {
        let text = #"[{"command": ["x"], \#(member)}]"#
        let list = try #require(text.firstRange(of: "[]"))
        let expected: [Int?] = [text.utf8.distance(from: text.startIndex, to: list.lowerBound)]
        #expect(problems(text).map(\.offset) == expected)
    }

    @Test func `a number or a truth value in place of a text is refused with the advice to use quotes`() {
        let operation = #"""
            {"name": 1, "command": ["sleep", 1], "environment": {"N": 4}, "labels": {"v": 1.10},
             "directory": true}
            """#
        let keys = ["name", "command[1]", "environment.N", "labels.v", "directory"]
        #expect(said("[\(operation)]") == keys.map { "0 - \($0): expected a string; put the value in quotes" })
        #expect(said(#"[{"name": [], "command": ["x"]}]"#) == ["0 - name: expected a string"])
    }

    @Test func `a refused reference is shown`() {
        #expect(
            said(#"[{"command": ["x"], "after": ["a b"]}]"#) == [
                #"0 - after[0]: "a b" is not a name, an id or "name@graph""#
            ])
    }

    @Test func `escapes in a command do not count as bytes`() {
        let argument = String(repeating: #"\u00e9"#, count: Limits.commandBytes / 4)
        #expect(problems(#"[{"command": ["\#(argument)"]}]"#).isEmpty)
        let two = #"[{"command": ["\#(argument)", "\#(argument)"]}]"#
        #expect(problems(two).first?.message == "longer than \(Limits.commandBytes) bytes")
    }

    @Test func `all problems of a graph are reported at once`() {
        let said = said(
            #"""
            [{"comand": ["x"], "timeout": "5x", "name": "first"},
             {"name": "second", "command": ["x"], "shell": "y", "after": ["frist", "second"]},
             {"name": "first", "command": ["x"], "limit": 3},
             {"name": "group", "operations": [{"name": "inner"}, 7], "stdin": "/x", "grace": 5}]
            """#, defaults: #"{"umsk": "022", "name": "x"}"#)
        #expect(
            said == [
                #"- - defaults.umsk: unknown key; did you mean "umask"?"#,
                #"- - defaults.name: is not possible in defaults: it belongs to a single operation"#,
                #"0 first comand: unknown key; did you mean "command"?"#,
                #"0 first timeout: not a duration such as "90s", "1h30m", "250ms" or a number of seconds"#,
                #"1 second shell: there is also a "command"; only one of them is possible"#,
                #"1 second after: no operation of this graph is named "frist"; did you mean "first"?"#,
                #"1 second after: waits for itself"#,
                #"2 - name: "first" is already used by operation 1"#,
                #"2 - limit: only a group (with "operations") has a limit"#,
                #"3 group stdin: a group has no process; give it to the operations inside"#,
                #"3 group grace: a group has no process; give it to the operations inside"#,
                #"4 inner -: has no "command", "shell", "http" or "operations""#,
                #"5 - -: an operation must be an object"#,
            ])
    }

    /// Member of an operation with several errors, and their paths.
    static let manyErrors: [(String, [String])] = [
        (#""command": ["x", 1, 2]"#, ["command[1]", "command[2]"]),
        (
            #""http": {"url": "ftp://h/f", "sha256": "12", "limitRate": 0}"#,
            ["http.url", "http.sha256", "http.limitRate", "http.to"]
        ),
        (
            #""after": ["a b", 7, {"when": "x", "if": 1}, {"when": "y"}]"#,
            ["after[0]", "after[2].when", "after[2].if", "after[3].when", "after[3].op"]
        ),
        (
            #""categories": ["", "db", {"name": "", "units": 0}, {"mode": "x"}]"#,
            ["categories[0]", "categories[2].name", "categories[2].units", "categories[3].mode", "categories[3].name"]
        ),
        (
            #""conditions": [{"pathExist": "/"}, {"loadBelow": "x", "every": 0}, {"otherwise": "stop"}]"#,
            [
                "conditions[0].pathExist", "conditions[1].loadBelow", "conditions[1].every", "conditions[2].otherwise",
                "conditions[2]",
            ]
        ),
        (
            #""conditions": [{"exec": ["x", 1, 2]}, {"not": {"freeSpace": {"path": 1, "atLeast": "x"}}}]"#,
            [
                "conditions[0].exec[1]", "conditions[0].exec[2]", "conditions[1].not.freeSpace.path",
                "conditions[1].not.freeSpace.atLeast",
            ]
        ),
        (
            #""conditions": [{"pathExists": "", "window": "x"}, {"newer": {"inputs": [1, 2], "outputs": []}}]"#,
            [
                "conditions[0].pathExists", "conditions[0].window", "conditions[1].newer.inputs[0]",
                "conditions[1].newer.inputs[1]", "conditions[1].newer.outputs",
            ]
        ),
        (
            #""observers": {"begin": ["x"], "start": [], "finish": ["x", 1, 2], "failed": [1, ""]}"#,
            [
                "observers.begin", "observers.start", "observers.finish[1]", "observers.finish[2]",
                "observers.failed[0]",
            ]
        ),
        (#""environment": {"A": 1, "B": 2, "C=": "x"}"#, ["environment.A", "environment.B", "environment.C="]),
        (#""labels": {"a": 1, "b": "x", "b": "y", "c=": ""}"#, ["labels.a", "labels.b", "labels.c="]),
        (#""limits": {"nice": 99, "mem": 1, "cpuQuota": 5}"#, ["limits.nice", "limits.mem", "limits.cpuQuota"]),
        (
            #""secrets": {"A": {"fil": 1, "file": ""}, "B": "x", "B": {"file": "x"}}"#,
            ["secrets.A.fil", "secrets.A.file", "secrets.B", "secrets.B"]
        ),
        (
            #""slurm": {"cpus": 0, "args": ["-H", "--hold"], "x": 1}"#,
            ["slurm.cpus", "slurm.args[0]", "slurm.args[1]", "slurm.x"]
        ),
        (#""output": {"stdout": 1, "stderr": ""}"#, ["output.stdout", "output.stderr"]),
        (
            #""retry": {"limit": "x", "backoff": "y", "on": ["a", "b"], "exitCodes": [256, -1]}"#,
            [
                "retry.limit", "retry.backoff", "retry.on[0]", "retry.on[1]", "retry.exitCodes[0]",
                "retry.exitCodes[1]",
            ]
        ),
        (
            #""retry": {"backoff": "y", "scale": {"timeout": 0, "memory": 2}}"#,
            ["retry.backoff", "retry.scale.timeout", "retry.scale.memory", "retry.limit"]
        ),
        (#""successCodes": [-1, 0, 256]"#, ["successCodes[0]", "successCodes[2]"]),
    ]

    @Test(arguments: manyErrors) func `all errors of a value are reported with their paths`(
        member: String, paths: [String]
    ) {
        let isTransfer = member.hasPrefix(#""http""#)
        let command = isTransfer || member.hasPrefix(#""command""#) ? "" : #", "command": ["x"]"#
        #expect(problems("[{\(member)\(command)}]").map(\.key) == paths)
        guard !isTransfer else { return }
        let ofDefaults = problems(#"[{"shell": "x"}]"#, defaults: "{\(member)}")
        #expect(ofDefaults.map(\.key) == paths.map { "defaults.\($0)" })
    }

    @Test func `a very long key is not repeated in the paths of many errors`() {
        let secret = #"{"a": 1, "b": 2}"#
        for (length, count) in [(Limits.nameBytes, 2), (Limits.nameBytes + 1, 1)] {
            let name = String(repeating: "X", count: length)
            #expect(problems(#"[{"command": ["x"], "secrets": {"\#(name)": \#(secret)}}]"#).count == count)
        }
    }

    @Test func `all errors of an edit are reported with their paths`() throws {
        let changes = JSONObject([
            .init("retry", try JSONValue(Array(#"{"limit": "x", "backoff": "y"}"#.utf8))),
            .init("successCodes", try JSONValue(Array("[-1, 256]".utf8))),
            .init("command", try JSONValue(Array(#"["x", 1, 2]"#.utf8))),
        ])
        do throws(GraphRefusal) {
            _ = try OperationEdit(changes, now: .zero)
            Issue.record("it was accepted")
        } catch {
            #expect(
                error.problems.map(\.key) == [
                    "retry.limit", "retry.backoff", "successCodes[0]", "successCodes[1]", "command[1]", "command[2]",
                ])
        }
    }

    @Test func `all errors of the observers of a graph are reported with their paths`() {
        do throws(JSONError) {
            _ = try GraphObserverCommands(json: #"{"finish": ["x", 1, 2], "start": ["x"], "failure": []}"#.utf8)
            Issue.record("they were accepted")
        } catch {
            let paths = ["finish[1]", "finish[2]", "start", "failure"].map { "observers.\($0)" }
            #expect(error.all.map(\.path) == paths)
        }
    }

    @Test func `operations that wrong conditions provide count, and their errors are reported`() {
        let found = problems(
            #"""
            [{"command": ["x"], "conditions": [
                {"loadBelow": "x", "provide": {"command": [1]}},
                {"provide": {"command": [2]}, "pathExists": "/x"},
                {"loadBelow": "x", "provide": {"command": [3]}, "silent": true}]},
             {"name": "next", "command": [4]}]
            """#)
        #expect(
            found.map { "\($0.index ?? -1) \($0.key ?? "-")" } == [
                "0 conditions[0].loadBelow", "0 conditions[2].loadBelow", "1 command[0]", "2 command[0]",
                "3 command[0]",
            ])
        #expect(found.last?.name == "next")
    }

    @Test func `the number of reported problems is limited`() {
        let many = "[\(Array(repeating: "{\"x\": 1}", count: 5000).joined(separator: ","))]"
        #expect(problems(many).count == Limits.problems)
        let unknown =
            "[{\"name\":\"a\",\"command\":[\"x\"],\"after\":[\((0..<500).map { "\"n\($0)\"" }.joined(separator: ","))]},{\"command\":[\"y\"]}]"
        #expect(problems(unknown).count == Limits.problems)
        let numbers = Array(repeating: "1", count: 5000).joined(separator: ",")
        #expect(problems("[{\"command\":[\(numbers)]},{\"command\":[1]}]").count == Limits.problems)
        let conditions = "{\"not\":{\"exec\":[\(numbers)]}}"
        #expect(problems("[{\"shell\":\"x\",\"conditions\":[\(conditions),\(conditions)]}]").count == Limits.problems)
    }

    @Test func `the offset of a problem points at the mistake`() {
        let text = #"[{"command": ["x"], "priority": 101}, {"command": [1, "x", {"y": 2}, 3]}]"#
        let bytes = Array(text.utf8)
        let found = problems(text)
        #expect(
            found.map { String(decoding: bytes[($0.offset ?? 0)...].prefix(3), as: UTF8.self) } == [
                "101", "1, ", "{\"y", "3]}",
            ])
    }

    @Test(arguments: [
        "[", "[{", "[{\"command\":[\"x\"]}", "[{\"command\":[\"x\"]},]", "[{\"name\":}]", "{}", "", "[] []",
        "[{\"name\":\"\u{1}\"}]", "[{\"command\":[1,2,tru]}]",
        "[{\"shell\":\"x\",\"conditions\":[{\"not\":{\"exec\":[1,2}}]}]",
    ])
    func `malformed JSON is one problem with an offset`(text: String) {
        let found = problems(text)
        #expect(found.count == 1)
        #expect(found.first?.offset != nil)
    }

    @Test func `an empty graph is refused`() { #expect(said("[]") == ["- - -: there are no operations"]) }

    @Test func `unknown queues are reported with the other problems`() {
        var decoder = GraphDecoder(now: .zero)
        decoder.add(
            Array(
                #"""
                [{"name": "a", "command": ["x"], "queue": "mian"}, {"name": "b", "comand": ["x"]},
                 {"name": "c", "command": ["x"], "queue": "mian"}, {"command": ["x"], "queue": "main"}]
                """#.utf8))
        do throws(GraphRefusal) {
            _ = try decoder.finish { ["default", "main"] }
            Issue.record("it was taken")
        } catch {
            #expect(error.problems.map(\.name) == ["a", "b"])
            #expect(error.problems.first?.key == "queue")
            #expect(error.problems.first?.message == "there is no queue \"mian\"; did you mean \"main\"?")
        }
    }

    @Test func `repeated dependencies are stored once`() throws {
        let others = (0..<40).map { "{\"name\":\"o\($0)\",\"command\":[\"x\"]}" }.joined(separator: ",")
        let refs = (0..<40).flatMap {
            ["\"o\($0)\"", "{\"op\":\"o\($0)\"}", "{\"op\":\"o\($0)\",\"when\":\"finished\"}"]
        }
        var decoder = GraphDecoder(now: .zero)
        decoder.add(Array("[{\"command\":[\"y\"],\"after\":[\(refs.joined(separator: ","))]},\(others)]".utf8))
        let graph = try decoder.finish()
        #expect(graph.edges.count == 80)
        #expect(Set(graph.edges.map { "\($0.target) \($0.when)" }).count == 80)
    }

    @Test func `a name that no operation of the graph has refers to an earlier operation`() throws {
        var decoder = GraphDecoder(now: .zero)
        decoder.add(Array(#"[{"name": "x", "command": ["y"], "after": ["build"]}]"#.utf8))
        let graph = try decoder.finish()
        #expect(graph.externals == ["build"])
        #expect(said(#"[{"name": "x", "command": ["y"], "after": ["x"]}]"#) == ["0 x after: waits for itself"])
    }

    @Test func `an operation does not wait for itself because of after in defaults`() throws {
        var decoder = GraphDecoder(defaults: Array(#"{"after": ["setup"], "command": ["x"]}"#.utf8), now: .zero)
        decoder.add(Array(#"[{"name": "a"}, {"name": "setup"}, {"name": "b", "after": []}]"#.utf8))
        #expect(try decoder.finish().edges == [GraphInput.Edge(from: 0, on: 1, when: .succeeded)])
    }

    @Test func `an operation does not wait for a group around it because of after in defaults`() throws {
        var decoder = GraphDecoder(defaults: Array(#"{"after": ["prep"], "command": ["x"]}"#.utf8), now: .zero)
        decoder.add(
            Array(#"[{"operations": [{"operations": [{}]}, {"after": ["prep"]}], "name": "prep"}, {}]"#.utf8))
        #expect(
            try decoder.finish().edges == [
                GraphInput.Edge(from: 3, on: 0, when: .succeeded), GraphInput.Edge(from: 4, on: 0, when: .succeeded),
            ], "own dependencies stay, and are refused later")
    }

    @Test func `an operation does not wait for one whose condition provides it because of after in defaults`() throws {
        var decoder = GraphDecoder(defaults: Array(#"{"after": ["use"], "command": ["x"]}"#.utf8), now: .zero)
        let inner = #"{"conditions": [{"pathExists": "/y", "provide": {"operations": [{}]}}]}"#
        let conditions = #"[{"pathExists": "/x", "provide": \#(inner)}]"#
        decoder.add(Array(#"[{"operations": [{"conditions": \#(conditions), "name": "use"}, {}]}, {}]"#.utf8))
        let graph = try decoder.finish()
        #expect(graph.operations.map(\.parent) == [-1, 0, 0, 0, 3, 0, -1])
        #expect(
            graph.edges == [
                GraphInput.Edge(from: 2, on: 3, when: .finished), GraphInput.Edge(from: 1, on: 2, when: .finished),
                GraphInput.Edge(from: 5, on: 1, when: .succeeded), GraphInput.Edge(from: 6, on: 1, when: .succeeded),
            ])
    }

    @Test func `the memory of default dependencies is counted before they are stored`() {
        let names = (0..<1000).map { "\"n\($0)\"" }.joined(separator: ",")
        var decoder = GraphDecoder(defaults: Array("{\"after\": [\(names)], \"command\": [\"x\"]}".utf8), now: .zero)
        let before = decoder.heldBytes
        decoder.add(Array("[\(Array(repeating: "{}", count: 100).joined(separator: ","))]".utf8))
        let hasMore = decoder.step()
        #expect(!hasMore && decoder.heldBytes - before >= 100_000 * MemoryLayout<GraphInput.Edge>.stride)
    }

    @Test func `defaults are counted at once, and read in the first step`() {
        let names = (0..<1000).map { "\"n\($0)\"" }.joined(separator: ",")
        let defaults = Array("{\"after\": [\(names)], \"command\": [\"x\"]}".utf8)
        var decoder = GraphDecoder(defaults: defaults, now: .zero)
        #expect(decoder.heldBytes >= defaults.count && decoder.input.names.count == 0)
        let hasMore = decoder.step()
        #expect(!hasMore && decoder.input.names.count == 1000 && decoder.waitingBytes == 0)
    }

    private func nested(_ depth: Int, _ innermost: String = #"{"command":["x"]}"#) -> String {
        "[" + String(repeating: "{\"operations\":[", count: depth) + innermost
            + String(repeating: "]}", count: depth) + "]"
    }

    /// Returns an operation with a condition that provides an operation, which has such a condition, and so on.
    private func providing(_ depth: Int) -> String {
        let conditions = depth > 0 ? #","conditions":[{"pathExists":"p","provide":\#(providing(depth - 1))}]"# : ""
        return #"{"command":["x"],"retry":{"limit":1,"scale":{"timeout":2}}\#(conditions)}"#
    }

    @Test func `groups that are nested too deeply are refused`() {
        #expect(problems(nested(Limits.groupDepth)).isEmpty)
        for depth in [Limits.groupDepth + 1, 40] {
            #expect(problems(nested(depth)).map(\.message) == ["groups are nested more than 32 deep"])
        }
        let messages = ["nested more than \(Limits.depth) deep", "groups are nested more than 32 deep"]
        #expect(problems(nested(100_000)).map(\.message) == messages)
    }

    @Test func `provided operations that are nested too deeply are refused`() {
        #expect(problems("[\(providing(Limits.providedDepth))]").isEmpty)
        let found = problems("[\(providing(Limits.providedDepth + 1))]")
        #expect(found.map(\.key) == ["conditions[0].provide"])
        #expect(found.map(\.message) == ["provided operations are nested more than 4 deep"])
    }

    @Test func `a message has room for the deepest groups with the deepest values`() throws {
        let operations = nested(Limits.groupDepth, providing(Limits.providedDepth))
        let message = #"{"method":"org.opsd.Control.Submit","parameters":{"operations":\#(operations)}}"#
        guard case .submit(let request) = try ControlRequest(try Call(frame: Array(message.utf8))) else {
            Issue.record("it is another call")
            return
        }
        #expect(problems(String(decoding: request.operations.bytes, as: UTF8.self)).isEmpty)
    }

    @Test func `an operation that includes a file has no other problem`() {
        #expect(said(#"[{"include": "tests.yaml", "limit": 2}]"#).count == 1)
    }

    @Test func `the environment in defaults is stored once, apart from the operations`() throws {
        var decoder = GraphDecoder(defaults: Array(#"{"environment": {"A": "1"}, "directory": "/d"}"#.utf8), now: .zero)
        decoder.add(Array(#"[{"command": ["x"], "environment": {"B": "2"}}, {"command": ["y"]}]"#.utf8))
        let graph = try decoder.finish()
        #expect(graph.environment == ["A": "1"])
        #expect(
            graph.operations.map { graph.details[$0.details] } == [
                #"{"directory":"/d","environment":{"B":"2"}}"#, #"{"directory":"/d"}"#,
            ])
    }

    @Test func `an edit accepts the keys that may change and refuses the others`() throws {
        let edit = try OperationEdit(
            JSONObject([
                .init("priority", "high"), .init("queue", "slow"), .init("timeout", "5m"), .init("deadline", nil),
                .init("categories", []), .init("notBefore", "10s"),
            ]), now: .zero + .nanoseconds(100))
        #expect(edit.priority == 4)
        #expect(edit.queue == "slow")
        #expect(edit.categories == [])
        var stored = Policy()
        stored.deadline = .zero + .nanoseconds(5)
        stored.grace = .nanoseconds(7)
        stored.timeout = .nanoseconds(9)
        let policy = edit.applied(to: stored)
        #expect(policy.deadline == nil && policy.grace == .nanoseconds(7) && policy.timeout == .seconds(300))
        #expect(policy.notBefore == .zero + .nanoseconds(10_000_000_100))
        #expect(
            throws: GraphRefusal(problems: [
                GraphProblem(key: "directory", message: "cannot be changed any more"),
                GraphProblem(key: "prioriti", message: "unknown key; did you mean \"priority\"?"),
                GraphProblem(key: "timeout", message: "must be longer than 0"),
            ])
        ) {
            try OperationEdit(
                JSONObject([.init("directory", "/x"), .init("prioriti", 1), .init("timeout", 0)]), now: .zero)
        }
        #expect(throws: GraphRefusal.self) { try OperationEdit(JSONObject(), now: .zero) }
    }
}

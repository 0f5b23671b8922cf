import OpsClient
import OpsWire
import Testing

@testable import opsctl

@Suite struct GraphFileTests {
    private func file(_ text: String) throws(Failure) -> GraphFile {
        try GraphFile(GraphText(path: "g.json", json: Array(text.utf8)))
    }

    private func refusal(_ text: String) -> String? {
        do throws(Failure) {
            _ = try file(text)
            return nil
        } catch {
            #expect(error.status == .refused)
            return error.lines.joined(separator: "\n")
        }
    }

    @Test func `an object, an array and lines of operations give the same graph`() throws {
        let operation = #"{"command":["true"]}"#
        for text in [
            #"{"name":"x","operations":[\#(operation),\#(operation)]}"#, "[\(operation),\n\(operation)]",
            "\(operation)\n\(operation)\n",
        ] {
            let graph = try file(text)
            #expect(
                graph.operations.map { String(decoding: graph.bytes[$0], as: UTF8.self) } == [operation, operation])
        }
        #expect(try file(operation).operations.count == 1, "a single object with a command is an operation")
    }

    @Test func `all errors of a graph are reported at once`() throws {
        #expect(
            refusal(#"{"one": 1, "two": 2, "order": "zzz", "operations": [{"command": ["a"]}]}"#) == """
                opsctl: g.json:1:2: unknown key "one" of a graph
                opsctl: g.json:1:12: unknown key "two" of a graph
                opsctl: g.json:1:31: the order of a graph must be "submission" or "longestPath"
                """)
    }

    @Test func `errors of a graph and of its operations are reported at once`() {
        #expect(
            refusal("{\"x-none\":1,\n\"operations\":[\n{\"command\":[\"x\"],\"bogus\":1},\n2,\n3]}") == """
                opsctl: g.json:1:2: unknown key "x-none" of a graph
                opsctl: g.json:4:1: an operation must be an object
                opsctl: g.json:5:1: an operation must be an object
                opsctl: g.json:3:18: operation 1, key bogus: unknown key
                """)
    }

    @Test func `errors of a graph and of the values of its operations are reported at once`() {
        let text = """
            {"name": 5,
             "defaults": {"barrier": 1},
             "operations": [
            {"name": "alpha", "command": ["x", 1]},
            {"command": ["x"], "after": ["alpha", "omega"]}]}
            """
        #expect(
            refusal(text) == """
                opsctl: g.json:1:10: the name of a graph must be a text
                opsctl: g.json:2:15: key defaults.barrier: expected true or false
                opsctl: g.json:4:36: operation alpha, key command[1]: expected a string; put the value in quotes
                opsctl: g.json:5:20: operation 2, key after: no operation of this graph is named "omega"
                """)
    }

    @Test func `keys and names for an included file are not reported beside an error of the graph`() {
        let operations = #"[{"include": "x.yaml", "limit": 2}, {"command": ["a"], "after": ["of-the-file"]}]"#
        #expect(
            refusal(#"{"bogus": 1, "operations": \#(operations)}"#)
                == "opsctl: g.json:1:2: unknown key \"bogus\" of a graph, correct the file and submit it again")
    }

    @Test func `keys that occur twice in a YAML file are reported with the other errors`() throws {
        let text = try GraphText.parse(
            "g.yaml",
            Array("name: a\nname: b\noperations:\n  - {name: x, command: [1], name: y}\n".utf8), .yaml)
        do throws(Failure) {
            _ = try GraphFile(text)
            Issue.record("it was accepted")
        } catch {
            #expect(
                error.lines == [
                    "opsctl: g.yaml:2:1: the key \"name\" occurs twice",
                    "opsctl: g.yaml:4:29: the key \"name\" occurs twice",
                    "opsctl: g.yaml:4:25: operation x, key command[0]: expected a string; put the value in quotes",
                ])
        }
    }

    @Test func `a name that a graph cannot have is refused with its position`() {
        #expect(
            refusal("{\"operations\": [{\"command\": [\"a\"]}],\n \"name\": \"g7\"}")
                == "opsctl: g.json:2:10: the name of the graph must not be g and digits: that would be an id, correct the file and submit it again"
        )
    }

    @Test func `a problem of a part of a value is reported with the position of that part`() throws {
        let graph = try file(
            """
            {"observers": {"finish": [
               1]},
             "operations": [
              {"command": ["x"], "after": ["a",
                {"op": "b",
                 "when": "c"}],
               "retry": {"limit": 1, "scale": {
                 "limits.memory": 0}},
               "environment": {"A": "1",
                 "A": "2"}}
            ]}
            """)
        let paths = ["after[1].when", "after[9]", "retry.scale.limits.memory", "retry.max", "environment.A"]
        var problems = paths.map { path in Problem.with { ($0.index, $0.key, $0.message) = (0, path, "is wrong") } }
        problems.append(.with { ($0.key, $0.message) = ("observers.finish[0]", "is wrong") })
        let located = graph.located(Failure(.refused(.control(.invalidOperation(problems)))))
        #expect(
            located.problems.map(\.place) == [
                "g.json:6:6", "g.json:4:22", "g.json:8:6", "g.json:7:4", "g.json:10:6", "g.json:2:4",
            ])
    }

    /// Returns position and key of each problem that the daemon would report.
    private func problems(of graph: GraphFile) -> [String] {
        let submission = graph.submission
        var decoder = GraphDecoder(defaults: submission.terms.defaults?.bytes, now: .zero)
        decoder.add(submission.elements.bytes)
        do throws(GraphRefusal) {
            _ = try decoder.finish()
            return []
        } catch {
            return graph.located(Failure(.refused(.control(error.error)))).problems.map {
                "\($0.place ?? "-") \($0.problem.key ?? "-")"
            }
        }
    }

    /// Name and text of a file, and the positions of its errors.
    static let wrongGraphs: [(String, String, [String])] = [
        (
            "g.json",
            """
            // All of it is wrong.
            {"defaults": {"labels": {"a": 1,
                "b": 2}},
             "operations": [
              {"name": "a", "command": ["x", 1,
                 2],
               "environment": {"A": 1, "B": 2},
               "successCodes": [-1, 256,],
               "retry": {"limit": "x",
                 "backoff": "y"},
               "conditions": [{"pathExist": "/"},
                 {"loadBelow": "x"}]},
              {"command": ["x"], "observers": {"begin": ["x"],
                "start": []}}
            ]}
            """,
            [
                "2:26", "3:5", "5:34", "6:6", "7:20", "7:28", "8:21", "8:25", "9:14", "10:6", "11:20", "12:7", "13:36",
                "14:5",
            ]
        ),
        (
            "g.yaml",
            """
            # All of it is wrong.
            defaults:
              labels: {a: 1, b: 2}
            operations:
              - name: a
                command: [x, 1, 2]
                environment:
                  A: 1
                  B: 2
                successCodes: [-1, 256]
                retry: {limit: x, backoff: y}
                conditions:
                  - pathExist: /
                  - loadBelow: x
              - command: [x]
                observers: {begin: [x], start: []}
            """,
            [
                "3:12", "3:18", "6:18", "6:21", "8:7", "9:7", "10:20", "10:24", "11:13", "11:23", "13:9", "14:9",
                "16:17", "16:29",
            ]
        ),
    ]

    @Test(arguments: wrongGraphs)
    func `each error of a graph is reported with its line and column`(
        path: String, text: String, positions: [String]
    ) throws {
        let keys = [
            "defaults.labels.a", "defaults.labels.b", "command[1]", "command[2]", "environment.A", "environment.B",
            "successCodes[0]", "successCodes[1]", "retry.limit", "retry.backoff", "conditions[0].pathExist",
            "conditions[1].loadBelow", "observers.begin", "observers.start",
        ]
        let graph = try GraphFile(GraphText.parse(path, Array(text.utf8), nil))
        #expect(problems(of: graph) == zip(positions, keys).map { "\(path):\($0) \($1)" })
    }

    @Test func `the position of a key with a dot is not that of another key before the dot`() throws {
        let graph = try file("[{\"command\": [\"x\"], \"labels\": {\n\"app.name\": 1,\n\"app\": 2}}]")
        #expect(problems(of: graph) == ["g.json:2:1 labels.app.name", "g.json:3:1 labels.app"])
    }

    @Test func `problems of defaults and of operations for conditions are reported with their lines`() throws {
        let graph = try file(
            """
            {"defaults": {
              "bogus": 1},
             "operations": [
              {"name": "a", "command": ["true"], "conditions": [
                {"pathExists": "/a", "silent": true, "provide": {"command": ["s"]}},
                {"pathExists": "/b", "provide": {"name": "p",
                  "command": ["p"]}}]},
              {"name": "b", "command": ["true"]}
            ]}
            """)
        let problems: [Problem] = [
            .with { ($0.key, $0.message) = ("defaults.bogus", "unknown key") },
            .with { ($0.key, $0.message) = ("defaults.queue", "is from an option") },
            .with { ($0.index, $0.name, $0.key, $0.message) = (1, "p", "command", "is wrong") },
            .with { ($0.index, $0.name, $0.message) = (2, "b", "is wrong") },
        ]
        #expect(
            graph.located(Failure(.refused(.control(.invalidOperation(problems))))).lines == [
                "opsctl: g.json:2:3: key defaults.bogus: unknown key",
                "opsctl: g.json: key defaults.queue: is from an option",
                "opsctl: g.json:7:7: operation p, key command: is wrong", "opsctl: g.json:8:3: operation b: is wrong",
            ])
    }

    @Test func `the refusal of a malformed graph file names line and column`() throws {
        #expect(
            refusal("{\n \"operations\": [\n  {\"command\": [\"a\"],}]}")
                == "opsctl: g.json:3:21: unexpected '}', correct the file and submit it again")
        #expect(
            refusal("\nroot:x:0:0\n")
                == "opsctl: g.json:2:1: unexpected 'r', a graph file begins with { or [; if it is YAML, use --format yaml"
        )
        #expect(
            refusal("[1]")
                == "opsctl: g.json:1:2: an operation must be an object, correct the file and submit it again")
        #expect(
            refusal("{\"operation\":[]}")
                == "opsctl: g.json:1:2: unknown key \"operation\" of a graph; did you mean \"operations\"?, correct the file and submit it again"
        )
        #expect(
            refusal("{\"operations\":[{\"command\":[\"a\"]}],\n\"operations\":[]}")
                == "opsctl: g.json:2:1: the key \"operations\" of a graph occurs twice, correct the file and submit it again"
        )
        #expect(try file(#"{"name":null,"defaults":null,"operations":[{"command":["a"]}]}"#).name == nil)
        #expect(refusal("  \n")?.contains("contains no operations") == true)
    }

    @Test func `problems are reported with their lines`() throws {
        let graph = try file(
            """
            {"operations": [
              {"name": "a", "command": ["true"]},
              {"name": "g", "operations": [
                {"name": "c",
                 "queue": "x", "command": ["true"]}]},
              {"name": "d", "command": ["true"]}
            ]}
            """)
        func problem(_ index: Int, _ name: String, _ key: String?, _ message: String) -> Problem {
            .with { ($0.index, $0.name, $0.key, $0.message) = (index, name, key, message) }
        }
        let problems = [problem(2, "c", "queue", "no queue x"), problem(3, "d", nil, "is wrong")]
        let failure = Failure(.refused(.control(.invalidOperation(problems))))
        #expect(
            graph.located(failure).lines == [
                "opsctl: g.json:5:6: operation c, key queue: no queue x", "opsctl: g.json:6:3: operation d: is wrong",
            ])
    }

    @Test(
        arguments: [
            ("[1, 2,]", "[1, 2 ]"), ("[1,/* , */]", "[1        ]"), ("{\"a\": 1, // x\n}", "{\"a\": 1      \n}"),
            ("[\"// x\", \"a,]\", \"\\\",]\"]", nil), ("[,]", nil), ("[1,,]", nil), ("{\"a\":,}", nil),
            ("[1] /* x", nil),
        ] as [(String, String?)])
    func `comments and trailing commas become blanks, and everything else stays`(text: String, blanked: String?) {
        #expect(String(decoding: JSONComments.blanked(Array(text.utf8)), as: UTF8.self) == blanked ?? text)
    }

    @Test func `a large file of another kind is refused soon`() {
        let list = "[" + String(repeating: "1,\n", count: 200_000) + "1]"
        #expect(refusal(list)?.split(separator: "\n").count == Limits.problems + 1)
        let object = "{" + (1...20_000).map { "\"k\($0)\":1" }.joined(separator: ",\n") + "}"
        #expect(refusal(object)?.split(separator: "\n").count == Limits.problems + 1)
    }

    @Test func `a duration of a schedule may be a number of seconds`() throws {
        let text = #"{"schedule": {"settle": 0.5, "window": 60, "poll": "5m"}, "operations": [{"command": ["a"]}]}"#
        var request = AddScheduleRequest()
        var keys = ScheduleKeys(try file(text))
        keys.fill(&request)
        #expect(keys.problems.isEmpty)
        #expect([request.settle, request.window, request.poll] == ["0.5s", "60s", "5m"])
    }

    @Test func `a key of a schedule that occurs twice is refused`() throws {
        let text = #"{"schedule": {"at": "@daily", "at": "@weekly"}, "operations": [{"command": ["a"]}]}"#
        var request = AddScheduleRequest()
        var keys = ScheduleKeys(try file(text))
        keys.fill(&request)
        #expect(keys.failure?.lines == ["opsctl: g.json:1:31: the key \"at\" of a schedule occurs twice"])
    }

    @Test func `the refusal of a call that is nested too deeply names the limit`() {
        let failure = Failure(.refused(.service(.invalidParameter(""))))
        #expect(failure.status == .refused)
        #expect(failure.lines == ["opsctl: the daemon cannot read the call, nest it at most \(Limits.depth) deep"])
    }

    @Test func `variables are replaced inside strings`() throws {
        let filled = try Substitution([Pair("A=x\"y"), Pair("B=2")].compactMap { $0 })
            .fill(GraphText(path: "g.json", json: Array(#"{"shell":"${A} $${A} ${A:-z} $B ${B}"}"#.utf8)))
        #expect(String(decoding: filled.bytes, as: UTF8.self) == #"{"shell":"x\"y ${A} ${A:-z} $B 2"}"#)
    }

    @Test func `an unknown variable is named`() throws {
        let substitution = Substitution([Pair("VERSION=1")].compactMap { $0 })
        do throws(Failure) {
            _ = try substitution.fill(GraphText(path: "g.json", json: Array("{\n\"a\":\"${VERSIO}\"}".utf8)))
            Issue.record("it was filled")
        } catch {
            #expect(
                error.lines == [
                    "opsctl: g.json:2:6: ${VERSIO} has no value, did you mean ${VERSION}? give --set VERSIO=VALUE, "
                        + "or write $${VERSIO} for a literal ${VERSIO}"
                ])
        }
    }

    @Test(arguments: [
        ("A", true), ("_a1", true), ("1A", false), ("A-B", false), ("", false), ("\u{e9}", false), ("OPS_ID", false),
    ]) func `the name of a placeholder has letters, digits and underscores`(name: String, isPossible: Bool) throws {
        #expect((Substitution.complaint(aboutName: name) == nil) == isPossible)
        let text = GraphText(path: "-", json: Array("[\"${\(name)}\"]".utf8))
        let filled = try Substitution([Pair(key: name, value: "x")]).fill(text)
        #expect((String(decoding: filled.bytes, as: UTF8.self) == "[\"x\"]") == isPossible)
    }

    @Test func `all gaps without a value are named together`() throws {
        do throws(Failure) {
            _ = try Substitution([]).fill(GraphText(path: "-", json: Array("[\"${A} ${B}\", \"${A}\"]".utf8)))
            Issue.record("it was filled")
        } catch {
            #expect(error.lines.first?.contains("${A}, ${B} have no value") == true, "\(error.lines)")
            #expect(error.lines.first?.contains("$${A}") == true)
        }
    }

    @Test func `forms of the shell and variables of opsd are left to the shell`() throws {
        let text = "[\"${A:-x} ${A-x} ${OPS_ID} $A ${} ${1} $${A} ${A\"]"
        let filled = try Substitution([Pair("A=1")].compactMap { $0 }).fill(
            GraphText(path: "-", json: Array(text.utf8)))
        #expect(String(decoding: filled.bytes, as: UTF8.self) == "[\"${A:-x} ${A-x} ${OPS_ID} $A ${} ${1} ${A} ${A\"]")
    }

    @Test func `names that opsd replaces are left to it in both forms`() throws {
        let text = "[\"${scheduled} $${scheduled} ${A} $${A}\"]"
        let filled = try Substitution([Pair("A=1")].compactMap { $0 }, later: ["scheduled"]).fill(
            GraphText(path: "-", json: Array(text.utf8)))
        #expect(String(decoding: filled.bytes, as: UTF8.self) == "[\"${scheduled} $${scheduled} 1 ${A}\"]")
        #expect(
            Substitution.literal("${scheduled} ${scheduledBefore} ${A}") == "$${scheduled} $${scheduledBefore} ${A}")
    }
}

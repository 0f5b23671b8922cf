import Testing

@testable import OpsWire

/// Every key of an operation: values that are accepted, and values that are refused with the path of the mistake.
@Suite struct OperationKeyTests {
    struct Forms: Sendable {
        var key: String
        var taken: [String]
        /// Value, and the key that the problem names.
        var refused: [(String, String)]
    }

    static let wrongArgv: [(String, String)] = [
        ("[]", ""), ("\"ls -l\"", ""), ("[1]", "[0]"), ("[\"\"]", "[0]"), (#"["a","\u0000"]"#, "[1]"), ("{}", ""),
    ]

    static let forms: [Forms] = [
        Forms(
            key: "name",
            taken: ["\"a\"", "\"A.b_c:d/e-1\"", "\"\(String(repeating: "x", count: 200))\"", "\"1a\"", #""\u0061""#],
            refused: [
                "\"\"", "\"12\"", "\"a b\"", "\"a@g1\"", "\"ä\"", "12",
                "\"\(String(repeating: "x", count: 201))\"",
            ]
            .map { ($0, "name") }),
        Forms(
            key: "command", taken: ["[\"true\"]", "[\"a\",\"\",\"\\n\"]", "[\"\"]"],
            // A program that does not exist is accepted; its attempt fails.
            refused: wrongArgv.filter { $0.0 != "[\"\"]" }.map { ($0, "command" + $1) }),
        Forms(
            key: "shell", taken: ["\"true; false\"", "\" \""],
            refused: ["\"\"", "[\"true\"]", "1", #""a\u0000b""#].map { ($0, "shell") }),
        Forms(
            key: "queue", taken: ["\"main\"", "\"12\""],
            refused: ["\"\"", "\"a b\"", "1", "[]"].map { ($0, "queue") }),
        Forms(
            key: "priority", taken: ["-100", "100", "0", "\"veryLow\"", "\"high\""],
            refused: ["101", "-101", "1.5", "\"hihg\"", "true", "\"1\""].map { ($0, "priority") }),
        Forms(
            key: "qos", taken: ["\"userInteractive\"", "\"default\"", "\"background\""],
            refused: ["\"Default\"", "1"].map { ($0, "qos") }),
        Forms(
            key: "after",
            taken: [
                "[]", "[12]", "[\"12\", \"b@g3\", \"b@nightly\", \"b@a graph@night\"]",
                #"[{"op": 3, "when": "started"}]"#,
            ],
            refused: [
                ("12", "after"), ("[0]", "after[0]"), ("[-1]", "after[0]"), ("[1.5]", "after[0]"),
                ("[\"\"]", "after[0]"),
                ("[\"012\"]", "after[0]"), ("[\"a b\"]", "after[0]"), ("[\"@g\"]", "after[0]"),
                ("[\"a@\"]", "after[0]"), (#"["a@b\u0007"]"#, "after[0]"),
                ("[1, {}]", "after[1].op"), (#"[{"op": 1, "when": "done"}]"#, "after[0].when"),
                (#"[{"op": 1, "if": 1}]"#, "after[0].if"), (#"[{"op": null}]"#, "after[0].op"), ("[null]", "after[0]"),
            ]),
        Forms(
            key: "categories",
            taken: ["[]", "[\"db\"]", #"[{"name": "gpu", "units": 3}]"#, #"[{"name": "db", "mode": "shared"}, "db"]"#],
            refused: [
                ("\"db\"", "categories"), ("[\"\"]", "categories[0]"), ("[1]", "categories[0]"),
                ("[{}]", "categories[0].name"),
                (#"[{"name": "x", "units": 0}]"#, "categories[0].units"),
                (#"[{"name": "x", "mode": "any"}]"#, "categories[0].mode"),
                (#"[{"name": "x", "mode": "shared", "units": 2}]"#, "categories[0]"),
                (#"[{"nam": "x"}]"#, "categories[0].nam"),
                ("[\((0...32).map { "\"c\($0)\"" }.joined(separator: ","))]", "categories"),
            ]),
        Forms(
            key: "barrier", taken: ["true", "false"],
            refused: [("1", "barrier"), ("\"true\"", "barrier")]),
        Forms(key: "held", taken: ["true", "false"], refused: [("0", "held"), ("\"yes\"", "held")]),
        Forms(
            key: "conditions",
            taken: [
                "[]", #"[{"pathExists": "/x"}]"#,
                #"[{"reachable": "h:80"}, {"reachable": "[::1]:80", "otherwise": "wait"}]"#,
                #"[{"exec": ["true"], "timeout": "10s", "every": 3}]"#,
                #"[{"freeSpace": {"path": "/", "atLeast": "1G"}}]"#,
                #"[{"loadBelow": 4}, {"loadBelow": 0.5}]"#, #"[{"memoryAvailable": "1G", "otherwise": "skip"}]"#,
                #"[{"window": "22:00-06:00"}, {"window": "6:00-24:00"}]"#, #"[{"dependenciesSucceeded": true}]"#,
                #"[{"not": {"not": {"pathExists": "x"}}}]"#,
                #"[{"pathExists": "x", "provide": {"command": ["y"]}, "silent": false}]"#,
            ],
            refused: [
                ("{}", "conditions"), ("[{}]", "conditions[0]"), ("[1]", "conditions[0]"),
                (#"[{"pathExists": ""}]"#, "conditions[0].pathExists"),
                (#"[{"pathExist": "x"}]"#, "conditions[0].pathExist"),
                (#"[{"pathExists": "x", "window": "1:00-2:00"}]"#, "conditions[0].window"),
                (#"[{"reachable": "host"}]"#, "conditions[0].reachable"),
                (#"[{"reachable": "h:0"}]"#, "conditions[0].reachable"),
                (#"[{"reachable": "h:+80"}]"#, "conditions[0].reachable"),
                (#"[{"reachable": ":80"}]"#, "conditions[0].reachable"),
                (#"[{"reachable": "::1:80"}]"#, "conditions[0].reachable"),
                (#"[{"exec": "true"}]"#, "conditions[0].exec"),
                (#"[{"exec": ["true"], "timeout": 0}]"#, "conditions[0].timeout"),
                (#"[{"pathExists": "x", "timeout": 1}]"#, "conditions[0].timeout"),
                (#"[{"freeSpace": {"path": "/"}}]"#, "conditions[0].freeSpace.atLeast"),
                (#"[{"freeSpace": {"path": "/", "atLeast": -1}}]"#, "conditions[0].freeSpace.atLeast"),
                (#"[{"newer": {"inputs": []}}]"#, "conditions[0].newer.outputs"),
                (#"[{"newer": {"inputs": [], "outputs": []}}]"#, "conditions[0].newer.outputs"),
                (#"[{"loadBelow": 0}]"#, "conditions[0].loadBelow"),
                (#"[{"loadBelow": "4"}]"#, "conditions[0].loadBelow"),
                (#"[{"memoryAvailable": "1X"}]"#, "conditions[0].memoryAvailable"),
                (#"[{"window": "22:00"}]"#, "conditions[0].window"),
                (#"[{"window": "25:00-26:00"}]"#, "conditions[0].window"),
                (#"[{"window": "1:00-1:00"}]"#, "conditions[0].window"),
                (#"[{"window": "24:00-0:00"}]"#, "conditions[0].window"),
                (#"[{"window": "+1:00-2:00"}]"#, "conditions[0].window"),
                (#"[{"dependenciesSucceeded": false}]"#, "conditions[0].dependenciesSucceeded"),
                (#"[{"not": {}}]"#, "conditions[0].not"),
                (#"[{"not": {"otherwise": "skip"}}]"#, "conditions[0].not.otherwise"),
                (#"[{"pathExists": "x", "otherwise": "stop"}]"#, "conditions[0].otherwise"),
                (#"[{"pathExists": "x"}, {"pathExists": "x", "every": 0}]"#, "conditions[1].every"),
                (#"[{"pathExists": "x", "provide": "y"}]"#, "conditions[0].provide"),
                ("[\(Array(repeating: #"{"pathExists": "x"}"#, count: 17).joined(separator: ","))]", "conditions"),
            ]),
        Forms(
            key: "observers", taken: ["{}", #"{"start": ["a"], "produce": ["b"], "finish": ["c", "d"]}"#],
            refused: [
                ("[]", "observers"), (#"{"end": ["a"]}"#, "observers.end"), (#"{"start": "a"}"#, "observers.start"),
            ]),
        Forms(
            key: "completion", taken: ["\"exit\"", "\"notify\""],
            refused: [("\"never\"", "completion"), ("true", "completion")]),
        Forms(
            key: "timeout", taken: ["\"90s\"", "1.5", "3600"],
            refused: ["0", "-1", "\"\"", "\"5x\"", "\"0s\"", "true", "1e300"].map { ($0, "timeout") }),
        Forms(key: "grace", taken: ["0", "\"1m\""], refused: [("-1", "grace"), ("\"x\"", "grace")]),
        Forms(
            key: "deadline", taken: ["\"2h\"", "5", "\"2030-01-01T00:00:00Z\"", "\"2030-01-01T00:00:00+02:00\""],
            refused: ["0", "\"2030-01-01\"", "\"tomorrow\"", "[]", "\"2030-02-30T00:00:00Z\""].map { ($0, "deadline") }),
        Forms(
            key: "notBefore", taken: ["0", "\"10m\"", "\"2030-01-01T00:00:00.5Z\""],
            refused: [("-1", "notBefore"), ("\"noon\"", "notBefore")]),
        Forms(
            key: "retry",
            taken: [
                #"{"limit": 0}"#,
                #"{"limit": 3, "backoff": "1s", "factor": 2, "max": "5m", "jitter": 0.1, "on": ["failed","timedOut","interrupted"], "exitCodes": [1,2]}"#,
                #"{"limit": 2, "scale": {"limits.memory": 2, "timeout": 1.5, "limits.cpuQuota": 1}}"#,
                #"{"limit": 2, "scale": {}}"#,
            ],
            refused: [
                (#"{"limit": 1, "scale": 2}"#, "retry.scale"),
                (#"{"limit": 1, "scale": {"limits.memory": 0.5}}"#, "retry.scale.limits.memory"),
                (#"{"limit": 1, "scale": {"timeout": "2"}}"#, "retry.scale.timeout"),
                (#"{"limit": 1, "scale": {"timeout": 1001}}"#, "retry.scale.timeout"),
                (#"{"limit": 1, "scale": {"limits.nice": 2}}"#, "retry.scale.limits.nice"),
                (#"{"limit": 1, "scale": {"memory": 2}}"#, "retry.scale.memory"),
                (#"{"limit": 1, "scale": {"timeout": 2, "timeout": 2}}"#, "retry.scale.timeout"),
                ("3", "retry"), ("{}", "retry.limit"), (#"{"limit": -1}"#, "retry.limit"),
                (#"{"limit": 1, "factor": 0.5}"#, "retry.factor"),
                (#"{"limit": 1, "jitter": 1.1}"#, "retry.jitter"),
                (#"{"limit": 1, "on": ["cancelled"]}"#, "retry.on[0]"),
                (#"{"limit": 1, "on": "failed"}"#, "retry.on"),
                (#"{"limit": 1, "exitCodes": [256]}"#, "retry.exitCodes[0]"),
                (#"{"limit": 1, "exitCodes": []}"#, "retry.exitCodes"),
                (#"{"limit": 1, "backof": "1s"}"#, "retry.backof"), (#"{"limit": 1, "limit": 2}"#, "retry.limit"),
                (#"{"limit": 1, "max": "-5m"}"#, "retry.max"),
            ]),
        Forms(
            key: "successCodes", taken: ["[0]", "[0, 3, 255]"],
            refused: [
                ("[]", "successCodes"), ("0", "successCodes"), ("[256]", "successCodes[0]"),
                ("[0, -1]", "successCodes[1]"),
            ]),
        Forms(key: "leftovers", taken: ["\"kill\"", "\"wait\"", "\"leave\""], refused: [("\"keep\"", "leftovers")]),
        Forms(key: "key", taken: ["\"nightly-2026\""], refused: [("\"\"", "key"), ("1", "key")]),
        Forms(
            key: "environment", taken: ["{}", #"{"A": "1", "B_C": ""}"#],
            refused: [
                ("[]", "environment"), (#"{"A": 1}"#, "environment.A"), (#"{"": "1"}"#, "environment"),
                (#"{"A=B": "1"}"#, "environment.A=B"), (#"{"A": "\u0000"}"#, "environment.A"),
                (#"{"A": "1", "A": "2"}"#, "environment.A"),
            ]),
        Forms(
            key: "directory", taken: ["\"/tmp\"", "\"build\""],
            refused: [("\"\"", "directory"), ("1", "directory"), (#""a\u0000""#, "directory")]),
        Forms(
            key: "umask", taken: ["\"022\"", "\"0077\"", "\"0\""],
            refused: ["22", "\"8\"", "\"1000\"", "\"\"", "\"+22\"", "\"-0\"", "\"00022\""].map { ($0, "umask") }),
        Forms(key: "stdin", taken: ["\"/dev/zero\""], refused: [("\"\"", "stdin")]),
        Forms(
            key: "output",
            taken: [
                "\"log\"", "\"split\"", "\"journal\"", "\"null\"", #"{"stdout": "o", "stderr": "e"}"#,
                #"{"stdout": "o"}"#,
            ],
            refused: [
                ("\"file\"", "output"), ("{}", "output"), (#"{"out": "x"}"#, "output.out"),
                (#"{"stdout": 1}"#, "output.stdout"), ("1", "output"),
            ]),
        Forms(key: "user", taken: ["\"nobody\""], refused: [("\"\"", "user"), ("0", "user")]),
        Forms(
            key: "executor", taken: ["\"cluster\"", "\"local\""],
            refused: [("\"\"", "executor"), ("1", "executor")]),
        Forms(
            key: "http",
            taken: [
                #"{"url": "https://h/f", "to": "f"}"#,
                "{\"url\": \"HTTP://h/f\", \"to\": \"/f\", \"sha256\": \"\(String(repeating: "aB", count: 32))\", "
                    + "\"headersFile\": \"h\", \"limitRate\": \"1M\"}",
                #"{"url": "http://[::1]:8080?a=b@c:d", "to": "f"}"#, #"{"url": "http://h:/f@g", "to": "f"}"#,
            ],
            refused: [
                ("1", "http"), (#"{"to": "f"}"#, "http.url"), (#"{"url": "http://h/f"}"#, "http.to"),
                (#"{"url": "ftp://h/f", "to": "f"}"#, "http.url"), (#"{"url": "http://", "to": "f"}"#, "http.url"),
                (#"{"url": "http://:80/f", "to": "f"}"#, "http.url"),
                (#"{"url": "http://u:p@h/f", "to": "f"}"#, "http.url"),
                (#"{"url": "http://u:p@\u0301h/f", "to": "f"}"#, "http.url"),
                (#"{"url": "http://h:99999/f", "to": "f"}"#, "http.url"),
                (#"{"url": "http://h:+80/f", "to": "f"}"#, "http.url"),
                (#"{"url": "http://h/f", "to": "d/"}"#, "http.to"),
                (#"{"url": "http://h/f", "to": "f", "sha256": "12"}"#, "http.sha256"),
                (
                    #"{"url": "http://h/f", "to": "f", "sha256": "a\#(String(repeating: "１", count: 21))"}"#,
                    "http.sha256"
                ),
                (#"{"url": "http://h/f", "to": "f", "limitRate": 0}"#, "http.limitRate"),
            ]),
        Forms(
            key: "slurm",
            taken: [
                "{}", #"{"cpus": 4, "memory": "8G", "gpus": 1, "nodes": 2, "tasks": 2, "partition": "p"}"#,
                #"{"account": "a", "qos": "q", "constraint": "c", "args": ["--gres=gpu:1", "--exclusive"]}"#,
                #"{"pack": 20}"#,
            ],
            refused: [
                (#"{"cpus": 0}"#, "slurm.cpus"), (#"{"pack": 0}"#, "slurm.pack"), (#"{"pack": 1001}"#, "slurm.pack"),
                (#"{"memory": "1K"}"#, "slurm.memory"),
                (#"{"partition": "-p"}"#, "slurm.partition"), (#"{"time": "1h"}"#, "slurm.time"),
                (#"{"args": ["--comment=x"]}"#, "slurm.args[0]"), (#"{"args": ["--comm=x"]}"#, "slurm.args[0]"),
                (#"{"args": ["--comment=\u0301=x"]}"#, "slurm.args[0]"),
                (#"{"args": ["--hold"]}"#, "slurm.args[0]"), (#"{"args": ["-H"]}"#, "slurm.args[0]"),
                (#"{"args": ["--array=1-3"]}"#, "slurm.args[0]"), (#"{"args": ["--wrap=true"]}"#, "slurm.args[0]"),
                (#"{"args": ["--export=ALL"]}"#, "slurm.args[0]"), (#"{"args": ["--requeue"]}"#, "slurm.args[0]"),
                (#"{"args": ["--dependency=singleton"]}"#, "slurm.args[0]"),
                (#"{"args": ["--job-name=x"]}"#, "slurm.args[0]"), (#"{"args": ["--output=x"]}"#, "slurm.args[0]"),
                (#"{"args": ["--parsable"]}"#, "slurm.args[0]"), (#"{"args": ["--gres"]}"#, "slurm.args[0]"),
                (#"{"args": ["gpu:1"]}"#, "slurm.args[0]"), (#"{"args": ["--"]}"#, "slurm.args[0]"),
            ]),
        Forms(
            key: "limits",
            taken: [
                "{}",
                #"{"nice": -5, "memory": "1G", "tasks": 10, "cpuWeight": 100, "cpuQuota": "150%", "openFiles": 64, "fileSize": "1M", "coreSize": 0}"#,
            ],
            refused: [
                ("[]", "limits"), (#"{"nice": 20}"#, "limits.nice"), (#"{"memory": 0}"#, "limits.memory"),
                (#"{"memory": "1Q"}"#, "limits.memory"),
                (#"{"tasks": 0}"#, "limits.tasks"), (#"{"cpuWeight": 0}"#, "limits.cpuWeight"),
                (#"{"cpuQuota": 150}"#, "limits.cpuQuota"),
                (#"{"cpuQuota": "0%"}"#, "limits.cpuQuota"), (#"{"cpuQuota": "+50%"}"#, "limits.cpuQuota"),
                (#"{"openFiles": 0}"#, "limits.openFiles"),
                (#"{"fileSize": -1}"#, "limits.fileSize"),
                (#"{"coreSize": true}"#, "limits.coreSize"), (#"{"mem": 1}"#, "limits.mem"),
            ]),
        Forms(
            key: "labels", taken: ["{}", #"{"team": "db", "x": ""}"#],
            refused: [
                ("[]", "labels"), (#"{"a": 1}"#, "labels.a"), (#"{"a=b": "1"}"#, "labels.a=b"),
                (#"{"": "1"}"#, "labels"),
            ]),
        Forms(
            key: "operations", taken: ["[]", #"[{"command": ["a"]}]"#],
            refused: [("{}", "operations"), ("1", "operations")]),
        Forms(
            key: "secrets",
            taken: ["{}", #"{"A": {"file": "token"}, "B_1": {"credential": "db"}}"#],
            refused: [
                ("[]", "secrets"), (#"{"A": "token"}"#, "secrets.A"), (#"{"A": {}}"#, "secrets.A"),
                (#"{"A": {"file": ""}}"#, "secrets.A.file"), (#"{"A": {"fil": "x"}}"#, "secrets.A.fil"),
                (#"{"A": {"file": "x", "credential": "y"}}"#, "secrets.A"), (#"{"A=": {"file": "x"}}"#, "secrets.A="),
            ]),
        Forms(key: "include", taken: [], refused: [("\"tests.yaml\"", "include")]),
        Forms(key: "set", taken: [], refused: [("{\"A\": \"1\"}", "set")]),
        Forms(
            key: "limit", taken: ["0", "1", "100"],
            refused: [("-1", "limit"), ("\"2\"", "limit"), ("1.5", "limit")]),
    ]

    static let keys = forms.map(\.key)
    /// Keys that the daemon accepts.
    static let takenKeys = keys.filter { OperationKey.find($0)?.isOfFiles == false }

    @Test func `these tests cover every key`() { #expect(Set(Self.keys) == Set(OperationKey.texts)) }

    private func form(of key: String) throws -> Forms { try #require(Self.forms.first { $0.key == key }) }

    /// Returns an operation with the key, and with the other keys that an operation needs.
    private func operation(_ key: String, _ value: String) -> String {
        switch key {
        case "command", "shell", "http", "operations": "[{\"\(key)\": \(value)}]"
        case "limit": "[{\"operations\": [], \"limit\": \(value)}]"
        default: "[{\"command\": [\"true\"], \"\(key)\": \(value)}]"
        }
    }

    @Test(arguments: keys) func `valid values of a key are accepted`(key: String) throws {
        for value in try form(of: key).taken {
            let found = problems(operation(key, value))
            #expect(found == [], "\(key): \(value)")
        }
    }

    @Test(arguments: keys) func `invalid values of a key are refused with their path`(key: String) throws {
        for (value, path) in try form(of: key).refused {
            let found = problems(operation(key, value))
            #expect(
                found.contains { $0.key == path || (path.hasSuffix(".") && $0.key == String(path.dropLast())) },
                "\(key): \(value): \(found)")
            #expect(found.allSatisfy { !$0.message.isEmpty })
        }
    }

    @Test(arguments: takenKeys) func `null means that a key is absent`(key: String) throws {
        let value = try #require(try form(of: key).taken.last)
        let text = operation(key, "null, \"\(key)\": \(value)")
        #expect(problems(text) == [])
        #expect(problems("[{\"command\": [\"true\"]}]", defaults: "{\"\(key)\": null}") == [])
    }

    @Test func `an operation whose command is null has no command`() {
        #expect(
            problems(#"[{"command": null}]"#).map(\.message) == [
                "has no \"command\", \"shell\", \"http\" or \"operations\""
            ])
        #expect(problems(#"[{"command": ["a"], "shell": null}]"#) == [])
        #expect(problems(#"[{"command": ["a"], "sehll": null}]"#).map(\.key) == ["sehll"])
    }

    @Test(arguments: takenKeys) func `a key that appears twice is refused`(key: String) throws {
        let value = try #require(try form(of: key).taken.first)
        let text = operation(key, "\(value), \"\(key)\": \(value)")
        #expect(problems(text).contains { $0.key == key && $0.message == "occurs twice" })
    }

    @Test(arguments: keys) func `defaults accept and refuse the same values as operations`(key: String) throws {
        let form = try form(of: key)
        let isOfOne = ["name", "key", "operations", "limit", "http"].contains(key)
        for value in form.taken where !value.contains("provide") {
            let found = problems("[{\"shell\": \"x\"}]", defaults: "{\"\(key)\": \(value)}")
            #expect(found.isEmpty != isOfOne, "\(key): \(value): \(found)")
        }
        for (value, _) in form.refused {
            let found = problems("[{\"shell\": \"x\"}]", defaults: "{\"\(key)\": \(value)}")
            #expect(found.contains { $0.key?.hasPrefix("defaults.\(key)") == true }, "\(key): \(value): \(found)")
            #expect(found.allSatisfy { $0.index == nil })
        }
    }

    @Test(arguments: takenKeys) func `a group refuses the keys of a process and accepts the others`(key: String) throws
    {
        let value = try #require(try form(of: key).taken.last)
        guard key != "operations" else { return }
        let found = problems(
            "[{\"name\": \"g\", \"operations\": [], \"\(key)\": \(value)}]".replacing(
                "\"name\": \"g\", ", with: key == "name" ? "" : "\"name\": \"g\", "))
        let isOfProcess = OperationKey.find(key)?.isOfProcess == true
        #expect(found.isEmpty != isOfProcess, "\(key): \(found)")
        if isOfProcess { #expect(found.first?.key == key && found.first?.name == "g" && found.first?.index == 0) }
    }

    @Test(arguments: keys) func `stored details are read back as they were written`(key: String) throws {
        for value in try form(of: key).taken {
            var decoder = GraphDecoder(now: .zero)
            decoder.add(Array(operation(key, value).utf8))
            let graph = try decoder.finish()
            guard let index = graph.operations.first?.details, index >= 0 else { continue }
            let text = graph.details.utf8(index)
            var again = JSONWriter()
            try OperationDetails(json: text).write(to: &again)
            #expect(again.bytes == Array(text), "\(key): \(value)")
        }
    }

    @Test func `every key that may change is applied by an edit`() throws {
        for key in OperationKey.allCases where key.isEditable {
            let text = try #require(try form(of: key.text).taken.last)
            let value = try JSONValue(Array(text.utf8))
            let edit = try OperationEdit(JSONObject([.init(key.text, value)]), now: .zero)
            switch key {
            case .priority: #expect(edit.priority != nil)
            case .queue: #expect(edit.queue != nil)
            case .command, .shell: #expect(edit.command != nil)
            case .categories: #expect(edit.categories?.isEmpty == false)
            default: #expect(edit.changesPolicy && edit.applied(to: Policy()) != Policy(), "\(key)")
            }
            guard key.isRemovable else { continue }
            let changed = edit.applied(to: Policy())
            let removal = try OperationEdit(JSONObject([.init(key.text, nil)]), now: .zero)
            #expect(removal.applied(to: changed) == Policy(), "\(key)")
        }
    }

    @Test func `a stored transfer that a submission would refuse today can be read`() throws {
        let text = Array(#"{"http":{"url":"http://u:p@h:99999","to":"d/","sha256":"12"}}"#.utf8)
        var again = JSONWriter()
        try OperationDetails(json: text).write(to: &again)
        #expect(again.bytes == text)
    }

    @Test func `values of a key are found in groups, and in operations that conditions provide`() throws {
        let graph = Array(
            #"""
            [{"name":"shell","shell":"a","environment":{"shell":"b"}},
             {"operations":[{"sh\u0065ll":"c"}],"conditions":[{"pathExists":"/","provide":{"shell":"d"}}]}]
            """#.utf8)
        let found = try OperationKey.shell.values(in: graph)
        #expect(found.map { String(decoding: graph[$0], as: UTF8.self) } == [#""a""#, #""c""#, #""d""#])
        #expect(try OperationKey.shell.values(in: Array(#"{"shell":"a"}"#.utf8)) == [9..<12])
    }
}

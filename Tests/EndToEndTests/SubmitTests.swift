import Foundation
import Testing

@Suite struct SubmitTests {
    @Test func `submit prints the id and wait exits with 0 after success`() throws {
        let machine = try Machine()
        let id = try machine.submit("--", "true")
        #expect(try machine.ctl("wait", "\(id)").status == 0)
        #expect(try machine.outcome(id) == "succeeded")
    }

    @Test func `a cycle is refused with its path and nothing is stored`() throws {
        let machine = try Machine()
        let output = try machine.ctl(
            "submit", "-f", "-",
            input: """
                {"operations": [{"name": "a", "command": ["true"], "after": ["c"]},
                                {"name": "b", "command": ["true"], "after": ["a"]},
                                {"name": "c", "command": ["true"], "after": ["b"]}]}
                """)
        #expect(output.status == 5)
        for name in ["a", "b", "c"] { #expect(output.err.contains(name)) }
        #expect(try machine.ok("ls", "--json").out.isEmpty)
    }

    @Test func `an unknown dependency is refused and nothing is stored`() throws {
        let machine = try Machine()
        let output = try machine.ctl(
            "submit", "-f", "-",
            input:
                #"{"operations": [{"name": "build", "command": ["true"]}, {"command": ["true"], "after": ["biuld"]}]}"#)
        #expect(output.status == 5)
        #expect(output.err.contains("biuld"))
        #expect(output.err.contains("build"), "the nearest name is suggested")
        #expect(try machine.ok("ls", "--json").out.isEmpty)
    }

    @Test func `without a daemon submit exits with 3 and says how to start one`() throws {
        let machine = try Machine(start: false)
        let output = try machine.ctl("submit", "--", "true")
        #expect(output.status == 3)
        #expect(output.err.hasPrefix("opsctl: "))
        #expect(output.err.contains("opsd"))
        try machine.start()
    }

    @Test func `submit exits with 2 after a usage error`() throws {
        let machine = try Machine()
        #expect(try machine.ctl("submit").status == 2)
        let output = try machine.ctl("sbumit", "--", "true")
        #expect(output.status == 2)
        #expect(output.err.contains("submit"))
    }

    @Test func `lines of JSON are a graph too`() throws {
        let machine = try Machine()
        let output = try machine.ok(
            "submit", "-f", "-", "--json",
            input: #"{"name": "one", "command": ["true"]}"# + "\n"
                + #"{"name": "two", "command": ["true"], "after": ["one"]}"# + "\n")
        let rows = try output.objects
        #expect(rows.map { $0["name"] as? String } == ["one", "two"])
        #expect(Set(rows.compactMap { $0["graph"] as? String }).count == 1)
        try machine.ok("wait", "--graph", try #require(rows[0]["graph"] as? String))
    }

    @Test func `the key of an operation in a file counts too`() throws {
        let machine = try Machine()
        let text = #"{"operations": [{"name": "a", "command": ["true"], "key": "once"}, {"command": ["true"]}]}"#
        let first = try machine.ok("submit", "-f", "-", "--json", input: text).objects
        let second = try machine.ok("submit", "-f", "-", "--json", input: text).objects
        #expect(second.compactMap { $0["id"] as? Int } == first.compactMap { $0["id"] as? Int })
        #expect(second.allSatisfy { $0["existing"] as? Bool == true })
        let line = try machine.ok("submit", "-f", "-", input: #"{"command": ["true"], "key": "once"}"#)
        #expect(line.out == (try machine.ok("submit", "-f", "-", input: text).out))
        #expect(try machine.ok("ls", "--json").objects.count == 2)
    }

    @Test func `a repeated key is answered with the first submission`() throws {
        let machine = try Machine()
        let first = try machine.ok("submit", "--json", "--key", "nightly", "--", "true").object
        let again = try machine.ok("submit", "--json", "--key", "nightly", "--", "true").object
        #expect(first["id"] as? Int == again["id"] as? Int)
        #expect(again["existing"] as? Bool == true)
        #expect(try machine.ok("ls", "--json").lines.count == 1)
    }

    @Test func `relative paths of input and output are relative to the directory of the operation`() throws {
        let machine = try Machine()
        let directory = machine.state + "/work"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try "given".write(toFile: directory + "/in", atomically: true, encoding: .utf8)
        let id = try machine.submit("-C", directory, "--stdin", "in", "--stdout", "out", "--", "cat")
        let repeated = try machine.submit("--again", "\(id)", "--output", "./again")
        #expect(try machine.ctl("wait", "\(id)", "\(repeated)", "--timeout", "20s").status == 0)
        for name in ["out", "again"] {
            #expect(try String(contentsOfFile: directory + "/" + name, encoding: .utf8) == "given")
        }
    }

    @Test func `a dry run says that the key is known`() throws {
        let machine = try Machine()
        try machine.ok("suspend")
        let graph = #"{"operations": [{"name": "a", "command": ["true"], "key": "once"}, {"command": ["true"]}]}"#
        #expect(
            try machine.ok("submit", "--dry-run", "--key", "nightly", "true").out
                == "1 operation would be submitted (dry run)\n")
        let id = try machine.submit("--key", "nightly", "--", "true")
        #expect(
            try machine.ok("submit", "--dry-run", "--key", "nightly", "true").out
                == "nothing would be submitted (dry run): \(id) was submitted with this key\n")
        #expect(
            try machine.ok("submit", "--dry-run", "--unless-active", "nightly", "true").out
                == "nothing would be submitted (dry run): \(id) was submitted with this key\n")
        let name = try machine.graph(graph)
        #expect(
            try machine.ok("submit", "--dry-run", "-f", "-", input: graph).out
                == "nothing would be submitted (dry run): \(name) was submitted with this key\n")
        let row = try machine.ok("submit", "--dry-run", "--json", "--key", "nightly", "true").object
        #expect(row["existing"] as? Bool == true && row["dryRun"] as? Bool == true)
    }

    /// Graph names must differ from ids, because both are accepted in the same places.
    @Test(arguments: ["key", "unless-active"]) func `an empty key is refused`(_ flag: String) throws {
        let machine = try Machine()
        let result = try machine.ctl("submit", "--\(flag)", "", "--", "true")
        #expect(result.status == 5)
        #expect(result.err.contains("must not be empty"), "\(result.err)")
        #expect(try machine.ok("ls", "--json").out.isEmpty)
    }

    @Test(arguments: ["7", "g7", "", #"a\tb"#])
    func `the name of a graph is neither an id nor empty nor has control characters`(_ name: String) throws {
        let machine = try Machine()
        let output = try machine.ctl(
            "submit", "-f", "-", input: #"{"name": "\#(name)", "operations": [{"command": ["true"]}]}"#)
        #expect(output.status == 5 && output.err.contains("the name of the graph must"), "\(output.err)")
        #expect(try machine.ok("ls", "--json").out.isEmpty)
    }

    @Test func `columns of lines and combinations of inputs have placeholders of their own`() throws {
        let machine = try Machine()
        func output(_ arguments: [String], _ files: [String: String]) throws -> [String] {
            for (name, text) in files {
                try text.write(toFile: machine.state + "/" + name, atomically: true, encoding: .utf8)
            }
            let each = arguments.map { files[$0] == nil ? $0 : machine.state + "/" + $0 }
            let submitted = try machine.begin(["submit"] + each).wait()
            let graph = String(submitted.out.split(separator: " ").first ?? "")
            #expect(submitted.status == 0, "\(submitted.err)")
            try machine.ok("wait", "--all", "--timeout", "30s")
            return try machine.ok("ls", "--graph", graph, "-a", "--json").objects.map { row in
                try machine.ok("log", "\(row["id"] as? Int ?? 0)").out
            }
        }
        let files = ["sizes": "1\n2\n", "names": "a.x\nb.y\n", "table": "p,q/r.s,t\nu,,\n"]
        #expect(
            try output(["--each", "sizes", "--each", "names", "--", "echo", "{1} {2.} {} {#} {3}|{0}"], files) == [
                "1 a 1 a.x 1 |{0}\n", "1 b 1 b.y 2 |{0}\n", "2 a 2 a.x 3 |{0}\n", "2 b 2 b.y 4 |{0}\n",
            ])
        #expect(
            try output(["--each", "table", "--delimiter", ",", "--env", "V={2/}", "--shell", "echo {1}-$V-{3}"], files)
                == ["p-r.s-t\n", "u--\n"])
        #expect(try output(["--each", "sizes", "--", "echo", "{1} {}"], files) == ["{1} 1\n", "{1} 2\n"])
        #expect(try machine.ctl("submit", "--delimiter", ",", "--", "true").status == 2)
        let both = try machine.ctl("submit", "--each", machine.state + "/sizes", "--delimiter", "ab", "--", "true")
        #expect(both.status == 2 && both.err.contains("one character"), "\(both.err)")
    }

    /// One file and one variable for each operation, as users of HyperQueue and GNU parallel write it.
    @Test func `a line is taken apart by placeholders, and names are made valid`() throws {
        let machine = try Machine()
        try machine.ok(
            "submit", "--each", "-", "--name", "enc-{/}", "--", "echo", "{} {.} {/} {//} {/.} {#} {x}",
            input: "in/a b.wav\nc\n/d.e/f\n")
        try machine.ok("wait", "--all")
        #expect(try machine.show(1)["name"] as? String == "enc-a_b.wav")
        let lines = try (1...3).map { try machine.ok("log", "\($0)").out }
        #expect(
            lines == [
                "in/a b.wav in/a b a b.wav in a b 1 {x}\n", "c c c . c 2 {x}\n", "/d.e/f /d.e/f f /d.e f 3 {x}\n",
            ])
    }

    @Test func `placeholders are replaced in the options of a fan-out too`() throws {
        let machine = try Machine()
        try machine.ok(
            "submit", "--array", "1-2", "--stdout", machine.state + "/out-{}", "--env", "K=k{}", "--label", "n={}",
            "--timeout", "1m", "--shell", "echo $K $OPS_INDEX {}")
        #expect(try machine.ctl("wait", "--all", "--timeout", "30s").status == 0)
        for index in 1...2 {
            let text = try String(contentsOfFile: machine.state + "/out-\(index)", encoding: .utf8)
            #expect(text == "k\(index) \(index) \(index)\n")
        }
        #expect(try machine.ok("ls", "--json", "--label", "n=2").objects.compactMap { $0["id"] as? Int } == [2])
        #expect(try machine.show(1)["timeout"] as? String == "1m")
    }

    @Test func `options of other kinds than text may contain placeholders`() throws {
        let machine = try Machine()
        try machine.ok("submit", "--each", "-", "--name", "build-{}", "--hold", "--", "true", input: "a\nb\n")
        try machine.ok(
            "submit", "--each", "-", "--after", "build-{}", "--retry", "{#}", "--timeout", "{#}m", "--", "true",
            input: "a\nb\n")
        try machine.ok("submit", "--array", "1-2", "--after", "{}", "--delay", "{}h", "--timeout", "{}m", "--", "true")
        for (id, first) in [(3, 1), (4, 2), (5, 1), (6, 2)] {
            let row = try machine.show(id)
            let dependencies = row["dependencies"] as? [[String: Any]] ?? []
            #expect(dependencies.compactMap { $0["id"] as? Int } == [first], "\(id)")
            #expect(row["timeout"] as? String == "\(first)m", "\(id)")
        }
        let wrong = try machine.ctl("submit", "--each", "-", "--timeout", "{}", "--", "true", input: "5m\nsoon\n")
        #expect(wrong.status == 2 && wrong.err.contains("--timeout takes a duration"), "\(wrong.err)")
        #expect(wrong.err.contains("not \"soon\""), "\(wrong.err)")
        let braces = try machine.ctl("submit", "--array", "1-2", "--retry", "{x}", "--", "true")
        #expect(braces.status == 2 && braces.err.contains("not \"{x}\""), "\(braces.err)")
        let missing = try machine.ctl("submit", "--array", "1-2", "--after", "none-{}", "--", "true")
        #expect(missing.status == 5 && missing.err.contains("none-1"), "\(missing.err)")
        #expect(try machine.ok("ls", "--all", "--json").lines.count == 6)
    }

    @Test func `a placeholder in a text for the shell is one word, whatever it contains`() throws {
        let machine = try Machine()
        let values = ["a b", "x;echo y", "it's", "$HOME", "*", "plain.txt"]
        try machine.ok(
            "submit", "--each", "-", "--shell", "printf '<%s>' {}", input: values.joined(separator: "\n"))
        try machine.ok("wait", "--all")
        for (place, value) in values.enumerated() {
            #expect(try machine.ok("log", "\(place + 1)").out == "<\(value)>")
        }
    }

    @Test func `options that would have no effect are refused`() throws {
        let machine = try Machine()
        for words in [
            ["--again", "1", "-f", "-"], ["--again", "1", "--array", "1-3"], ["--again", "1", "--set", "A=1"],
            ["--set", "A=1", "--", "true"], ["--format", "json", "--", "true"],
            ["--array", "1-3", "--set", "A=1", "--", "true"],
            ["--output", "null", "--stdout", machine.state + "/out", "--", "true"],
        ] {
            let refused = try machine.begin(["submit"] + words).wait()
            #expect(refused.status == 2, "\(words): \(refused.err)")
        }
        #expect(try machine.ctl("run", "--set", "A=1", "--", "true").status == 125)
        #expect(try machine.ctl("schedule", "add", "s", "--at", "@daily", "--set", "A=1", "--", "true").status == 2)
        #expect(try machine.ok("ls").out.isEmpty)
    }

    @Test func `the name of a graph may contain spaces and punctuation`() throws {
        let machine = try Machine()
        try machine.ok("submit", "--graph-name", "nightly backup: A@B, höher", "--name", "-1", "--", "true")
        let row = try machine.ok("show", "--json", "--", "-1@nightly backup: A@B, höher").object
        #expect(row["graph"] as? String == "g1" && row["name"] as? String == "-1")
        let after = #"{"operations": [{"command": ["true"], "after": ["-1@nightly backup: A@B, höher"]}]}"#
        #expect(try machine.graph(after) == "g2")
        #expect(try machine.submit("--after=-1", "--", "true") == 3)
        #expect(try machine.ok("ls", "--json", "--graph", "nightly backup: A@B, höher").lines.count == 1)
    }

    @Test func `a command with an empty program fails its attempt`() throws {
        let machine = try Machine()
        _ = try machine.graph(#"{"operations": [{"name": "empty", "command": [""]}]}"#)
        #expect(try machine.ctl("wait", "empty").status == 1)
        let row = try machine.show("empty")
        #expect(row["outcome"] as? String == "failed" && row["exitCode"] is NSNull)
        #expect((row["cause"] as? String)?.hasPrefix("cannot start: exec \"\": ") == true, "\(row["cause"] ?? "")")
    }

    @Test func `a command that is not UTF-8 is refused rather than altered`() throws {
        let machine = try Machine()
        let shell = { (text: String) throws in
            try Command("/bin/sh", ["-c", text], environment: ["OPS_SOCKET": machine.socket], in: "/tmp").wait()
        }
        let opsctl = Machine.programs + "/opsctl"
        for (status, words) in [(2, "submit"), (125, "run")] {
            let refused = try shell("\(opsctl) \(words) -- touch \"$(printf '/tmp/\\377')\"")
            #expect(refused.status == status, "\(refused.err)")
            #expect(refused.err.hasPrefix("opsctl: \(words): \"/tmp/\u{FFFD}\" is not UTF-8"), "\(refused.err)")
        }
        let line = try shell("printf 'a\\n\\377\\n' | \(opsctl) submit --each - -- echo {}")
        #expect(line.status == 2)
        #expect(line.err.contains("line 2 is not UTF-8"), "\(line.err)")
        let told = try shell("\(opsctl) tell --result \"$(printf '\\377')\"")
        #expect(told.status == 2 && told.err.contains("is not UTF-8") && !told.err.contains("--shell"), "\(told.err)")
        #expect(try machine.ok("ls").out == "")
        #expect(try machine.ctl("run", "--", "printf", "\u{FFFD}").out == "\u{FFFD}")
    }

    @Test func `the environment is captured except for variables that are not text`() throws {
        let machine = try Machine()
        let script = """
            exec env "$(printf 'BYTES=a\\377b')" "$(printf 'N\\377=lost')" 'UMLAUT_Ä=ö"' OPS_X=ours NOTIFY_SOCKET=ours \
                NOTIFY_SOCKETS=theirs LC_X=l "$0/opsctl" submit "$@"
            """
        let submit = { (option: [String]) throws in
            let command = try Command(
                "/bin/sh", ["-c", script, Machine.programs] + option + ["--", "/usr/bin/env"],
                environment: ["OPS_SOCKET": machine.socket, "PATH": "/usr/bin:/bin"], in: "/tmp")
            let output = try command.wait()
            #expect(output.status == 0, "\(output.err)")
            try machine.ok("wait", "--all")
            // Variables that opsd and the shell add.
            let added = ["ID", "NAME", "GRAPH", "QUEUE", "ATTEMPT", "SLOT", "SOCKET", "OUTPUT_DIR"].map { "OPS_" + $0 }
            return try machine.ok("log", String(output.out.dropLast())).lines.filter { line in
                !(added + ["TRACEPARENT", "NOTIFY_SOCKET", "PWD", "_"]).contains { line.hasPrefix($0 + "=") }
            }.sorted()
        }
        #expect(try submit(["--clean-env"]) == ["LC_X=l", "PATH=/usr/bin:/bin"])
        #expect(
            try submit([]) == [
                "BYTES=a\u{FFFD}b", "LC_X=l", "NOTIFY_SOCKETS=theirs", "PATH=/usr/bin:/bin", "UMLAUT_Ä=ö\"",
            ])
    }

    /// About as many arguments as the kernel accepts.
    @Test func `a command may have a hundred thousand arguments`() throws {
        let machine = try Machine()
        let words = (1...100_000).map(String.init)
        let output = try machine.begin(["submit", "--", "sh", "-c", "echo $#", "sh"] + words).wait()
        try #require(output.status == 0, "\(output.err)")
        try machine.ok("wait", "1")
        #expect(try machine.ok("log", "1").out == "100000\n")
    }

    @Test func `every key has an option of its name`() throws {
        let machine = try Machine()
        let id = try machine.submit(
            "--held", "--environment", "A=1", "--labels", "k=v", "--categories", "disk:shared", "--limits", "nice=3",
            "--conditions", "pathExists=/", "--observers", "finish=true", "--not-before", "5m", "--", "true")
        let row = try machine.show(id)
        #expect(row["held"] as? Bool == true)
        #expect((row["labels"] as? [String: String]) == ["k": "v"])
        let waits = try machine.ok("why", "\(id)", "--json").object["waitingFor"] as? [[String: Any]]
        #expect(Set(waits?.compactMap { $0["kind"] as? String } ?? []) == ["held", "notBefore"])
    }

    @Test func `non-blocking input that comes in pieces is read to its end`() throws {
        let machine = try Machine()
        // `dd` makes the pipe non-blocking for every process that shares it. The pause reveals a reader that gives up.
        let script = """
            { printf '{"shell":'; sleep 0.3; echo '"true"}'; } |
            { dd iflag=nonblock count=0 status=none; exec "$0/opsctl" submit -f -; }
            """
        let submit = try Command(
            "/bin/sh", ["-c", script, Machine.programs],
            environment: Machine.environment.merging(["OPS_SOCKET": machine.socket]) { $1 }, in: "/tmp")
        let output = try submit.wait(seconds: 30)
        #expect(output.status == 0, "\(output.err)")
    }

    @Test func `options beside a file are laid under its operations`() throws {
        let machine = try Machine()
        try machine.ok("queue", "add", "night")
        let first = try machine.submit("--", "true")
        let graph = """
            {"defaults": {"labels": {"a": "1"}}, "operations": [
              {"name": "root", "command": ["true"], "after": []},
              {"name": "own", "command": ["true"], "priority": 7, "queue": "main"},
              {"name": "next", "command": ["true"], "after": ["root"]}]}
            """
        try machine.ok(
            "submit", "-f", "-", "--queue", "night", "--priority", "3", "--label", "b=2", "--hold", "--after",
            "\(first)", "--timeout", "5m", "--at", "tomorrow 06:00", input: graph)
        let (root, own, next) = (try machine.show("root"), try machine.show("own"), try machine.show("next"))
        #expect(root["queue"] as? String == "night" && root["priority"] as? Int == 3)
        #expect(own["queue"] as? String == "main" && own["priority"] as? Int == 7)
        #expect(next["queue"] as? String == "night" && next["timeout"] as? String == "5m")
        #expect(root["labels"] as? [String: String] == ["a": "1", "b": "2"])
        #expect(root["held"] as? Bool == true && own["held"] as? Bool == true && next["held"] as? Bool == false)
        #expect(root["notBefore"] is String && next["notBefore"] is NSNull)
        #expect((root["dependencies"] as? [[String: Any]])?.first?["id"] as? Int == first)
        #expect((next["dependencies"] as? [[String: Any]])?.count == 1)
        #expect(try machine.ctl("submit", "-f", "-", "--name", "x", input: graph).status == 2)
    }

    @Test func `an operation with a default dependency is no root, and an operation that a condition provides is one`()
        throws
    {
        let machine = try Machine()
        let first = try machine.submit("--hold", "--", "true")
        let graph = """
            {"defaults": {"after": ["setup"]}, "operations": [
              {"name": "setup", "command": ["true"]},
              {"name": "next", "command": ["true"]},
              {"name": "free", "command": ["true"], "after": [], "conditions": [
                {"pathExists": "/tmp", "provide": {"name": "provided", "command": ["true"], "after": []}}]},
              {"name": "late", "command": ["true"], "conditions": [
                {"pathExists": "/tmp", "provide": {"name": "bound", "command": ["true"]}}]}]}
            """
        try machine.ok("submit", "-f", "-", "--hold", "--after", "\(first)", input: graph)
        let setup = try machine.show("setup")["id"] as? Int
        for (name, isRoot) in [
            ("setup", true), ("next", false), ("free", true), ("provided", true), ("late", false), ("bound", false),
        ] {
            let row = try machine.show(name)
            let ids = (row["dependencies"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? Int }
            #expect(row["held"] as? Bool == isRoot, "\(name)")
            #expect(ids.contains(first) == isRoot && ids.contains(setup ?? 0) == !isRoot, "\(name): \(ids)")
        }
    }

    @Test func `an operation that a condition of the default dependency provides is a root`() throws {
        let machine = try Machine()
        let graph = """
            {"defaults": {"after": ["setup"]}, "operations": [
              {"name": "next", "command": ["true"]},
              {"conditions": [{"pathExists": "/tmp", "provide": {"name": "made", "command": ["true"]}}],
               "name": "setup", "command": ["true"]}]}
            """
        try machine.ok("submit", "-f", "-", "--hold", input: graph)
        for (name, isRoot) in [("setup", true), ("made", true), ("next", false)] {
            #expect(try machine.show(name)["held"] as? Bool == isRoot, "\(name)")
        }
    }

    @Test func `options beside a file replace a null, and leave a wrong dependency to be refused`() throws {
        let machine = try Machine()
        let graph = """
            {"defaults": {"after": ["setup"]}, "operations": [
              {"name": "setup", "command": ["true"], "held": null},
              {"name": "next", "command": ["true"], "after": null}]}
            """
        try machine.ok("submit", "-f", "-", "--hold", input: graph)
        let (setup, next) = (try machine.show("setup"), try machine.show("next"))
        #expect(setup["held"] as? Bool == true && next["held"] as? Bool == false)
        let id = try #require(setup["id"] as? Int)
        let wrong = #"[{"command": ["true"], "after": "setup"}]"#
        let refused = try machine.ctl("submit", "-f", "-", "--after", "\(id)", input: wrong)
        #expect(refused.status == 5 && refused.err.contains("key after: "), "\(refused.err)")
    }

    @Test func `a graph file with a gap is refused`() throws {
        let machine = try Machine()
        let output = try machine.ctl("submit", "-f", "-", input: #"[{"shell": "echo ${A} ${B} ${OPS_ID} ${C:-x}"}]"#)
        #expect(output.status == 5 && output.err.contains("${A}, ${B} have no value"), "\(output.err)")
        try machine.ok("submit", "-f", "-", "--set", "A=1", "--set", "B=2", input: #"[{"shell": "echo ${A} ${B}"}]"#)
        let wrong = try machine.ctl("submit", "-f", "-", "--set", "1A=2", input: #"[{"shell": "echo ${1A}"}]"#)
        #expect(wrong.status == 2 && wrong.err.contains("${1A} cannot be a placeholder"), "\(wrong.err)")
    }

    @Test func `a file with a single transfer is a graph of one operation`() throws {
        let machine = try Machine()
        let file = #"{"name": "data", "held": true, "http": {"url": "http://127.0.0.1:1/d", "to": "/tmp/never"}}"#
        try machine.ok("submit", "-f", "-", input: file)
        let again = try machine.submit("--again", "data", "--hold")
        #expect((try machine.show(again)["http"] as? [String: Any])?["to"] as? String == "/tmp/never")
        try machine.ok("cancel", "--all")
    }

    @Test func `a command is submitted again in the same environment`() throws {
        let machine = try Machine()
        let first = try machine.submit(
            "--name", "job", "--env", "COLOUR=red", "--label", "a=b", "--category", "db", "--directory", "/", "--shell",
            "echo $COLOUR $PWD")
        let second = try machine.submit("--again", "job", "--priority", "5")
        try machine.ok("wait", "\(first)", "\(second)")
        #expect(try machine.ok("log", "\(second)").out == "red /\n")
        let row = try machine.show(second)
        #expect(row["name"] as? String == "job" && row["priority"] as? Int == 5)
        #expect(row["labels"] as? [String: String] == ["a": "b"])
        #expect((row["categories"] as? [[String: Any]])?.first?["name"] as? String == "db")
        #expect(try machine.ctl("submit", "--again", "77").status == 4)
        #expect(try machine.ctl("submit", "--again", "job", "--", "true").status == 2)
    }
}

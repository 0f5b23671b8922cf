import Foundation
import Testing

/// Graph files that include others, through opsctl.
@Suite struct IncludeTests {
    private func write(_ text: String, _ name: String, _ machine: Machine) throws -> String {
        let path = "\(machine.state)/\(name)"
        try FileManager.default.createDirectory(
            atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
        try text.write(toFile: path, atomically: true, encoding: .utf8)
        return path
    }

    @Test func `an included file becomes a group with its gaps filled`() throws {
        let machine = try Machine()
        _ = try write(
            """
            name: unused
            defaults: {environment: {A: low, B: "2"}, labels: {team: tests}, priority: low}
            operations:
              - name: unit-${ARCH}
                shell: echo "$A $B ${ARCH} ${VERSION}"
                environment: {A: high}
              - name: inner-${ARCH}
                operations:
                  - {name: "deep-${ARCH}", shell: "echo $B", after: ["unit-${ARCH}"]}
            """, "parts/tests.yaml", machine)
        let file = try write(
            """
            // Both are relative to this file.
            {"name": "all", "operations": [
              {"name": "build", "command": ["true"]},
              {"name": "arm", "include": "parts/tests.yaml", "set": {"ARCH": "arm"}, "after": ["build"], "limit": 1},
              {"name": "x86", "include": "parts/tests.yaml", "set": {"ARCH": "x86", "VERSION": "own"}, "priority": 9},
              {"name": "end", "command": ["true"], "after": ["arm", "x86"]},
            ]}
            """, "main.json", machine)
        let list = try machine.ok("submit", "-f", file, "--set", "VERSION=7", "--dry-run").lines
        #expect(list.first == "10 operations would be submitted (dry run)")
        #expect(list.count == 11, "each operation has a line: \(list)")
        try machine.ok("submit", "-f", file, "--set", "VERSION=7")
        try machine.ok("wait", "end")
        #expect(try machine.ok("log", "unit-arm").out == "high 2 arm 7\n")
        #expect(try machine.ok("log", "unit-x86").out == "high 2 x86 own\n")
        #expect(try machine.ok("log", "deep-arm").out == "2\n")
        #expect(try machine.show("arm")["priority"] as? Int == 0)
        #expect(try machine.show("x86")["priority"] as? Int == 9)
        let unit = try machine.show("unit-x86")
        #expect(unit["priority"] as? Int == -4, "defaults of the included file count for its operations")
        #expect((unit["labels"] as? [String: String]) == ["team": "tests"])
        #expect(unit["group"] as? Int == (try machine.show("x86"))["id"] as? Int)
        #expect(try machine.show("deep-x86")["priority"] as? Int == -4, "from the group around it")
    }

    @Test func `an operation that a condition provides can include a file, and has the defaults of its own file`()
        throws
    {
        let machine = try Machine()
        _ = try write(
            """
            defaults: {environment: {A: low}}
            operations:
              - {name: "make-${WHAT}", shell: echo $A}
            """, "make.yaml", machine)
        _ = try write(
            """
            defaults: {environment: {A: high}}
            operations:
              - name: use
                command: ["true"]
                conditions:
                  - pathExists: /tmp
                    provide: {name: maker, include: make.yaml, set: {WHAT: data}}
                  - pathExists: /tmp
                    provide: {name: plain, shell: echo $A}
                  - pathExists: /tmp
                    silent: true
                    provide: {include: none.yaml}
            """, "part.yaml", machine)
        let file = try write("operations: [{name: part, include: part.yaml}]", "main.yaml", machine)
        try machine.ok("submit", "-f", file)
        #expect(try machine.ctl("wait", "part", "--timeout", "20s").status == 0)
        #expect(try machine.ok("log", "make-data").out == "low\n")
        #expect(try machine.ok("log", "plain").out == "high\n")
        #expect(try machine.show("make-data")["group"] as? Int == (try machine.show("maker"))["id"] as? Int)
        #expect(try machine.show("maker")["group"] as? Int == (try machine.show("part"))["id"] as? Int)
    }

    @Test func `a default dependency does not apply inside the group that it names`() throws {
        let machine = try Machine()
        _ = try write(
            """
            defaults: {after: [prep]}
            operations:
              - name: prep
                operations:
                  - name: p
                    command: ["true"]
                    conditions: [{pathExists: /tmp, provide: {shell: "true"}}]
              - name: x
                command: ["true"]
            """, "part.yaml", machine)
        let file = try write(
            """
            defaults: {after: [part]}
            operations:
              - {name: part, include: part.yaml}
              - {name: end, command: ["true"]}
            """, "main.yaml", machine)
        try machine.ok("submit", "-f", file)
        #expect(try machine.ctl("wait", "end", "--timeout", "20s").status == 0)
        func dependencies(_ name: String) throws -> [Int] {
            (try machine.show(name)["dependencies"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? Int }
        }
        let prep = try #require(try machine.show("prep")["id"] as? Int)
        let part = try #require(try machine.show("part")["id"] as? Int)
        #expect(try dependencies("x") == [prep])
        #expect(try dependencies("end") == [part])
        #expect(try dependencies("p").count == 1, "the operation that its condition provides")
    }

    @Test func `problems of an included file name its line and column`() throws {
        let machine = try Machine()
        _ = try write(
            """
            defaults:
              timeout: never
            operations:
              - name: a
                command: ["true"]
              - name: b
                command: [sleep, 1]
            """, "part.yaml", machine)
        let file = try write(
            """
            operations:
              - include: part.yaml
                queue: nowhere
              - name: c
                command: ["true"]
                timeout: [1]
            """, "main.yaml", machine)
        let refused = try machine.ctl("submit", "-f", file)
        #expect(refused.status == 5)
        for place in [
            "/part.yaml:2:3: operation a, key timeout: ", "/part.yaml:7:22: operation b, key command[1]: ",
            "/main.yaml:6:5: operation c, key timeout: ",
        ] {
            #expect(refused.err.contains(place), "\(place) in \(refused.err)")
        }
    }

    @Test func `files that cannot be included are refused with their place`() throws {
        let machine = try Machine()
        func refusal(_ main: String, _ name: String = "main.yaml") throws -> String {
            let refused = try machine.ctl("submit", "-f", try write(main, name, machine))
            #expect(refused.status == 5, "\(refused.err)")
            return refused.err
        }
        _ = try write("operations: [{name: x, include: ../main.yaml}]", "sub/back.yaml", machine)
        let circle = try refusal("operations:\n  - {name: a, include: sub/back.yaml}\n")
        #expect(circle.contains("/sub/back.yaml:1:24: ../main.yaml includes itself: "), "\(circle)")
        #expect(circle.contains("/main.yaml -> "), "\(circle)")
        let missing = try refusal("operations:\n  - include: none.yaml\n")
        #expect(missing.contains("/main.yaml:2:5: cannot include "), "\(missing)")
        #expect(missing.contains("/none.yaml: No such file or directory"), "\(missing)")
        _ = try write("operations: [", "broken.yaml", machine)
        #expect(try refusal("operations: [{include: broken.yaml}]").contains("/broken.yaml:"))
        _ = try write("operations: [{shell: \"echo ${A} ${B}\"}]", "gaps.yaml", machine)
        let gaps = try refusal("operations: [{include: gaps.yaml, set: {A: x}}]")
        #expect(gaps.contains("/gaps.yaml:1:15: ${B} has no value"), "\(gaps)")
        #expect(try refusal("operations: [{include: gaps.yaml, set: {A: 1}}]").contains("is not a text"))
        let dash = try refusal("operations: [{include: gaps.yaml, set: {A-B: x}}]")
        #expect(dash.contains("/main.yaml:1:41: ${A-B} cannot be a placeholder"), "\(dash)")
        #expect(try refusal("operations: [{include: gaps.yaml, command: [a]}]").contains("cannot be used together"))
        #expect(try refusal("operations: [{include: 3}]").contains("must be the path of a graph file"))
        let alone = try refusal(#"[{"command": ["a"], "set": {"A": "b"}}]"#, "m.json")
        #expect(alone.contains(#"key set: belongs to "include""#), "\(alone)")
    }

    @Test func `errors of several included files are reported at once`() throws {
        let machine = try Machine()
        _ = try write("bogus: 1\noperations: [{command: [a]}]", "wrong.yaml", machine)
        _ = try write("observers: {finish: [a]}\noperations: [{include: gone.yaml}]", "observed.yaml", machine)
        let file = try write(
            """
            operations:
              - include: none.yaml
              - include: wrong.yaml
              - include: observed.yaml
              - include: wrong.yaml
            """, "main.yaml", machine)
        let refused = try machine.ctl("submit", "-f", file)
        #expect(refused.status == 5)
        let lines = refused.err.split(separator: "\n")
        #expect(lines.count == 4, "one line for each error: \(refused.err)")
        for text in [
            "/main.yaml:2:5: cannot include ", "/wrong.yaml:1:1: unknown key \"bogus\" of a graph",
            "/observed.yaml:1:1: an included file cannot have \"observers\"", "/observed.yaml:2:15: cannot include ",
        ] {
            #expect(lines.contains { $0.contains(text) }, "\(text) in \(refused.err)")
        }
    }

    @Test func `standard input includes from the current directory`() throws {
        let machine = try Machine()
        _ = try write("{\"name\": \"only\", \"command\": [\"true\"]}", "one.json", machine)
        let command = try machine.begin(
            ["submit", "--json", "-f", "-"], input: "{\"name\": \"g\", \"include\": \"one.json\"}", in: machine.state)
        let stored = try command.wait()
        #expect(stored.status == 0, "\(stored.err)")
        #expect(stored.out.contains("\"name\":\"only\""), "\(stored.out)")
        #expect(try machine.ok("wait", "g").status == 0)
    }
}

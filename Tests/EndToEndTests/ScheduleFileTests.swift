import Foundation
import Testing

/// Schedules in graph files.
@Suite struct ScheduleFileTests {
    private static let file = """
        {"name": "nightly",
         "schedule": {"at": ["0 3 * * *", "@weekly"], "zone": "Europe/Berlin", "overlap": "queueAll", "catchUp": "all",
                      "window": 7200, "spread": "10m", "count": 5, "keep": 3},
         "operations": [{"name": "a", "command": ["true"]}, {"name": "b", "command": ["true"], "after": ["a"]}]}
        """

    private func apply(_ text: String, _ machine: Machine, _ more: String...) throws -> Output {
        try machine.begin(["schedule", "apply", "-f", "-"] + more, input: text).wait()
    }

    @Test func `apply adds a schedule, and the same file applied twice changes nothing`() throws {
        let machine = try Machine()
        let dry = try apply(Self.file, machine, "--dry-run")
        #expect(dry.out.hasPrefix("schedule nightly would be added"), "\(dry.out)\(dry.err)")
        #expect(try machine.ok("schedule", "ls", "--json").out.isEmpty)
        let first = try apply(Self.file, machine)
        #expect(first.out.hasPrefix("added schedule nightly"), "\(first.out)\(first.err)")
        let row = try machine.ok("schedule", "show", "nightly", "--json").out
        let second = try apply(Self.file, machine)
        #expect(second.out == "schedule nightly is up to date\n")
        #expect(try machine.ok("schedule", "show", "nightly", "--json").out == row)
        let object = try machine.ok("schedule", "show", "nightly", "--json").object
        #expect(object["overlap"] as? String == "queueAll")
        #expect(object["catchUp"] as? String == "all")
        #expect(object["zone"] as? String == "Europe/Berlin")
    }

    @Test func `apply updates a schedule and leaves its runs and its pause`() throws {
        let machine = try Machine()
        _ = try apply(Self.file, machine)
        try machine.ok("schedule", "run", "nightly")
        try machine.ok("schedule", "pause", "nightly")
        let changed = try apply(Self.file.replacingOccurrences(of: "0 3 * * *", with: "0 4 * * *"), machine)
        #expect(changed.out.hasPrefix("updated schedule nightly"), "\(changed.out)\(changed.err)")
        let object = try machine.ok("schedule", "show", "nightly", "--json").object
        #expect(object["at"] as? [String] == ["0 4 * * *", "@weekly"])
        #expect(object["paused"] as? Bool == true)
        #expect(try machine.ok("schedule", "runs", "nightly", "--json").objects.count == 1)
        try machine.killDaemon()
        try machine.start()
        #expect(
            try machine.ok("schedule", "show", "nightly", "--json").object["at"] as? [String]
                == ["0 4 * * *", "@weekly"])
    }

    @Test func `add takes the schedule of a file, and options replace its keys`() throws {
        let machine = try Machine()
        let added = try machine.begin(
            ["schedule", "add", "mine", "--overlap", "allow", "--catch-up", "last", "-f", "-"], input: Self.file
        ).wait()
        #expect(added.status == 0, "\(added.err)")
        let object = try machine.ok("schedule", "show", "mine", "--json").object
        #expect(object["overlap"] as? String == "allow")
        #expect(object["at"] as? [String] == ["0 3 * * *", "@weekly"])
    }

    @Test(arguments: [["add", "night"], ["apply"]]) func `standard input can be YAML`(_ words: [String]) throws {
        let machine = try Machine()
        let text = """
            name: night
            schedule: {at: "@daily"}
            operations:
              - command: ["true"]
            """
        let added = try machine.begin(["schedule"] + words + ["-f", "-", "--format", "yaml"], input: text).wait()
        #expect(added.status == 0, "\(added.err)")
        #expect(try machine.ok("schedule", "show", "night", "--json").object["at"] as? [String] == ["@daily"])
        let refused = try machine.ctl("schedule", "add", "other", "--at", "@daily", "--format", "yaml", "--", "true")
        #expect(refused.status == 2 && refused.err.contains("add -f FILE"), "\(refused.err)")
    }

    @Test func `submit runs the graph once and says how to apply the schedule`() throws {
        let machine = try Machine()
        let output = try machine.begin(["submit", "-f", "-"], input: Self.file).wait()
        #expect(output.status == 0, "\(output.err)")
        #expect(output.err.contains("schedule apply"))
        #expect(try machine.ok("schedule", "ls", "--json").out.isEmpty)
    }

    @Test(arguments: [
        ("\"overlap\": \"queueAll\"", "\"overlap\": \"skip\"", "catchUp all"),
        ("\"spread\"", "\"spred\"", "did you mean \"spread\""),
        ("\"0 3 * * *\"", "\"99 3 * * *\"", "minute"), ("\"name\": \"nightly\",", "", "\"name\""),
        ("\"count\": 5", "\"count\": \"x\"", "integer"), ("\"spread\": \"10m\"", "\"from\": \"1h\"", "instant"),
    ])
    func `a wrong schedule in a file is refused with status 5`(part: String, wrong: String, word: String) throws {
        let machine = try Machine()
        let output = try apply(Self.file.replacingOccurrences(of: part, with: wrong), machine)
        #expect(output.status == 5, "\(output.err)")
        #expect(output.err.contains(word), "\(output.err)")
        #expect(try machine.ok("schedule", "ls", "--json").out.isEmpty)
    }

    @Test func `all errors of a schedule and of its graph are reported at once`() throws {
        let machine = try Machine()
        let output = try apply(
            """
            {"name": "wrong",
             "schedule": {"at": "@daily", "window": "-1d", "spread": "1x", "from": "yesterday", "until": 5,
                          "catchUp": 1, "spred": 2},
             "operations": [{"command": ["true"], "colour": 1}]}
            """, machine)
        #expect(output.status == 5)
        for problem in [
            "2:31: key window: \"-1d\" is not a duration", "2:48: key spread: \"1x\" is not a duration",
            "2:72: key from: must be an instant", "2:94: key until: must be an instant",
            "3:26: key catchUp: must be a text", "3:29: unknown key \"spred\" of a schedule",
            "key colour: unknown key",
        ] {
            #expect(output.err.contains(problem), "\(problem): \(output.err)")
        }
        #expect(output.err.split(separator: "\n").count == 7, "\(output.err)")
    }

    @Test func `a placeholder of a trigger in the file of a calendar has no value`() throws {
        let machine = try Machine()
        let text = Self.file.replacingOccurrences(of: "[\"true\"]", with: "[\"echo\", \"${file}\", \"${scheduled}\"]")
        let output = try apply(text, machine)
        #expect(output.status == 5 && output.err.contains("${file} has no value"), "\(output.err)")
        let schedule = "\"schedule\": {\"onPath\": \"/in/*\"},"
        let trigger = "{\"name\": \"in\", \(schedule) \"operations\": [{\"command\": [\"echo\", \"${file}\"]}]}"
        #expect(try apply(trigger, machine).status == 0)
    }

    @Test func `show prints everything that the file says, except environments`() throws {
        let machine = try Machine()
        let text = Self.file.replacingOccurrences(
            of: "\"name\": \"a\",", with: "\"name\": \"a\", \"environment\": {\"TOKEN\": \"secret\"},")
        #expect(try apply(text, machine).status == 0)
        let lines = try machine.ok("schedule", "show", "nightly").lines
        for line in [
            "schedule   nightly", "at         0 3 * * *, @weekly", "zone       Europe/Berlin", "overlap    queueAll",
            "catchUp    all", "window     7200s", "spread     10m", "count      5", "keep       3",
        ] {
            #expect(lines.contains(line), "\(line): \(lines)")
        }
        #expect(lines.count { $0.hasPrefix("operation") } == 2)
        let json = try machine.ok("schedule", "show", "nightly", "--json")
        let definition = try #require(try json.object["definition"] as? [String: Any])
        #expect((definition["schedule"] as? [String: Any])?["window"] as? String == "7200s")
        let operations = try #require(definition["operations"] as? [[String: Any]])
        #expect(operations[0]["environment"] as? String == "***" && operations[1]["command"] as? [String] == ["true"])
        #expect(!json.out.contains("secret"))
    }
}

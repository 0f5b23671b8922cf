import OpsCalendar
import OpsModel
import OpsWire
import Testing

@testable import OpsDaemon

/// Values of a schedule's definition, and labels of its runs.
@Suite struct ScheduleDefinitionTests {
    private func definition(_ change: (inout AddScheduleRequest) -> Void) -> ScheduleDefinition {
        let request: AddScheduleRequest = .with {
            $0.name = "drop"
            $0.zone = "UTC"
            change(&$0)
        }
        return ScheduleDefinition(request, start: UnixTime(seconds: 0))
    }

    private func expectRefusal(of key: String, _ words: String, _ change: (inout AddScheduleRequest) -> Void) {
        let definition = definition(change)
        #expect(definition.problems.isEmpty, "a stored schedule runs: \(definition.problems.text)")
        let problems = definition.problemsOfAddition(at: UnixTime(seconds: 0))
        #expect(problems.map(\.key) == [key] && problems.text.contains(words), "\(problems.text)")
    }

    @Test func `the durations of a trigger may have fractions of a second`() {
        let files = definition {
            $0.onPath = "/in/*"
            $0.settle = "900ms"
            $0.poll = "1500ms"
        }
        let expected = Trigger.path(
            glob: "/in/*", settle: .milliseconds(900), isBatch: false, poll: .milliseconds(1500))
        #expect(files.trigger == expected)
        #expect(files.problemsOfAddition(at: UnixTime(seconds: 0)).isEmpty)
        let lines = definition {
            $0.onExec = "true"
            $0.every = "1500ms"
        }
        #expect(lines.trigger == .exec(command: "true", every: .milliseconds(1500)))
    }

    @Test func `durations that are stored in whole seconds have no fractions`() {
        expectRefusal(of: "spread", "\"500ms\" is not a number of whole seconds") {
            $0.at = ["@daily"]
            $0.spread = "500ms"
        }
        expectRefusal(of: "window", "\"1500ms\" is not a number of whole seconds") {
            $0.at = ["@daily"]
            $0.window = "1500ms"
        }
    }

    @Test func `a trigger that checks more than once in a second is refused, and runs if it is stored`() {
        expectRefusal(of: "every", "\"0\" is too short; write 1s or more") {
            $0.onExec = "true"
            $0.every = "0"
        }
        expectRefusal(of: "poll", "\"10ms\" is too short; write 1s or more") {
            $0.onPath = "/in/*"
            $0.poll = "10ms"
        }
        let stored = definition {
            $0.onExec = "true"
            $0.every = "10ms"
        }
        #expect(stored.trigger == .exec(command: "true", every: .seconds(1)))
    }

    @Test func `keys of a path trigger that have no effect are refused`() {
        expectRefusal(of: "every", "is only for \"onExec\"; write poll") {
            $0.onPath = "/in/*"
            $0.every = "5m"
        }
        expectRefusal(of: "onPath", "no file matches it; write \"/in/*\"") { $0.onPath = "/in/" }
    }

    @Test func `the zone utc is UTC`() {
        let lower = definition {
            $0.at = ["@daily"]
            $0.zone = "utc"
        }
        #expect(lower.problems.isEmpty, "\(lower.problems.text)")
        #expect(lower.isEqual(definition { $0.at = ["@daily"] }))
    }

    @Test func `operations of a run have the label of the schedule, whatever the graph gives them`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try fixture.daemon.schedules.load()
        let operations = #"""
            [{"name":"a","command":["true"],"labels":{"schedule":"other"}},
             {"name":"g","labels":{"schedule":"other","team":"db"},
              "operations":[{"name":"b","command":["true"],"labels":{"schedule":"third"}}]}]
            """#
        let request: AddScheduleRequest = .with {
            $0.name = "daily"
            $0.at = ["@daily"]
            $0.zone = "UTC"
            $0.defaults = RawJSON(Array(#"{"labels":{"schedule":"other","kind":"backup"}}"#.utf8))
            $0.operations = RawElements(Array(operations.utf8))
        }
        _ = try client.call(request)
        _ = try client.call(.with { $0.name = "daily" } as RunScheduleRequest)
        let rows = try client.call(ListRequest()).operations
        #expect(rows.count == 3)
        #expect(rows.allSatisfy { $0.labels["schedule"] == "daily" && $0.labels["kind"] == "backup" })
        #expect(rows.count { $0.labels["team"] == "db" } == 2)
    }
}

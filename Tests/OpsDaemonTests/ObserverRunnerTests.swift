import OpsCore
import OpsExecutor
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon

/// Observers that very many operations of one commit have.
@Suite struct ObserverRunnerTests {
    /// Their owners are looked up, and the first observers start, in later turns.
    @Test func `a commit that finishes many operations is answered before their observers are prepared`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        let one = #"{"command":["true"],"held":true,"observers":{"finish":["true"]}}"#
        let count = 1500
        _ = try client.submit("[" + Array(repeating: one, count: count).joined(separator: ",") + "]")
        let runner = StandInRunner(fixture)
        try runner.greet()
        try client.send(.with { $0.selection.all = true } as CancelRequest)
        try fixture.turn { try client.hasReply() }
        #expect(daemon.runner.helpers.isIdle)
        #expect(!daemon.observers.isIdle)
        try fixture.turn { !daemon.runner.helpers.isIdle }
        try runner.listen()
        // One user alone has half of the slots.
        #expect(runner.launches.count == DaemonLimits.observersAtOnce / 2)
        #expect(runner.launches.allSatisfy { $0.attempt.isHelper })
    }

    @Test func `after the last number, helpers get the first numbers that no other helper has`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"],"held":true}]"#)
        let request = try #require(try daemon.composer.helper(of: OperationID(1), ["true"]))
        let process = LaunchedProcess(pid: 5, startTicks: 1, at: Clock.read())
        let runner = StandInRunner(fixture)
        try runner.greet(
            knowing: [-Int32.max, -2].map { .init(AttemptID(OperationID(1), $0), .running(process)) })
        var numbers: [Int32?] = []
        for _ in 0..<3 {
            numbers.append(try daemon.runner.helpers.start(request, timeout: .seconds(10), end: { _ in })?.number)
        }
        #expect(numbers == [-1, -3, -4])
    }

    @Test func `the result of an observer is described in words`() {
        #expect(HelperResult.code(3).text == "ended with exit status 3")
        #expect(HelperResult.signal(9).text == "was killed by SIGKILL")
        #expect(HelperResult.cannotStart(step: "exec x", errno: 2).text.hasPrefix("cannot start: exec x: "))
    }
}

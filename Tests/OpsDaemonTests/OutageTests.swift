import OpsCore
import OpsLinux
import OpsRunner
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

/// What fails while the orders of a turn are given, and what the line to the runner misses during an outage.
@Suite struct OutageTests {
    /// Its time is over while nobody can be told: it is ended when somebody can.
    @Test func whatOutstaysItsTimeInAnOutageIsEndedAfterwards() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"],"held":true}]"#)
        let runner = StandInRunner(fixture)
        try runner.greet()
        let request = try #require(try daemon.performer.errand(of: OperationID(1), ["sleep", "1000"]))
        var endings: [Errands.Ending] = []
        let errand = try #require(daemon.errands.start(request, timeout: 1_000_000) { endings.append($0) })
        daemon.runner.flush()
        daemon.runner.disconnect()
        try fixture.turn { daemon.errands.isEnding(errand) }
        let running = LaunchedProcess(pid: 5, startTicks: 1, at: Clock.read())
        try runner.greet(knowing: [RunnerGreeting.Entry(errand, .running(running))])
        #expect(runner.orders.contains { if case .terminate(errand, _) = $0 { true } else { false } })
        let exit = ProcessExit(
            status: .signal(15), userMicroseconds: 0, systemMicroseconds: 0, maxResidentBytes: 0, at: Clock.read())
        try runner.tell(.exited(errand, exit, treeIsGone: true))
        try fixture.turn { endings == [.signal(15)] }
    }
}

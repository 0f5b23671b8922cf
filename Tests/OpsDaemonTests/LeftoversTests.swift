import OpsCore
import OpsExecutor
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon

/// Leftover processes, if opsd died before it acknowledged their operations to its runner.
@Suite struct LeftoversTests {
    @Test(arguments: ["leave", "kill"])
    func `only leftovers that must not stay are ended when the runner reconnects`(leftovers: String) throws {
        let fixture = try Fixture()
        let runner = StandInRunner(fixture)
        try runner.greet()
        let operation = #"{"command":["true"],"completion":"notify","leftovers":"\#(leftovers)"}"#
        #expect(try fixture.connect().submit("[\(operation)]").count == 1)
        try runner.listen()
        let attempt = try #require(runner.launches.first?.attempt)
        let exit = ProcessExit(
            status: .code(1), at: Clock.read())
        try runner.tell(.exited(attempt, exit, treeIsGone: leftovers == "kill"))
        try fixture.turn { fixture.daemon.turns.core?.counts.executing == 0 }
        try runner.listen()
        #expect(runner.orders.contains(.acknowledge(attempt)))
        // The acknowledgement is lost.
        try runner.hangUp()
        try runner.greet(knowing: [ExecutorGreeting.Entry(attempt, .exited(exit))])
        let isEnded = runner.orders.contains { if case .terminate = $0 { true } else { false } }
        #expect(isEnded == (leftovers == "kill"))
        #expect(runner.orders.contains(.acknowledge(attempt)) == (leftovers == "leave"))
    }
}

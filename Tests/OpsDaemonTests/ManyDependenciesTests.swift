import Dispatch
import OpsCore
import OpsExecutor
import OpsWire
import Testing

@testable import OpsDaemon

/// An operation with very many dependencies.
@Suite struct ManyDependenciesTests {
    private let count = 20_000

    /// Returns a daemon in which the last operation depends on all others, which were cancelled, and is held. `keys`:
    /// further keys of the last one.
    private func fixture(_ keys: String = "") throws -> (Fixture, Client, last: OperationID) {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let held = #"{"command":["true"],"held":true}"#
        _ = try client.submit("[" + Array(repeating: held, count: count).joined(separator: ",") + "]")
        _ = try client.call(CancelRequest.with { $0.selection.all = true })
        let after = (1...count).map { #"{"op":\#($0),"when":"finished"}"# }.joined(separator: ",")
        let last = try client.submit(#"[{"command":["true"],"held":true,"after":[\#(after)]\#(keys)}]"#)
        return (fixture, client, OperationID(last.first))
    }

    @Test func `it is started with the results of its dependencies`() throws {
        let (fixture, client, last) = try fixture()
        let runner = StandInRunner(fixture)
        try runner.greet()
        _ = try client.call(ResumeRequest.with { $0.selection = .with { $0.refs = ["\(last.rawValue)"] } })
        for _ in 0..<Fixture.mostTurns where runner.launches.isEmpty { try runner.listen() }
        #expect(runner.launches.map(\.attempt.operation) == [last])
    }

    /// Its results are read outside the loop. When they have been read, the store may be in use by a long turn.
    @Test func `it is not started in the middle of a long turn`() throws {
        let (fixture, client, last) = try fixture()
        let turns = fixture.daemon.turns
        let runner = StandInRunner(fixture)
        try runner.greet()
        let other = try fixture.connect()
        let held = Array(repeating: #"{"command":["true"],"held":true}"#, count: count).joined(separator: ",")
        // Until the long turn begins, the thread that reads has something else to do.
        let hasBegun = DispatchSemaphore(value: 0)
        fixture.daemon.performer.reading.run({ hasBegun.wait() }, then: {})
        _ = try client.call(ResumeRequest.with { $0.selection = .with { $0.refs = ["\(last.rawValue)"] } })
        try other.send(Client.submission("[\(held)]"))
        try fixture.turn { turns.isLent }
        // A fast machine may have read the results within the bound of the loop.
        try runner.listen()
        let before = runner.launches.count
        hasBegun.signal()
        while runner.launches.count == before, turns.isLent { try runner.listen() }
        let isAfterIt = try runner.launches.count == before || other.hasReply()
        #expect(isAfterIt, "the launch came in the middle of the long turn")
        for _ in 0..<Fixture.mostTurns where runner.launches.isEmpty { try runner.listen() }
        #expect(runner.launches.map(\.attempt.operation) == [last])
    }

    @Test func `the command of its condition is started with their results`() throws {
        let (fixture, client, last) = try fixture(#","conditions":[{"exec":["true"]}]"#)
        let runner = StandInRunner(fixture)
        try runner.greet()
        _ = try client.call(ResumeRequest.with { $0.selection = .with { $0.refs = ["\(last.rawValue)"] } })
        for _ in 0..<Fixture.mostTurns where runner.launches.isEmpty { try runner.listen() }
        #expect(runner.launches.map(\.attempt.operation) == [last])
        #expect(runner.launches.allSatisfy { $0.attempt.isHelper })
    }

    @Test func `it is explained in few words`() throws {
        let (_, client, last) = try fixture()
        let why = try client.call(WhyRequest.with { $0.ref = "\(last.rawValue)" })
        #expect(why.waitingFor.map(\.kind) == [.held])
    }
}

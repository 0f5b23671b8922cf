import OpsCore
import OpsStore
import OpsSystem
import OpsSystemd
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

/// One event decides many operations, while the loop answers other clients.
@Suite struct CascadeTests {
    /// More operations than the loop decides itself.
    private let many = DaemonLimits.operationsInTheLoop + 100

    /// Returns a daemon in which 1 executes and `many` other operations wait for it.
    private func fixture(when: String) throws -> (Fixture, Client) {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        daemon.turns.record(.runnerConnected(Inventory(runner: "r", boot: "boot")))
        _ = try client.submit(#"[{"command":["true"]}]"#)
        try fixture.turn { daemon.turns.core?.state(of: OperationID(1)) == .executing }
        let edge = #"{"command":["true"],"held":true,"after":[{"op":1,"when":"\#(when)"}]}"#
        _ = try client.submit("[" + Array(repeating: edge, count: many).joined(separator: ",") + "]")
        return (fixture, client)
    }

    private var exit: Event {
        .exited(AttemptID(OperationID(1), 1), ProcessExit(status: .code(0), at: .now()), treeIsGone: true)
    }

    private func finished(_ client: Client) throws -> Int { try client.call(StatusRequest()).counts.finished }

    @Test(arguments: ["failed", "succeeded"])
    func `others are answered while the end of one operation decides many`(when: String) throws {
        let (fixture, client) = try fixture(when: when)
        let daemon = fixture.daemon
        daemon.turns.record(exit)
        #expect(daemon.turns.longTurn != nil)
        // Answered in one turn of the loop, from the earlier state.
        try client.send(StatusRequest())
        try fixture.turn { daemon.turns.longTurn?.isGathering == false }
        let during = try #require(try client.receive()).result(StatusReply.self).counts
        #expect(during.finished == 0 || during.finished == (when == "failed" ? many + 1 : 1))
        try fixture.turn { daemon.turns.longTurn == nil }
        #expect(try finished(client) == (when == "failed" ? many + 1 : 1))
        let rows = try daemon.store.load().operations
        #expect(rows.count == (when == "failed" ? 0 : many))
        #expect(rows.allSatisfy { $0.state == .ready })
    }

    @Test func `facts and requests behind a large fact come in their order`() throws {
        let (fixture, client) = try fixture(when: "failed")
        let daemon = fixture.daemon
        let other = try fixture.connect()
        _ = try other.submit(#"[{"command":["true"]}]"#)
        let second = OperationID(Int64(many) + 2)
        try fixture.turn { daemon.turns.core?.state(of: second) == .executing }
        daemon.turns.record(exit)
        daemon.turns.record(.exited(AttemptID(second, 1), ProcessExit(status: .code(0), at: .now()), treeIsGone: true))
        _ = try other.submit(#"[{"command":["true"],"held":true}]"#)
        #expect(daemon.turns.longTurn == nil)
        #expect(try finished(client) == many + 2)
    }

    @Test func `what was handled before a large fact is stored before it`() throws {
        let (fixture, client) = try fixture(when: "failed")
        let daemon = fixture.daemon
        daemon.turns.record(.setWorkers(7))
        daemon.turns.record(exit)
        #expect(daemon.turns.turn.isAheadOfStore && daemon.turns.longTurn != nil)
        try fixture.turn { daemon.turns.longTurn == nil }
        #expect(daemon.turns.core?.workers == 7)
        #expect(try finished(client) == many + 1)
    }

    @Test func `a disk that takes nothing leaves a large fact to be told again`() throws {
        let (fixture, client) = try fixture(when: "failed")
        let daemon = fixture.daemon
        try daemon.store.database.execute("PRAGMA query_only = 1")
        daemon.turns.record(exit)
        try fixture.turn { daemon.turns.outage != nil }
        #expect(daemon.turns.longTurn == nil)
        try daemon.store.database.execute("PRAGMA query_only = 0")
        try fixture.turn { daemon.turns.outage == nil }
        #expect(try finished(client) == 0)
        var inventory = Inventory(runner: "r", boot: "boot")
        inventory.entries[AttemptID(OperationID(1), 1)] = .gone(ProcessExit(status: .code(0), at: .now()))
        daemon.turns.record(.runnerConnected(inventory))
        #expect(daemon.turns.longTurn != nil)
        try fixture.turn { daemon.turns.longTurn == nil }
        #expect(try finished(client) == many + 1)
    }

    /// Readers with an open transaction cannot be pinned to the present state.
    @Test func `facts that are reported once survive a long turn that cannot begin`() throws {
        let (fixture, client) = try fixture(when: "failed")
        let daemon = fixture.daemon
        daemon.turns.record(exit)
        daemon.turns.record(.setWorkers(7))
        try daemon.history.database.execute("BEGIN")
        try fixture.turn { daemon.turns.outage != nil }
        try fixture.turn { daemon.turns.outage == nil }
        #expect(daemon.turns.core?.workers == 7)
        #expect(try finished(client) == 0)
    }

    @Test func `a cancel of one operation that many wait for is decided outside the loop`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"],"held":true}]"#)
        let after = #"{"command":["true"],"after":["1"]}"#
        _ = try client.submit("[" + Array(repeating: after, count: many).joined(separator: ",") + "]")
        try client.send(.with { $0.selection = .with { $0.refs = ["1"] } } as CancelRequest)
        try fixture.turn { fixture.daemon.turns.longTurn != nil }
        #expect(try client.receive()?.result(TouchedOnes.self).touched == 1)
        #expect(try finished(client) == many + 1)
    }

    @Test func `timers that are due together are decided outside the loop`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        let late = #"{"command":["true"],"held":true,"deadline":0.001}"#
        _ = try client.submit("[" + Array(repeating: late, count: many).joined(separator: ",") + "]")
        try fixture.turn { daemon.turns.core?.counts.ready == 0 && daemon.turns.longTurn == nil }
        #expect(try finished(client) == many)
    }

    @Test func `a group with many children starts outside the loop`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        daemon.turns.record(.runnerConnected(Inventory(runner: "r", boot: "boot")))
        let children = Array(repeating: #"{"command":["true"],"held":true}"#, count: many).joined(separator: ",")
        _ = try client.submit(#"[{"held":true,"operations":[\#(children)]}]"#)
        try client.send(.with { $0.selection = .with { $0.refs = ["1"] } } as ResumeRequest)
        #expect(try client.receive()?.failure == nil)
        try fixture.turn { daemon.turns.longTurn == nil && daemon.turns.core?.state(of: OperationID(1)) == .executing }
        #expect(daemon.turns.core?.counts.pending == 0)
    }

    @Test func `a question about many operations is answered outside the loop`() throws {
        let (fixture, client) = try fixture(when: "failed")
        let other = try fixture.connect()
        try client.send(
            .with {
                $0.ref = "2"
                $0.whatIf = "finish 1"
            } as WhyRequest)
        #expect(try client.receive()?.result(WhyReply.self).state == "finished")
        try client.send(
            .with {
                $0.ref = "2"
                $0.whatIf = "finish 2"
            } as WhyRequest)
        #expect(try client.receive()?.failure != nil)
        #expect(try finished(other) == 0, "nothing has changed")
        var trial = Client.submission(#"[{"command":["true"],"after":["1"]}]"#)
        trial.terms.dryRun = true
        #expect(try client.call(trial).first == Int64(many) + 2)
        #expect(try fixture.daemon.store.load().operations.count == many + 1)
    }
}

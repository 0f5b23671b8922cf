import OpsCore
import OpsSystemd
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

@Suite struct RetentionTests {
    @Test func `a pruning keeps a graph that a retry has reopened in the same turn`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"],"held":true}]"#)
        _ = try client.call(CancelRequest.with { $0.selection.refs = ["1"] })
        let id = OperationID(1)
        let revived = try daemon.history.revival(of: [id], downstream: false)
        let pruning = daemon.store.prune(olderThan: .distantFuture)
        daemon.turns.record(.retry([id], revived: revived))
        #expect(daemon.turns.turn.isAheadOfStore)
        for _ in 0..<100 where !pruning.isComplete { try daemon.retention.step(pruning) }
        #expect(pruning.isComplete && pruning.removed == 0)
        try fixture.loop.turn(timeout: 0)
        #expect(daemon.turns.outage == nil)
        #expect(try daemon.store.load().operations.map(\.id) == [id])
    }

    @Test func `an hourly pruning that meets an outage is put off`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        try daemon.store.database.execute("PRAGMA query_only = 1")
        #expect(try client.refusal(Client.submission(#"[{"command":["true"]}]"#)) != nil)
        try #require(daemon.turns.outage != nil)
        daemon.retention.begin()
        #expect(!daemon.retention.isPruning)
        #expect(daemon.retention.alarm.instant != nil)
        try daemon.store.database.execute("PRAGMA query_only = 0")
        try fixture.turn { daemon.turns.outage == nil }
    }

    /// A schedule names an unwanted graph once, and forgets it.
    @Test func `unwanted graphs that could not be removed are removed by the next pruning`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        daemon.configuration.keepFor = nil
        daemon.configuration.logTotal = 0
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"],"held":true}]"#)
        _ = try client.call(CancelRequest.with { $0.selection.refs = ["1"] })
        try daemon.store.database.execute("PRAGMA query_only = 1")
        daemon.retention.remove([GraphID(1)])
        for _ in 0..<3 { try fixture.loop.turn(timeout: 1000) }
        #expect(!daemon.retention.isPruning)
        #expect(daemon.retention.alarm.instant != nil)
        try daemon.store.database.execute("PRAGMA query_only = 0")
        try fixture.turn { daemon.turns.outage == nil }
        for _ in 0..<3 { try fixture.loop.turn(timeout: 1000) }
        #expect(daemon.retention.removed == 0, "it is not tried again at once")
        daemon.retention.begin()
        for _ in 0..<100 where daemon.retention.removed == 0 { try fixture.loop.turn(timeout: 1000) }
        #expect(daemon.retention.removed == 1)
    }
}

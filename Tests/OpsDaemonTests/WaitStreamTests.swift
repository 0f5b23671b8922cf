import OpsCore
import OpsWire
import Testing

@testable import OpsDaemon

/// The count that a wait keeps while commits arrive.
@Suite struct WaitStreamTests {
    private func wait(_ client: Client, _ select: (inout Selection) -> Void) throws {
        try client.send(WaitRequest.with { select(&$0.selection) }, more: true)
    }

    private func queue(_ name: String, _ client: Client) throws {
        _ = try client.call(SetQueueRequest.with { $0.name = name })
    }

    /// The wait reads the result of the commit, and does not get the event as well.
    @Test func `an operation that ends in the turn of the call is reported once`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"]},{"command":["true"]}]"#)
        let cancel = CancelRequest.with { $0.selection.all = true }
        try client.send(Call.frame(cancel) + Call.frame(WaitRequest.with { $0.selection.graph = "g1" }, more: true))
        #expect(try client.receive()?.result(TouchedOnes.self).touched == 2)
        let reply = try #require(try client.receive())
        #expect(try reply.result(WaitReply.self).ended.map(\.id) == [1, 2])
        #expect(!reply.continues)
    }

    @Test func `waiting for a queue follows operations that move between queues`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        for name in ["old", "new"] { try queue(name, client) }
        _ = try client.submit(
            #"[{"command":["true"],"queue":"old","held":true},{"command":["true"],"queue":"new","held":true}]"#)
        let (old, new) = (try fixture.connect(), try fixture.connect())
        try wait(old) { $0.queue = "old" }
        try wait(new) { $0.queue = "new" }
        try fixture.turn { fixture.daemon.publisher.nextNumber == 2 }
        _ = try client.call(
            SetRequest.with {
                $0.selection.refs = ["1"]
                $0.changes = JSONObject([.init("queue", "new")])
            })
        let left = try #require(try old.receive())
        #expect(!left.continues)
        #expect(try left.result(WaitReply.self).ended.isEmpty)
        _ = try client.call(CancelRequest.with { $0.selection.all = true })
        let reply = try #require(try new.receive()).result(WaitReply.self)
        #expect(reply.ended.map(\.id) == [1, 2])
        #expect(!reply.succeeded)
    }

    /// Finished, retried and finished again: the last outcome counts, and is reported once.
    @Test func `the last outcome of a retried operation counts`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"]},{"command":["true"]}]"#)
        daemon.turns.record(.runnerConnected(Inventory(runner: "r", boot: "boot")))
        try fixture.turn { daemon.turns.core?.executing.count == 2 }
        let waiting = try fixture.connect()
        try waiting.send(WaitRequest.with { $0.selection.graph = "g1" })
        try fixture.turn { daemon.publisher.nextNumber == 1 }
        func exit(_ id: Int64, _ attempt: Int32, _ code: Int32) {
            let exit = ProcessExit(status: .code(code), at: .now())
            daemon.turns.record(.exited(AttemptID(OperationID(id), attempt), exit, treeIsGone: true))
        }
        exit(1, 1, 1)
        try fixture.turn { daemon.turns.core?.contains(OperationID(1)) == false }
        _ = try client.call(RetryRequest.with { $0.selection.refs = ["1"] })
        try fixture.turn { daemon.turns.core?.executing.count == 2 }
        exit(1, 2, 0)
        exit(2, 1, 0)
        let reply = try #require(try waiting.receive()).result(WaitReply.self)
        #expect(reply.ended.map(\.id) == [1, 2])
        #expect(reply.succeeded)
    }
}

import OpsCore
import OpsExecutor
import OpsStore
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

/// Requests so large that they are decided and stored outside the loop.
@Suite struct LongTurnTests {
    /// Returns a chain of operations, of which only the first is ready.
    private func chain(_ count: Int) -> String {
        let operations = (0..<count).map { place in
            let after = place > 0 ? #","after":["n\#(place - 1)"]"# : ""
            return #"{"name":"n\#(place)","command":["true","\#(place)"]\#(after)}"#
        }
        return "[" + operations.joined(separator: ",") + "]"
    }

    private let large = DaemonLimits.operationsInTheLoop + 500

    @Test func `read-only calls during a long turn are answered with the state before it`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let other = try fixture.connect()
        _ = try other.submit(#"[{"name":"first","command":["true"],"held":true}]"#)
        let client = try fixture.connect()
        try client.send(Client.submission(chain(large)))
        try fixture.turn { daemon.turns.longTurn != nil }
        // It may be stored at any moment; clients see it only when the scheduler has it.
        let before = try other.call(StatusRequest())
        if daemon.turns.longTurn != nil {
            #expect(before.counts.pending + before.counts.ready == 0 && before.counts.held == 1)
            #expect(try daemon.history.select(Selection(), limit: 10).count == 1)
        }
        let reply = try #require(try client.receive()).result(SubmitReply.self)
        #expect(reply.first == 2 && reply.count == large)
        let after = try other.call(StatusRequest())
        #expect(after.counts.pending + after.counts.ready + after.counts.held == large + 1)
        #expect(try daemon.store.load().operations.count == large + 1)
        #expect(try daemon.history.check() == [])
    }

    /// Answers are published during the long turn, when the store has the graph and readers do not see it yet.
    @Test func `observers of a large graph run although answers are given while it is stored`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let runner = StandInRunner(fixture)
        try runner.greet()
        let (client, other) = try (fixture.connect(), fixture.connect())
        let held = Array(repeating: #"{"command":["true"],"held":true}"#, count: large).joined(separator: ",")
        var request = Client.submission("[\(held)]")
        request.terms.observers = RawJSON(Array(#"{"finish":["true"]}"#.utf8))
        try client.send(request)
        try fixture.turn { daemon.turns.longTurn != nil }
        while daemon.turns.longTurn != nil { _ = try other.call(StatusRequest()) }
        #expect(try client.receive()?.result(SubmitReply.self).count == large)
        _ = try client.call(.with { $0.selection.all = true } as CancelRequest)
        try fixture.turn { !daemon.runner.helpers.isIdle }
    }

    /// Such conditions are evaluated in the loop, each answer is an event, and some answers lead to the next evaluations.
    @Test func `a large submission waits for no operations whose conditions are evaluated again and again`() throws {
        let fixture = try Fixture()
        let store = fixture.daemon.store
        let runner = StandInRunner(fixture)
        try runner.greet()
        let client = try fixture.connect()
        let condition = #""conditions":[{"loadBelow":0.0001,"every":"1s","otherwise":"wait"}]"#
        let waiting = (0..<1000).map { _ in #"{"command":["true"],\#(condition)}"# }
        _ = try client.submit("[" + waiting.joined(separator: ",") + "]")
        let earlier = store.commitTimes.counts.reduce(0, +)
        let held = (0..<large).map { _ in #"{"command":["true"],"held":true}"# }
        try client.send(Client.submission("[" + held.joined(separator: ",") + "]"))
        try fixture.turn { fixture.daemon.turns.longTurn != nil }
        #expect(store.commitTimes.counts.reduce(0, +) - earlier < 30)
        #expect(try #require(try client.receive()).result(SubmitReply.self).count == large)
    }

    @Test func `what became startable just before a large request starts, although the request is refused`() throws {
        let fixture = try Fixture()
        let runner = StandInRunner(fixture)
        try runner.greet()
        let clients = try [fixture.connect(), fixture.connect()]
        try clients[0].send(Client.submission(#"[{"command":["true"]}]"#))
        let circle = (0..<large).map { #"{"name":"n\#($0)","command":["true"],"after":["n\#(($0 + 1) % large)"]}"# }
        try clients[1].send(Client.submission("[" + circle.joined(separator: ",") + "]"))
        #expect(try #require(try clients[0].receive()).result(SubmitReply.self).first == 1)
        #expect(throws: (any Error).self) { try #require(try clients[1].receive()).result(SubmitReply.self) }
        try runner.listen()
        #expect(runner.launches.contains { $0.attempt == AttemptID(OperationID(1), 1) })
    }

    /// Otherwise the next commit in the loop would have to checkpoint everything that the large one wrote.
    @Test func `a checkpoint after a large submission runs outside the loop`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let count = large
        let padding = String(repeating: "x", count: 2000)
        let operations = (0..<count).map { #"{"command":["true","\#($0)\#(padding)"],"held":true}"# }
        _ = try client.submit("[" + operations.joined(separator: ",") + "]")
        try fixture.turn { !fixture.daemon.upkeep.isMovingLog }
        // The file contains everything even without its log.
        let copy = fixture.directory + "/copy.db"
        try Files.replace(copy, with: try Files.read(fixture.daemon.store.path, limit: 1 << 26), mode: 0o600)
        #expect(try Database(copy, .readOnly).integer("SELECT count(*) FROM operation") == Int64(count))
    }

    /// The end of the first move, put off, permitted checkpoints while the second one ran.
    @Test func `no checkpoint is permitted while the log of the second of two large submissions is moved`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let padding = String(repeating: "x", count: 2000)
        let operations = (0..<large).map { #"{"command":["true","\#($0)\#(padding)"],"held":true}"# }
        let clients = try [fixture.connect(), fixture.connect()]
        for client in clients { try client.send(Client.submission("[" + operations.joined(separator: ",") + "]")) }
        var moves = 0
        var wasMoving = false
        try fixture.turn {
            let isMoving = daemon.upkeep.isMovingLog
            if isMoving && !wasMoving { moves += 1 }
            wasMoving = isMoving
            #expect(!isMoving || daemon.store.isLogBeingMoved)
            return try daemon.history.select(Selection(), limit: 3 * large).count == 2 * large && !isMoving
        }
        #expect(moves > 0 && !daemon.store.isLogBeingMoved)
        for client in clients {
            let reply = try #require(try client.receive())
            #expect(try reply.result(SubmitReply.self).count == large)
        }
    }

    @Test func `a submission that shrinks while it is read outside the loop is answered once`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let blanks = String(repeating: " ", count: 2 * DaemonLimits.bytesReadInTheLoop)
        let reply = try client.submit("[" + blanks + #"{"command":["true"],"held":true}]"#)
        #expect(reply.count == 1)
        // A second answer would be taken for the answer to this call.
        let counts = try client.call(StatusRequest()).counts
        #expect(counts.held == 1)
        #expect(try client.hasReply() == false)
    }

    @Test func `requests that wait for a long turn are taken from each user in turn`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        try client.send(Client.submission(chain(large)))
        try fixture.turn { daemon.turns.longTurn != nil }
        let busy = try #require(daemon.turns.longTurn?.user)
        var order: [String] = []
        for (name, user) in [("own", busy), ("a1", busy + 1), ("a2", busy + 1), ("b1", busy + 2)] {
            daemon.turns.longTurn?.work.append({ order.append(name) }, of: user)
        }
        _ = try client.receive()
        try fixture.turn { order.count == 4 }
        #expect(order == ["a1", "b1", "own", "a2"])
    }

    @Test func `changes wait for the end of a long turn and keep their order`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let small = try fixture.connect()
        daemon.turns.record(.runnerConnected(Inventory(runner: "r", boot: "boot")))
        _ = try small.submit(#"[{"command":["true"]}]"#)
        try fixture.turn { daemon.turns.core?.state(of: OperationID(1)) == .executing }

        let client = try fixture.connect()
        try client.send(Client.submission(chain(large)))
        try fixture.turn { daemon.turns.longTurn != nil }
        // A report, a submission and a query after it on the same connection.
        daemon.turns.record(
            .exited(AttemptID(OperationID(1), 1), ProcessExit(status: .code(0), at: .now()), treeIsGone: true))
        let one = Call.frame(Client.submission(#"[{"command":["true"],"held":true}]"#))
        try small.send(one + Call.frame(StatusRequest()))
        #expect(try client.receive()?.result(SubmitReply.self).first == 2)
        #expect(try small.receive()?.result(SubmitReply.self).first == Int64(large) + 2)
        #expect(try small.receive()?.result(StatusReply.self).counts.finished == 1)
        #expect(daemon.turns.longTurn == nil)
    }

    /// During the long turn, the scheduler of the loop does not know these operations.
    @Test func `a stop during a long turn cancels the operations that the turn starts`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        daemon.turns.record(.runnerConnected(Inventory(runner: "r", boot: "boot")))
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"]}]"#)
        try fixture.turn { daemon.turns.core?.state(of: OperationID(1)) == .executing }
        try client.send(Client.submission(chain(large)))
        try fixture.turn { daemon.turns.longTurn != nil }
        daemon.stop(.cancel)
        #expect(try client.receive()?.result(SubmitReply.self).first == 2)
        #expect(daemon.turns.core?.counts.executing == 2)
        #expect(daemon.turns.core?.isCancelling(OperationID(1)) == true)
        #expect(daemon.turns.core?.isCancelling(OperationID(2)) == true)
    }

    @Test func `a large submission that is refused leaves nothing behind`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let cycle = chain(large).dropLast(2) + #","categories":[{"name":"gpu","units":5}]}]"#
        #expect(try client.refusal(Client.submission(String(cycle))) != nil)
        let unknown = chain(large).dropLast(1) + #",{"command":["x"],"after":["77"]}]"#
        #expect(try client.refusal(Client.submission(String(unknown))) != nil)
        #expect(try fixture.daemon.store.load().nextOperation == 1)
        #expect(try client.submit(chain(large)).first == 1)
    }

    @Test func `a dry run of a large submission stores nothing`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        var request = Client.submission(chain(large))
        request.terms.dryRun = true
        #expect(try client.call(request).count == large)
        #expect(try fixture.daemon.store.load().operations.isEmpty)
        #expect(fixture.daemon.turns.core?.counts.pending == 0)
    }

    @Test func `a large submission that cannot be written starts an outage`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        try daemon.store.database.execute("PRAGMA query_only = 1")
        guard case .control(.storageUnavailable) = try client.refusal(Client.submission(chain(large))) else {
            Issue.record("acknowledged without a disk")
            return
        }
        #expect(try client.call(StatusRequest()).state == .storageUnavailable)
        try daemon.store.database.execute("PRAGMA query_only = 0")
        try fixture.turn { daemon.turns.outage == nil }
        #expect(try client.submit(chain(large)).first == 1)
    }

    /// The graph is read and encoded outside the loop. Later calls of the connection are answered after it.
    @Test func `a large graph is answered in order`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        _ = try client.submit(chain(large))
        try client.send(Call.frame(GraphRequest.with { $0.graph = "g1" }) + Call.frame(StatusRequest()))
        let graph = try #require(try client.receive()).result(GraphReply.self)
        #expect(graph.nodes.count == large)
        #expect(graph.edges.count == large - 1)
        #expect(try client.receive()?.result(StatusReply.self).counts.pending == large - 1)
    }

    @Test func `a large cancel is a long turn`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        _ = try client.submit(chain(large))
        try client.send(.with { $0.selection.all = true } as CancelRequest)
        try fixture.turn { fixture.daemon.turns.longTurn != nil }
        #expect(try client.receive()?.result(TouchedOnes.self).touched == large)
        #expect(try client.call(StatusRequest()).counts.finished == large)
    }

    /// The first message is larger than the loop reads itself, and others follow.
    @Test func `a large message is read in order`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let long = String(repeating: "x", count: DaemonLimits.bytesReadInTheLoop)
        let large = Call.frame(Client.submission(#"[{"command":["true","\#(long)"],"held":true}]"#))
        try client.send(large + Call.frame(StatusRequest()) + large)
        client.finishSending()
        #expect(try client.receive()?.result(SubmitReply.self).first == 1)
        #expect(try client.receive()?.result(StatusReply.self).counts.held == 1)
        #expect(try client.receive()?.result(SubmitReply.self).first == 2)
        #expect(try client.receive() == nil)
    }

    /// The answer to the first call does not end the long turn of the second.
    @Test func `no call overtakes a large submission after the answer to an earlier call`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let small = Client.submission(#"[{"command":["true"],"held":true}]"#)
        try client.send(
            Call.frame(ListQueuesRequest()) + Call.frame(Client.submission(chain(large))) + Call.frame(small))
        #expect(try client.receive()?.result(ListQueuesReply.self).queues.isEmpty == false)
        #expect(try client.receive()?.result(SubmitReply.self).first == 1)
        #expect(try client.receive()?.result(SubmitReply.self).first == Int64(large) + 1)
    }

    /// Pending answers come before the refusal of a later message.
    @Test func `a message that is no call is refused after the answers before it`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try client.send(Call.frame(Client.submission(#"[{"command":["true"]}]"#)) + Array("nonsense\0".utf8))
        #expect(try client.receive()?.result(SubmitReply.self).first == 1)
        #expect(try client.receive()?.failure != nil)
        #expect(try client.receive() == nil)
    }

    @Test func `a large message that is no call ends the connection`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try client.send([UInt8](repeating: UInt8(ascii: "x"), count: DaemonLimits.bytesReadInTheLoop + 1) + [0])
        #expect(try client.receive()?.failure != nil)
        #expect(try client.receive() == nil)
    }
}

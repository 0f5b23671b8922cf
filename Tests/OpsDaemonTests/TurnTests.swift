import OpsWire
import Testing

@testable import OpsCore
@testable import OpsDaemon
@testable import OpsStore

@Suite struct TurnTests {
    @Test func `an acknowledged submission is in the store`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let reply = try client.submit(
            #"[{"name":"a","command":["true"]},{"name":"b","command":["true"],"after":["a"]}]"#)
        #expect(reply.count == 2)
        let snapshot = try fixture.daemon.store.load()
        #expect(snapshot.operations.map(\.id.rawValue) == [reply.first, reply.first + 1])
        #expect(snapshot.edges.count == 1)
    }

    @Test func `calls of one turn are answered in order`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        // A read between two submissions shows what was stored before it was answered.
        let one = Call.frame(Client.submission(#"[{"command":["true"]}]"#))
        let wrong = Call.frame(Client.submission(#"[{"command":["true"],"queue":"nowhere"}]"#))
        try client.send(one + wrong + Call.frame(StatusRequest()) + one)
        #expect(try client.receive()?.result(SubmitReply.self).first == 1)
        #expect(try client.receive()?.failure != nil)
        #expect(try client.receive()?.result(StatusReply.self).counts.ready == 1)
        #expect(try client.receive()?.result(SubmitReply.self).first == 2)
    }

    @Test func `a refused graph leaves nothing behind`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let cycle = #"[{"name":"a","command":["x"],"after":["b"]},{"name":"b","command":["x"],"after":["a"]}]"#
        #expect(try client.refusal(Client.submission(cycle)) != nil)
        let unknown = try client.refusal(Client.submission(#"[{"command":["x"],"after":[77]}]"#))
        guard case .control(.invalidOperation(let problems)) = unknown else {
            Issue.record("not refused as invalid: \(String(describing: unknown))")
            return
        }
        #expect(problems.map(\.key) == ["after"])
        #expect(try fixture.daemon.store.load().operations.isEmpty)
        #expect(try fixture.daemon.store.load().nextOperation == 1)
    }

    /// While nothing can be written, submissions are refused and reads show the stored state. The outage ends by
    /// itself.
    @Test func `a failed commit changes nothing`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let kept = try client.submit(#"[{"name":"kept","command":["true"]}]"#)

        try fixture.daemon.store.database.execute("PRAGMA query_only = 1")
        guard case .control(.storageUnavailable) = try client.refusal(Client.submission(#"[{"command":["true"]}]"#))
        else {
            Issue.record("acknowledged without a disk")
            return
        }
        #expect(try client.call(StatusRequest()).state == .storageUnavailable)
        let show = try client.call(.with { $0.ref = "kept" } as ShowRequest)
        #expect(show.operation.id == kept.first)
        let why = try client.call(.with { $0.ref = "kept" } as WhyRequest)
        #expect(why.waitingFor.contains { $0.kind == .storage })

        try fixture.daemon.store.database.execute("PRAGMA query_only = 0")
        try fixture.turn { fixture.daemon.turns.outage == nil }
        #expect(try client.submit(#"[{"command":["true"]}]"#).first == kept.first + 1)
        #expect(try client.call(StatusRequest()).state == .running)
    }

    /// Returns a fixture in which the operation 1 executes, and its client.
    private func executing() throws -> (Fixture, Client) {
        let fixture = try Fixture()
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"]}]"#)
        fixture.daemon.turns.record(.runnerConnected(Inventory(runner: "r", boot: "boot")))
        try fixture.turn { fixture.daemon.turns.core?.state(of: OperationID(1)) == .executing }
        return (fixture, client)
    }

    @Test func `facts that are reported once survive an outage`() throws {
        let (fixture, _) = try executing()
        let daemon = fixture.daemon

        try daemon.store.database.execute("PRAGMA query_only = 1")
        let attempt = AttemptID(OperationID(1), 1)
        daemon.turns.record(.updated(attempt, OperationUpdate(status: "half way")))
        try fixture.turn { daemon.turns.outage != nil }
        daemon.turns.record(.updated(attempt, OperationUpdate(progressDone: 1, progressTotal: 2)))

        try daemon.store.database.execute("PRAGMA query_only = 0")
        try fixture.turn { try daemon.history.record(of: OperationID(1))?.progressDone == 1 }
        #expect(try daemon.history.record(of: OperationID(1))?.statusText == "half way")
    }

    @Test func `an empty status text is absent in the row of its operation`() throws {
        let (fixture, client) = try executing()
        let daemon = fixture.daemon
        daemon.turns.record(.updated(AttemptID(OperationID(1), 1), OperationUpdate(status: "")))
        try fixture.turn { try daemon.history.record(of: OperationID(1))?.statusText == "" }
        let show = try client.call(.with { $0.ref = "1" } as ShowRequest)
        #expect(show.operation.state == .executing && show.operation.statusText == nil)
    }

    /// A signal is not repeated, so its request must not be lost.
    @Test(arguments: [true, false]) func `a request made by a signal is carried out after an outage`(comesFirst: Bool)
        throws
    {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"]}]"#)
        daemon.turns.record(.runnerConnected(Inventory(runner: "r", boot: "boot")))
        try fixture.turn { daemon.turns.core?.state(of: OperationID(1)) == .executing }

        try daemon.store.database.execute("PRAGMA query_only = 1")
        if !comesFirst {
            guard case .control(.storageUnavailable) = try client.refusal(Client.submission(#"[{"command":["true"]}]"#))
            else {
                Issue.record("acknowledged without a disk")
                return
            }
        }
        daemon.stop(.cancel)
        daemon.turns.record(.setWorkers(7))
        try fixture.turn { daemon.turns.outage != nil }

        try daemon.store.database.execute("PRAGMA query_only = 0")
        try fixture.turn { daemon.turns.core?.isCancelling(OperationID(1)) == true }
        #expect(daemon.turns.core?.workers == 7)
        #expect(daemon.turns.core?.mayStart == false)
    }

    /// Reloads report success, and are not repeated.
    @Test func `settings that change during an outage apply after it`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        try daemon.store.database.execute("PRAGMA query_only = 1")
        #expect(try client.refusal(Client.submission(#"[{"command":["true"]}]"#)) != nil)
        try #require(daemon.turns.outage != nil)
        daemon.turns.record(.setOperationsPerUser(7))
        daemon.turns.record(.setObserversOfAll(.finish))
        for window in [5, 6] as [Int32] {
            daemon.turns.record(.setExecutors([ExecutorSettings(name: "far", window: window)]))
        }

        try daemon.store.database.execute("PRAGMA query_only = 0")
        try fixture.turn { daemon.turns.outage == nil }
        #expect(daemon.turns.core?.registry.operationsPerUser == 7)
        #expect(daemon.turns.core?.registry.observersOfAll == .finish)
        #expect(daemon.turns.core?.executorLoads.first { $0.name == "far" }?.window == 6)
    }

    @Test func `a chosen number of workers is kept until the configuration changes`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        _ = try fixture.connect().call(.with { $0.workers = 5 } as SetWorkersRequest)
        #expect(daemon.turns.core?.workers == 5)
        #expect(try daemon.turns.storedCore().workers == 5)
        daemon.configuration.workers = 3
        #expect(try daemon.turns.storedCore().workers == 3)
        daemon.turns.record(.setWorkers(3))
        daemon.turns.commitTurn()
        daemon.configuration.workers = 2
        #expect(try daemon.turns.storedCore().workers == 2)
    }

    @Test func `a submission with a known key is answered with the earlier one`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        var request = Client.submission(#"[{"command":["true"]}]"#)
        request.terms.key = "nightly"
        // Both arrive in one turn: the second must see the first, although it is not stored yet.
        try client.send(Call.frame(request) + Call.frame(request))
        let first = try #require(try client.receive()).result(SubmitReply.self)
        let second = try #require(try client.receive()).result(SubmitReply.self)
        #expect(!first.existing)
        #expect(second.existing)
        #expect(second.first == first.first)
    }

    @Test func `a dry run stores nothing`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        var request = Client.submission(#"[{"name":"a","command":["true"]}]"#)
        request.terms.dryRun = true
        request.terms.list = true
        let reply = try client.call(request)
        #expect(reply.operations?.map(\.name) == ["a"])
        #expect(try fixture.daemon.store.load().operations.isEmpty)
    }
}

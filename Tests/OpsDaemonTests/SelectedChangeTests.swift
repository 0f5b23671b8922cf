import Dispatch
import Glibc
import OpsCore
import OpsStore
import OpsSystem
import OpsSystemd
import OpsWire
import Testing

@testable import OpsDaemon

/// Requests that change or follow selected operations: the operations are looked up outside the loop, and changed in
/// the state that they have then.
@Suite struct SelectedChangeTests {
    /// A query that delays the queries after it until the gate is opened.
    private struct Gate: Query {
        let isOpen: DispatchSemaphore

        /// The history that is read in the loop.
        let loop: ObjectIdentifier

        func proceed(_ history: History) throws -> Bool? {
            if ObjectIdentifier(history) == loop { throw StoreError(.interrupted, "outside the loop", file: "") }
            isOpen.wait()
            return true
        }
    }

    /// Delays all queries of the clients; the returned semaphore lets them continue.
    private func closeGate(_ fixture: Fixture) throws -> DispatchSemaphore {
        let isOpen = DispatchSemaphore(value: 0)
        // A query of the same user, whose queries are answered roughly in order.
        let exchange = try fixture.exchange(of: getuid())
        fixture.daemon.requests.queries.ask(
            Gate(isOpen: isOpen, loop: ObjectIdentifier(fixture.daemon.history)), of: exchange
        ) { _ in }
        return isOpen
    }

    private let held = #"{"command":["true"],"held":true}"#

    private func submitHeld(_ count: Int, _ client: Client) throws {
        _ = try client.submit("[" + Array(repeating: held, count: count).joined(separator: ",") + "]")
    }

    /// Gives the scheduler an event at once, before all waiting requests.
    private func tell(_ event: Event, _ fixture: Fixture) {
        fixture.daemon.turns.record(event)
        fixture.daemon.turns.commitTurn()
    }

    /// Submits many operations with many labels; each has most of them and none has all.
    private func submitLabelled(_ count: Int, _ client: Client) throws {
        let labels = (0..<20).map { #""l\#($0)":"v""# }.joined(separator: ",")
        let operations = (0..<count).map { place in
            let last = place == count - 1 ? #","last":"v""# : ""
            return #"{"command":["true"],"held":true,"labels":{"n":"\#(place)",\#(labels)\#(last)}}"#
        }
        _ = try client.submit("[" + operations.joined(separator: ",") + "]")
    }

    private func slowSelection(_ count: Int) -> OpsWire.Selection {
        .with {
            $0.refs = (0..<200).map { "\($0 * count / 200 + 1)-\(($0 + 1) * count / 200 - 1)" } + ["\(count)"]
            $0.labels = StringMap((0..<20).map { ("l\($0)", "v") } + [("last", "v")])
        }
    }

    @Test(arguments: ["Cancel", "Set", "Suspend", "Resume", "Retry", "Wait", "Watch", "Stats"])
    func `others are answered while a long selection is looked up`(verb: String) throws {
        let fixture = try Fixture()
        let (asker, other) = (try fixture.connect(), try fixture.connect())
        let count = 10_000
        try submitLabelled(count, asker)
        if verb == "Retry" || verb == "Wait" {
            _ = try asker.call(CancelRequest.with { $0.selection.all = true })
        }
        let selection = slowSelection(count)
        let frame =
            switch verb {
            case "Cancel": Call.frame(CancelRequest.with { $0.selection = selection })
            case "Set":
                Call.frame(
                    SetRequest.with {
                        $0.selection = selection
                        $0.changes = JSONObject([.init("priority", 3)])
                    })
            case "Suspend": Call.frame(SuspendRequest.with { $0.selection = selection })
            case "Resume": Call.frame(ResumeRequest.with { $0.selection = selection })
            case "Retry": Call.frame(RetryRequest.with { $0.selection = selection })
            case "Wait": Call.frame(WaitRequest.with { $0.selection = selection })
            case "Watch": Call.frame(WatchRequest.with { $0.selection = selection }, more: true)
            default: Call.frame(StatsRequest.with { $0.selection = selection })
            }
        // The call after it shows that calls of a connection are answered in order.
        try asker.send(verb == "Watch" ? frame : frame + Call.frame(StatusRequest()))
        try fixture.loop.turn(timeout: 0)
        _ = try other.call(StatusRequest())
        #expect(try !asker.hasReply(), "the other was answered first")
        guard verb != "Watch" else { return }
        let reply = try #require(try asker.receive())
        #expect(reply.failure == nil)
        switch verb {
        case "Cancel", "Retry": #expect(try reply.result(TouchedOnes.self).ids == [Int64(count)])
        case "Set", "Suspend": #expect(try reply.result(Touched.self).touched == (verb == "Set" ? 1 : 0))
        case "Resume": #expect(try reply.result(Touched.self).touched == 1)
        case "Wait": #expect(try reply.result(WaitReply.self).ended.map(\.id) == [Int64(count)])
        default: break
        }
        #expect(try asker.receive()?.result(StatusReply.self) != nil)
    }

    @Test func `an operation that ends while it is looked up is not cancelled once more`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try submitHeld(3, client)
        let gate = try closeGate(fixture)
        try client.send(CancelRequest.with { $0.selection.refs = ["1-3"] })
        try fixture.loop.turn(timeout: 0)
        tell(.cancel([OperationID(2)], by: "another", reason: nil, force: false), fixture)
        gate.signal()
        let reply = try #require(try client.receive()).result(TouchedOnes.self)
        #expect(reply.touched == 2)
        let left = fixture.daemon.turns.core?.counts
        #expect(left?.ready == 0 && left?.pending == 0)
    }

    @Test func `an operation that has left its queue while it is looked up is left alone`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try submitHeld(3, client)
        _ = try client.call(SetQueueRequest.with { $0.name = "other" })
        let selected = TargetsQuery(
            .with { $0.queue = "default" }, .unfinished, nil, Caller(user: 0, group: 0, account: nil))
        var query = selected
        var found: Selected?
        while found == nil { found = try query.proceed(fixture.daemon.history) }
        #expect(found?.ids == [OperationID(1), OperationID(2), OperationID(3)])
        tell(.edit([EditedTogether([OperationID(2)], Edit(queue: "other"))]), fixture)
        tell(.cancel([OperationID(3)], by: "another", reason: nil, force: false), fixture)
        let present = fixture.daemon.turns.core.flatMap { core in found?.present(in: core) }
        #expect(present == [OperationID(1)])
    }

    @Test func `an edit of a finished group is refused because it has finished`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        _ = try client.submit(#"[{"name":"g","operations":[\#(held)]}]"#)
        _ = try client.call(CancelRequest.with { $0.selection.all = true })
        let failure = try client.refusal(
            SetRequest.with {
                $0.selection.refs = ["1"]
                $0.changes = JSONObject([.init("limit", 2)])
            })
        guard case .control(.wrongState(let id, let message)) = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
        #expect(id == 1 && message.contains("has finished already"), "\(message)")
    }

    @Test func `an edit is laid over the policy that an operation has by then`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try submitHeld(2, client)
        let gate = try closeGate(fixture)
        try client.send(
            SetRequest.with {
                $0.selection.refs = ["1-2"]
                $0.changes = JSONObject([.init("timeout", "7s")])
            })
        try fixture.loop.turn(timeout: 0)
        var policy = Policy()
        policy.grace = .seconds(3)
        tell(.edit([EditedTogether([OperationID(2)], Edit(policy: policy))]), fixture)
        gate.signal()
        #expect(try #require(try client.receive()).result(Touched.self).touched == 2)
        #expect(fixture.daemon.turns.core?.policy(of: OperationID(2))?.timeout == .seconds(7))
        #expect(fixture.daemon.turns.core?.policy(of: OperationID(2))?.grace == .seconds(3))
    }

    @Test func `a wait counts what ends while it is looked up`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try submitHeld(3, client)
        var query = WaitQuery(.with { $0.all = true }, any: false, Caller(user: 0, group: 0, account: nil))
        #expect(try query.proceed(fixture.daemon.history) == nil, "it has begun")
        tell(.cancel([OperationID(2)], by: "another", reason: nil, force: false), fixture)
        var start: WaitStart?
        while start == nil { start = try query.proceed(fixture.daemon.history) }
        let ended = start?.finishes.ended.removeFirst(atMost: 2).map { $0 }
        #expect(ended == [OperationID(2)])
        #expect(start?.scope.remaining == 2)
        #expect(start?.finishes.unsuccessful == [OperationID(2)])
        #expect(start?.sequence == fixture.daemon.turns.core?.lastSequence)
    }

    @Test func `a retry is read once more when what it rests on changes meanwhile`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        _ = try client.submit(
            #"[{"name":"a","command":["true"],"held":true},{"command":["true"],"after":["a"]},\#(held)]"#)
        _ = try client.call(CancelRequest.with { $0.selection.refs = ["1"] })
        let history = fixture.daemon.history
        let targets = TargetsQuery(
            .with { $0.refs = ["1"] }, .unsuccessful, nil, Caller(user: 0, group: 0, account: nil))
        var query = RetryQuery(targets, downstream: false, of: nil)
        for _ in 0..<2 { #expect(try query.proceed(history) == nil) }
        // Another client has reopened and finished it again.
        let revived = try history.revival(of: [OperationID(1)], downstream: false)
        tell(.retry([OperationID(1)], revived: revived), fixture)
        tell(.cancel([OperationID(1)], by: "another", reason: nil, force: false), fixture)
        var answer: RetryQuery.Answer?
        while answer == nil { answer = try query.proceed(history) }
        #expect(answer?.revived.operations.map(\.run) == [2, 2], "not those of the first run")
        #expect(try answer?.isStale(history) == false)
        tell(.cancel([OperationID(3)], by: "another", reason: nil, force: false), fixture)
        #expect(try answer?.isStale(history) == false, "it does not rest on that")
        let again = try history.revival(of: [OperationID(1)], downstream: false)
        tell(.retry([OperationID(1)], revived: again), fixture)
        #expect(try answer?.isStale(history) == true)
    }

    @Test func `two submissions with one key that are looked up together make one graph`() throws {
        let fixture = try Fixture()
        let (first, second) = (try fixture.connect(), try fixture.connect())
        let gate = try closeGate(fixture)
        let submission = SubmitRequest.with {
            $0.operations = RawElements(Array("[\(held)]".utf8))
            $0.terms.key = "nightly"
        }
        for client in [first, second] { try client.send(submission) }
        try fixture.loop.turn(timeout: 0)
        gate.signal()
        let replies = try [first, second].map { try #require(try $0.receive()).result(SubmitReply.self) }
        #expect(replies.map(\.first) == [1, 1])
        #expect(replies.filter { $0.existing }.count == 1)
        #expect(fixture.daemon.turns.core?.counts.ready == 1)
    }

    @Test func `a Set keeps the members of retry that it does not have, and null restores a default`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let retried = #"{"command":["true"],"held":true,"retry":{"limit":2,"backoff":"1m","max":"9m","exitCodes":[3]}}"#
        _ = try client.submit("[\(retried),\(held)]")
        func edit(_ ref: String, _ retry: JSONValue) -> SetRequest {
            .with {
                $0.selection.refs = [ref]
                $0.changes = JSONObject([.init("retry", retry)])
            }
        }
        _ = try client.call(edit("1", ["limit": 5, "exitCodes": nil, "max": nil]))
        let retry = try client.call(ShowRequest.with { $0.ref = "1" }).details.retry
        let members = (retry?.members ?? []).map { "\($0.key) \($0.value.text)" }
        #expect(members.contains("limit 5") && members.contains(#"backoff "1m""#) && members.contains(#"max "5m""#))
        #expect(!members.contains { $0.hasPrefix("exitCodes") })
        for refused: JSONValue in [["limit": nil], [:], ["backof": "1s"]] {
            #expect(try client.refusal(edit("1", refused)) != nil)
        }
        #expect(try client.refusal(edit("2", ["backoff": "30s"])) != nil, "it has no retries")
        #expect(try client.refusal(edit("2", ["limit": 1])) == nil)
    }

    @Test func `a dependency that ends while it is looked up counts as it ended`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try submitHeld(1, client)
        let gate = try closeGate(fixture)
        try client.send(Client.submission(#"[{"command":["true"],"after":["1"]}]"#))
        try fixture.loop.turn(timeout: 0)
        tell(.cancel([OperationID(1)], by: "another", reason: nil, force: false), fixture)
        gate.signal()
        #expect(try #require(try client.receive()).result(SubmitReply.self).first == 2)
        let show = try client.call(ShowRequest.with { $0.ref = "2" })
        #expect(show.operation.outcome == .skipped)
    }

    @Test func `very many references are looked up a few at a time`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try submitHeld(2000, client)
        var query = ReferencesQuery(
            (1...2000).map { "\($0)" } + ["nobody", "2"], of: Caller(user: 0, group: 0, account: nil), mostUnknown: 1)
        var steps = 0
        var found: [ReferencesQuery.Found]?
        while found == nil {
            found = try query.proceed(fixture.daemon.history)
            steps += 1
        }
        #expect(steps >= 100)
        #expect(found?.count == 2001, "no more are looked up after the first unknown one")
    }
}

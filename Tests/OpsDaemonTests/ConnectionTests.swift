import OpsCore
import OpsSystem
import OpsSystemd
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

@Suite struct ConnectionTests {
    @Test func `a connection above the limit is refused with a reason`() throws {
        let fixture = try Fixture(connections: 2)
        let first = try fixture.connect()
        let second = try fixture.connect()
        let third = try fixture.connect()
        guard case .control(.busy) = try third.receive()?.failure else {
            Issue.record("a third connection was accepted with a limit of two")
            return
        }
        #expect(try third.receive() == nil)
        // Other connections are served, and closing a connection makes room for a new one.
        #expect(try first.call(StatusRequest()).workers == 2)
        #expect(try second.call(StatusRequest()).workers == 2)
    }

    @Test func `connection limits apply to all users together and to each user`() {
        let limits = ConnectionLimits(total: 10, perUser: 2)
        #expect(limits.refusal(total: 8, ofUser: 1, isPrivileged: false) == nil)
        #expect(limits.refusal(total: 9, ofUser: 0, isPrivileged: false) != nil, "the last connections are reserved")
        #expect(limits.refusal(total: 9, ofUser: 1, isPrivileged: true) == nil)
        #expect(limits.refusal(total: 10, ofUser: 0, isPrivileged: true) != nil)
        #expect(limits.refusal(total: 5, ofUser: 2, isPrivileged: false) != nil)
        #expect(limits.refusal(total: 8, ofUser: 7, isPrivileged: true) == nil)
        #expect(limits.refusal(total: 8, ofUser: 8, isPrivileged: true) != nil)
    }

    @Test func `a message that is no call ends the connection`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try client.send(Array("nonsense\0".utf8))
        #expect(try client.receive()?.failure != nil)
        #expect(try client.receive() == nil)
    }

    @Test func `unknown methods and parameters are refused and the connection stays open`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try client.send(Array(#"{"method":"org.opsd.Control.Fly"}"#.utf8) + [0])
        #expect(try client.receive()?.error == "org.varlink.service.MethodNotFound")
        try client.send(Array(#"{"method":"org.opsd.Control.Status","parameters":{"x":1}}"#.utf8) + [0])
        #expect(try client.receive()?.error == "org.varlink.service.InvalidParameter")
        try client.send(Array(#"{"method":"org.varlink.service.GetInfo","parameters":{"x":1}}"#.utf8) + [0])
        #expect(try client.receive()?.error == "org.varlink.service.InvalidParameter")
        try client.send(Array(#"{"method":"org.varlink.service.GetInfo","upgrade":true}"#.utf8) + [0])
        #expect(try client.receive()?.error == "org.varlink.service.InvalidParameter")
        try client.send(Array(#"{"method":"org.example.Do"}"#.utf8) + [0])
        #expect(try client.receive()?.error == "org.varlink.service.InterfaceNotFound")
        #expect(try client.call(StatusRequest()).workers == 2)
    }

    @Test func `a oneway call has no reply`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try client.send(Client.submission(#"[{"command":["true"]}]"#), oneway: true)
        #expect(try client.call(StatusRequest()).counts.ready == 1)
    }

    @Test func `a oneway call has no reply even if it accepts several`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try client.send(StatusRequest(), more: true, oneway: true)
        try client.send(.with { $0.since = 0 } as WatchRequest, more: true, oneway: true)
        #expect(try client.call(ListQueuesRequest()).queues.isEmpty == false)
    }

    @Test func `a oneway call is carried out although its client has disconnected`() throws {
        let fixture = try Fixture()
        do {
            let gone = try fixture.connect()
            try gone.send(Client.submission(#"[{"command":["true"]}]"#), oneway: true)
        }
        let client = try fixture.connect()
        try fixture.turn { try client.call(StatusRequest()).counts.ready == 1 }
    }

    @Test func `a client that has closed its sending half is still answered`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try client.send(StatusRequest())
        client.finishSending()
        #expect(try client.receive()?.result(StatusReply.self).workers == 2)
        #expect(try client.receive() == nil)
    }

    @Test func `a call that arrives byte by byte is one call`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        for byte in Call.frame(StatusRequest()) {
            try client.send([byte])
            try fixture.loop.turn(timeout: 0)
        }
        #expect(try client.receive()?.result(StatusReply.self).workers == 2)
    }

    /// The events from before the call and after it arrive once and in order.
    @Test func `a watcher sees every event once`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"]},{"command":["true"]}]"#)
        let watcher = try fixture.connect()
        try watcher.send(.with { $0.since = 0 } as WatchRequest, more: true)
        _ = try client.submit(#"[{"command":["true"]}]"#)
        let last = try client.call(StatusRequest()).lastSeq
        var seen: [Int64] = []
        while seen.last != last { seen.append(try #require(try watcher.receive()).result(WatchReply.self).event.seq) }
        #expect(seen == Array(1...last))
    }

    /// Nothing is buffered for a reader that stops reading. When it continues, no event is missing.
    @Test func `a slow watcher gets its events from the store`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let watcher = try fixture.connect()
        try watcher.send(.with { $0.since = 0 } as WatchRequest, more: true)
        let operations = "[" + Array(repeating: #"{"command":["true"]}"#, count: 2000).joined(separator: ",") + "]"
        for _ in 0..<5 { _ = try client.submit(operations) }
        let last = try client.call(StatusRequest()).lastSeq
        var expected: Int64 = 1
        while expected <= last {
            let event = try #require(try watcher.receive()).result(WatchReply.self).event
            guard event.seq == expected else {
                Issue.record("event \(event.seq) where \(expected) was next")
                return
            }
            expected += 1
        }
    }

    /// Some watch everything and some one graph; each gets its events while other clients are served.
    @Test func `each of many watchers sees its events`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let watchers = try (0..<40).map { number in
            let watcher = try fixture.connect()
            let request: WatchRequest = .with {
                $0.since = 0
                if number % 4 == 3 { $0.selection = .with { $0.graph = "g3" } }
            }
            if number % 4 != 3 { try watcher.send(request, more: true) }
            return (watcher, request)
        }
        let operations = "[" + Array(repeating: #"{"command":["true"]}"#, count: 300).joined(separator: ",") + "]"
        for _ in 0..<5 { _ = try client.submit(operations) }
        for (number, (watcher, request)) in watchers.enumerated() where number % 4 == 3 {
            try watcher.send(request, more: true)
        }
        let last = try client.call(StatusRequest()).lastSeq
        for (number, (watcher, _)) in watchers.enumerated() {
            let wanted = number % 4 == 3 ? Array(1201...1800) : Array(1...last)
            var seen: [Int64] = []
            while seen.last != wanted.last {
                seen.append(try #require(try watcher.receive()).result(WatchReply.self).event.seq)
            }
            #expect(seen == wanted)
        }
    }

    @Test func `a long list comes in batches while other clients are served`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let operations = "[" + Array(repeating: #"{"command":["true"]}"#, count: 3000).joined(separator: ",") + "]"
        _ = try client.submit(operations)
        let lister = try fixture.connect()
        try lister.send(ListRequest(), more: true)
        #expect(try client.call(StatusRequest()).counts.ready == 3000)
        var rows: [Int64] = []
        while true {
            let reply = try #require(try lister.receive())
            rows += try reply.result(ListReply.self).operations.map(\.id)
            if !reply.continues { break }
        }
        #expect(rows == Array(1...3000))
    }

    @Test func `a submission in parts is one graph`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        _ = try client.call(BeginSubmissionRequest())
        let part = RawElements(Array(#"[{"command":["true"]}]"#.utf8))
        #expect(try client.call(.with { $0.operations = part } as AddOperationsRequest).count == 1)
        #expect(try client.call(.with { $0.operations = part } as AddOperationsRequest).count == 2)
        #expect(try fixture.daemon.store.load().operations.isEmpty)
        #expect(try client.call(CommitSubmissionRequest()).count == 2)
        #expect(try fixture.daemon.store.load().operations.count == 2)
    }
}

extension ConnectionTests {
    @Test func `pipelined streams are answered in order`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"]},{"command":["true"]}]"#)
        let list = Call.frame(ListRequest(), more: true)
        let wait: WaitRequest = .with {
            $0.selection.all = true
            $0.timeout = "10ms"
        }
        try client.send(list + Call.frame(wait) + list + Call.frame(StatusRequest()) + Call.frame(wait))
        #expect(try client.receive()?.result(ListReply.self).operations.count == 2)
        #expect(try client.receive()?.failure == .control(.timedOut(remaining: 2)))
        #expect(try client.receive()?.result(ListReply.self).operations.count == 2)
        #expect(try client.receive()?.result(StatusReply.self).counts.ready == 2)
        #expect(try client.receive()?.failure == .control(.timedOut(remaining: 2)))
    }
}

extension ConnectionTests {
    /// Tests the limits of one client, and the errors that report them.
    @Test func `an incomplete message is waited for only for a limited time`() throws {
        let fixture = try Fixture()
        let slow = try fixture.connect()
        let other = try fixture.connect()
        try slow.send(Array(#"{"method":"org.opsd"#.utf8))
        // Read before this answer arrived.
        #expect(try other.call(StatusRequest()).workers == 2)
        let server = try #require(fixture.daemon.server)
        let begun = Clock.read().monotonic
        server.closeIdle(at: begun)
        #expect(server.connectionCount == 2)
        server.closeIdle(at: begun + DaemonLimits.idle)
        guard case .control(.busy) = try slow.receive()?.failure else {
            Issue.record("it was not told why")
            return
        }
        #expect(try slow.receive() == nil)
        #expect(try other.call(StatusRequest()).workers == 2)
    }

    @Test func `answers that nobody reads are not kept`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let operations = Array(repeating: #"{"command":["true"],"held":true}"#, count: 2000)
        _ = try client.submit("[\(operations.joined(separator: ","))]")
        let reader = try fixture.connect()
        try reader.send(ListRequest(), more: true)
        try fixture.turn { try reader.descriptor.waitUntil(.readable, milliseconds: 0) }
        #expect(try client.call(StatusRequest()).workers == 2, "the answers that there is room for have been made")
        let server = try #require(fixture.daemon.server)
        server.closeIdle(at: Clock.read().monotonic)
        #expect(server.connectionCount == 2)
        // Rows are read outside the loop. The reader owes nothing until there are more than it has room for.
        try fixture.turn {
            server.closeIdle(at: Clock.read().monotonic + DaemonLimits.idle)
            return server.connectionCount == 1
        }
        try fixture.turn { server.users.all.reduce(0) { $0 + $1.budget.used } == 0 }
        #expect(try client.call(StatusRequest()).workers == 2, "who waits for nothing stays")
    }

    @Test func `a reader who goes on reading is not idle`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let operations = Array(repeating: #"{"command":["true"],"held":true}"#, count: 2000)
        _ = try client.submit("[\(operations.joined(separator: ","))]")
        let server = try #require(fixture.daemon.server)
        let reader = try fixture.connect()
        try reader.send(ListRequest(), more: true)
        var count = 0
        var reply = try #require(try reader.receive())
        while true {
            count += try reply.result(ListReply.self).operations.count
            if !reply.continues { break }
            reply = try #require(try reader.receive())
            // Checks at a time at which the first answers would have waited too long, and the current ones have not.
            server.closeIdle(at: Clock.read().monotonic + DaemonLimits.idle - .seconds(5))
        }
        #expect(count == 2000)
    }

    @Test func `a submission that is not continued is dropped`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let other = try fixture.connect()
        _ = try client.call(BeginSubmissionRequest())
        let part = RawElements(Array(#"[{"command":["true"]}]"#.utf8))
        #expect(try client.call(.with { $0.operations = part } as AddOperationsRequest).count == 1)
        let server = try #require(fixture.daemon.server)
        let touched = Clock.read().monotonic
        #expect(try other.call(StatusRequest()).workers == 2)
        server.closeIdle(at: touched + DaemonLimits.idle - .seconds(5))
        #expect(try client.call(.with { $0.operations = part } as AddOperationsRequest).count == 2)
        let begun = Clock.read().monotonic
        server.closeIdle(at: begun + DaemonLimits.idle)
        guard case .control(.busy(let message)) = try client.receive()?.failure else {
            Issue.record("it was not told why")
            return
        }
        #expect(message.contains("begin it again"))
        #expect(try client.receive() == nil)
        #expect(try other.call(StatusRequest()).counts.ready == 0)
    }

    @Test func `more calls than may wait unanswered are answered in order`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let submit = Call.frame(Client.submission(#"[{"command":["true"],"held":true}]"#))
        let count = DaemonLimits.unanswered * 3
        try client.send(Array(repeatElement(submit, count: count).joined()))
        for number in 1...Int64(count) {
            guard try #require(try client.receive()).result(SubmitReply.self).first == number else {
                Issue.record("answer \(number) is another's")
                return
            }
        }
    }

    @Test func `a watcher that missed pruned events is told where to resume`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        for _ in 0..<3 { _ = try client.submit(#"[{"command":["true"]}]"#) }
        try fixture.daemon.store.database.execute("DELETE FROM event WHERE seq <= 3")
        let watcher = try fixture.connect()
        try watcher.send(.with { $0.since = 1 } as WatchRequest, more: true)
        guard case .control(.lagged(let resume)) = try watcher.receive()?.failure else {
            Issue.record("the missing events were not reported")
            return
        }
        #expect(resume == 3)
        try watcher.send(.with { $0.since = resume } as WatchRequest, more: true)
        #expect(try watcher.receive()?.result(WatchReply.self).event.seq == 4)
    }

    @Test func `a message that is too large is refused and ends the connection`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let piece = [UInt8](repeating: UInt8(ascii: " "), count: 1 << 20)
        var reply: ReceivedReply?
        // One piece more than the limit, unless the answer comes earlier.
        for _ in 0...(Limits.frameBytes >> 20) where !client.hasEnded { try client.send(piece) }
        reply = try client.receive()
        guard case .control(.tooLarge(_, let limit)) = reply?.failure else {
            Issue.record("the refusal was not sent")
            return
        }
        #expect(limit == Limits.frameBytes)
    }
}

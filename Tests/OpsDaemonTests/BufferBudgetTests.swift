import OpsCore
import OpsStore
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon

/// Memory that opsd uses for all clients of one user together, limited to 4 MiB here.
@Suite struct BufferBudgetTests {
    private static let budget = 4 << 20

    private func fixture() throws -> Fixture { try Fixture(buffered: Int64(Self.budget / 4)) }

    private func used(_ fixture: Fixture) -> Int {
        fixture.daemon.server?.users.all.reduce(0) { $0 + $1.budget.used } ?? -1
    }

    private func haveAnswers(_ clients: [Client]) throws -> Bool {
        try clients.allSatisfy { try $0.descriptor.waitUntil(.readable, milliseconds: 0) }
    }

    private func isBusy(_ reply: ReceivedReply?) -> Bool {
        if case .control(.busy(let message)) = reply?.failure { message.contains("buffered-per-user") } else { false }
    }

    private func half(_ count: Int) -> [UInt8] {
        Array(#"{"method":"org.opsd.Control.Submit","parameters":{"x":""#.utf8)
            + [UInt8](repeating: UInt8(ascii: "x"), count: count)
    }

    @Test func `shares take and give back`() {
        let budget = BufferBudget(of: "ann", limit: 100)
        let first = BufferShare(of: budget, 60)
        do {
            let second = BufferShare(of: budget)
            #expect(second.resize(to: 40))
            #expect(!second.resize(to: 41) && second.bytes == 40)
            #expect(!first.resize(to: 61))
            second.set(50)
            #expect(second.resize(to: 45), "less is always taken")
            #expect(budget.used == 105)
        }
        #expect(budget.used == 60)
        #expect(first.resize(to: 100))
    }

    @Test func `half messages beyond the budget are refused and what is refused is given back`() throws {
        let fixture = try fixture()
        let clients = try (0..<4).map { _ in try fixture.connect() }
        for client in clients.dropLast() {
            try client.send(half(1_250_000))
        }
        try fixture.turn { self.used(fixture) >= 3_750_000 }
        try clients[3].send(half(1_250_000))
        #expect(isBusy(try clients[3].receive()))
        #expect(try clients[3].receive() == nil, "and it is closed")
        #expect(used(fixture) < Self.budget)
        // When there is room again, all of them continue.
        try clients[0].send(Array(#""}}"#.utf8) + [0])
        #expect(try clients[0].receive()?.failure != nil, "there is no parameter x")
        #expect(try clients[0].call(StatusRequest()).workers == 2)
        for client in clients[1...2] { client.finishSending() }
        try fixture.turn { fixture.daemon.server?.connectionCount == 1 }
        #expect(used(fixture) == 0)
    }

    private func part(_ first: Int, _ count: Int, filling size: Int = 0) -> AddOperationsRequest {
        let operations = (first..<(first + count)).map {
            #"{"command":["\#($0)","\#(String(repeating: "x", count: size))"]}"#
        }
        return .with { $0.operations = RawElements(Array("[\(operations.joined(separator: ","))]".utf8)) }
    }

    @Test func `a part for which there is no room ends the connection`() throws {
        let fixture = try fixture()
        let client = try fixture.connect()
        _ = try client.call(BeginSubmissionRequest())
        for number in 0..<5 {
            #expect(try client.call(part(number * 200, 200, filling: 4000)).count == (number + 1) * 200)
        }
        try client.send(part(1000, 200, filling: 4000))
        #expect(isBusy(try client.receive()), "1,200 of 4 KB")
        #expect(try client.receive() == nil)
        #expect(used(fixture) == 0, "what was there is dropped")
    }

    @Test func `the options of a submission in parts count as long as it lasts`() throws {
        let fixture = try Fixture(buffered: 256 << 10)
        let client = try fixture.connect()
        let defaults = #"{"directory":"/"\#(String(repeating: " ", count: 100_000))}"#
        _ = try client.call(BeginSubmissionRequest.with { $0.defaults = RawJSON(Array(defaults.utf8)) })
        #expect(used(fixture) > 100_000)
        _ = try client.call(part(0, 10))
        #expect(used(fixture) > 100_000)
        _ = try client.call(CommitSubmissionRequest())
        #expect(used(fixture) < 4096)
    }

    /// Short operations take more memory when they are read than as a message.
    @Test func `a submission that outgrows the budget is given up as a whole`() throws {
        let fixture = try Fixture(buffered: 256 << 10)
        let client = try fixture.connect()
        _ = try client.call(BeginSubmissionRequest())
        var failure: ReplyError?
        var count = 0
        while failure == nil && count < 50_000 {
            failure = try client.refusal(part(count, 2000))
            count += 2000
        }
        guard case .control(.busy) = failure else {
            Issue.record("not refused: \(String(describing: failure))")
            return
        }
        #expect(used(fixture) < 4096, "what was there is dropped")
        // The next bytes are not read as the rest of the message.
        for failure in [try client.refusal(part(0, 1)), try client.refusal(CommitSubmissionRequest())] {
            guard case .control(.wrongState) = failure else {
                Issue.record("a part of a submission was taken: \(String(describing: failure))")
                continue
            }
        }
        #expect(try fixture.daemon.store.load().operations.isEmpty)
        #expect(try client.submit(#"[{"command":["true"]}]"#).count == 1)
    }

    @Test func `a whole submission that outgrows the budget is refused`() throws {
        let fixture = try Fixture(buffered: 256 << 10)
        let client = try fixture.connect()
        let operations = (0..<18_000).map { #"{"command":["\#($0)"]}"# }.joined(separator: ",")
        let failure = try client.refusal(Client.submission("[\(operations)]"))
        guard case .control(.busy) = failure else {
            Issue.record("not refused: \(String(describing: failure))")
            return
        }
        #expect(used(fixture) < 4096)
        #expect(try client.submit(#"[{"command":["true"]}]"#).count == 1)
    }

    @Test func `unread answers beyond the budget are refused`() throws {
        let fixture = try fixture()
        let client = try fixture.connect()
        let name = String(repeating: "x", count: 150)
        let operations = (0..<3000).map { #"{"command":["true"],"name":"\#(name)\#($0)","held":true}"# }
        _ = try client.submit("[\(operations.joined(separator: ","))]")
        let readers = try (0..<12).map { _ in try fixture.connect() }
        for reader in readers { try reader.send(.with { $0.graph = "g1" } as GraphRequest) }
        var answered = 0
        var refused = 0
        // The kernel takes a part of each answer. Without a reader, the rest waits in opsd.
        try fixture.turn { try self.haveAnswers(readers) }
        #expect(used(fixture) <= Self.budget + 12 * 1024)
        for reader in readers {
            let reply = try reader.receive()
            if isBusy(reply) {
                refused += 1
            } else if try reply?.result(GraphReply.self).nodes.count == 3000 {
                answered += 1
            }
        }
        #expect(answered + refused == 12 && answered > 1 && refused > 1, "\(answered) answered, \(refused) refused")
        #expect(try readers[0].call(StatusRequest()).workers == 2)
    }

    @Test func `a stream that nobody reads ends with the budget`() throws {
        let fixture = try Fixture(buffered: 128 << 10)
        let client = try fixture.connect()
        let operations = Array(repeating: #"{"command":["true"],"held":true}"#, count: 4000)
        for _ in 0..<2 { _ = try client.submit("[\(operations.joined(separator: ","))]") }
        let readers = try (0..<6).map { _ in try fixture.connect() }
        for reader in readers { try reader.send(ListRequest(), more: true) }
        try fixture.turn { try self.haveAnswers(readers) }
        var refused = 0
        for reader in readers {
            var reply = try reader.receive()
            while reply?.continues == true { reply = try reader.receive() }
            if isBusy(reply) { refused += 1 }
            #expect(try reader.call(StatusRequest()).workers == 2, "the connection is of use")
        }
        #expect(refused > 0)
    }
}

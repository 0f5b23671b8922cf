import Glibc
import OpsCore
import OpsStore
import OpsSystem
import OpsSystemd
import OpsWire
import Synchronization
import Testing

@testable import OpsDaemon

@Suite struct QueryTests {
    /// The users whose queries were read, one entry for each slice.
    private final class Slices: Sendable {
        private let users = Mutex<[UInt32]>([])
        func add(_ user: UInt32) { users.withLock { $0.append(user) } }
        var all: [UInt32] { users.withLock { $0 } }
    }

    /// A query with this many steps, each of which is recorded.
    private struct Steps: Query {
        var left: Int
        let user: UInt32
        let slices: Slices

        mutating func proceed(_ history: History) throws -> UInt32? {
            slices.add(user)
            left -= 1
            return left == 0 ? user : nil
        }
    }

    private func queue(of daemon: Daemon, _ limits: QueryLimits) -> QueryQueue {
        QueryQueue(
            loop: daemon.loop, log: daemon.log, history: daemon.history, path: daemon.store.path, limits: limits,
            fail: { [unowned daemon] in daemon.requests.fail($0, $1) })
    }

    @Test func `users take turns however much one of them asks`() throws {
        let fixture = try Fixture()
        let queue = queue(of: fixture.daemon, QueryLimits(slice: .zero, inLoop: .zero))
        let slices = Slices()
        var answered: [UInt32] = []
        func ask(_ user: UInt32, steps: Int) throws {
            queue.ask(Steps(left: steps, user: user, slices: slices), of: try fixture.exchange(of: user)) { result in
                if let user = try? result.get() { answered.append(user) }
            }
        }
        for _ in 0..<20 { try ask(1, steps: 20) }
        try ask(2, steps: 5)
        try ask(3, steps: 3)
        try fixture.turn { answered.contains(2) && answered.contains(3) }
        #expect(answered.first == 3 && !answered.contains(1))
        // One slice of each in turn; the first user has had a few before the others arrived.
        let until = try #require(slices.all.lastIndex(of: 2))
        #expect(slices.all[...until].filter { $0 == 1 }.count <= 5 + 3, "\(slices.all[...until])")
        try fixture.turn { answered.count == 22 }
    }

    @Test func `queries of one user take turns as well`() throws {
        let fixture = try Fixture()
        let queue = queue(of: fixture.daemon, QueryLimits(slice: .zero, inLoop: .zero))
        var answered: [Int] = []
        for steps in [40, 2] {
            let query = Steps(left: steps, user: 1, slices: Slices())
            queue.ask(query, of: try fixture.exchange(of: 1)) { _ in answered.append(steps) }
        }
        try fixture.turn { answered.count == 2 }
        #expect(answered == [2, 40])
    }

    @Test func `a query that takes too long is given up`() throws {
        let fixture = try Fixture()
        let queue = queue(of: fixture.daemon, QueryLimits(slice: .zero, total: .nanoseconds(1), inLoop: .zero))
        var error: (any Error)?
        queue.ask(Steps(left: 1000, user: 1, slices: Slices()), of: try fixture.exchange(of: 1)) { result in
            do { _ = try result.get() } catch let failure { error = failure }
        }
        try fixture.turn { error != nil }
        #expect(error is QueryTooLong)
    }

    private struct Hoard: Query {
        let heldBytes: Int
        var left = 3

        mutating func proceed(_ history: History) throws -> Int? {
            left -= 1
            return left == 0 ? heldBytes : nil
        }
    }

    @Test func `a query is charged with what it holds`() throws {
        let fixture = try Fixture()
        let queue = queue(of: fixture.daemon, QueryLimits(slice: .zero, inLoop: .zero))
        var results: [Result<Int, any Error>] = []
        for bytes in [1 << 19, 1 << 21] {
            queue.ask(Hoard(heldBytes: bytes), of: try fixture.exchange(of: 1)) { results.append($0) }
        }
        try fixture.turn { results.count == 2 }
        #expect(results.compactMap { try? $0.get() } == [1 << 19], "of 1 MiB")
    }

    @Test func `a wait is charged for the operations that it remembers`() throws {
        let fixture = try Fixture(buffered: 16 << 10)
        let client = try fixture.connect()
        let held = #"{"command":["true"],"held":true}"#
        for _ in 0..<20 {
            _ = try client.submit("[" + Array(repeating: held, count: 100).joined(separator: ",") + "]")
        }
        let one = try fixture.connect()
        try one.send(WaitRequest.with { $0.selection.refs = ["1-100"] })
        let refusal = try client.refusal(WaitRequest.with { $0.selection.all = true })
        guard case .control(.busy) = refusal else {
            Issue.record("\(String(describing: refusal))")
            return
        }
        _ = try client.call(CancelRequest.with { $0.selection.refs = ["1-100"] })
        #expect(try one.receive()?.failure == nil)
    }

    @Test func `a query of a client that has gone is dropped`() throws {
        let fixture = try Fixture()
        let queue = queue(of: fixture.daemon, QueryLimits(slice: .zero, inLoop: .zero))
        let slices = Slices()
        let gone = try fixture.exchange(of: 1)
        queue.ask(Steps(left: 1_000_000, user: 1, slices: slices), of: gone) { _ in Issue.record("nobody reads it") }
        gone.connection.close()
        var isOver = false
        queue.ask(Steps(left: 3, user: 1, slices: slices), of: try fixture.exchange(of: 1)) { _ in isOver = true }
        try fixture.turn { isOver }
        #expect(slices.all.count < 100)
    }

    /// Submits many operations with many labels, one of which only the last operation has.
    private func submit(_ count: Int, to client: Client) throws {
        let labels = (0..<20).map { #""l\#($0)":"v""# }.joined(separator: ",")
        let operations = (0..<count).map { place in
            let more = place == count - 1 ? #","last":"v""# : ""
            return #"{"command":["true"],"held":true,"labels":{"n":"\#(place)",\#(labels)\#(more)}}"#
        }
        _ = try client.submit("[" + operations.joined(separator: ",") + "]")
    }

    @Test func `others are answered while a long question is read`() throws {
        let fixture = try Fixture()
        let (asker, other) = (try fixture.connect(), try fixture.connect())
        try submit(10_000, to: asker)
        let labels = (0..<20).map { ("l\($0)", "v") } + [("last", "v")]
        let list = ListRequest.with { $0.selection = .with { $0.labels = StringMap(labels) } }
        let stats = StatsRequest.with { $0.selection = .with { $0.labels = StringMap(labels) } }
        for _ in 0..<10 {
            try asker.send(list)
            try asker.send(stats)
        }
        // The first query is being read when the other client calls.
        try fixture.loop.turn(timeout: 0)
        _ = try other.call(StatusRequest())
        #expect(try !asker.hasReply(), "the other was answered first")
        for _ in 0..<10 {
            #expect(try #require(try asker.receive()).result(ListReply.self).operations.map(\.id) == [10_000])
            let reply: StatsReply = try #require(try asker.receive()).result()
            #expect(reply.stats.members.contains { $0.key == "count" && $0.value == .integer(1) })
        }
    }

    /// A selection of many ranges is a single statement.
    @Test func `a selection of many ranges and a label is read once`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        try submit(2000, to: client)
        let refs = (1...400).map { "\($0 * 5)-\($0 * 5 + 1)" }
        let list = ListRequest.with {
            $0.selection = .with {
                $0.refs = refs
                $0.labels = ["last": "v"]
            }
        }
        #expect(try client.call(list).operations.map(\.id) == [2000])
    }
}

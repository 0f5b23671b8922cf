import Dispatch
import Glibc
import OpsCore
import OpsSystemd
import OpsWire
import Testing

@testable import OpsDaemon

/// Questions to a large scheduler.
@Suite struct SchedulerQueryTests {
    @Test func `users take turns however much one of them asks`() throws {
        let fixture = try Fixture()
        let queries = fixture.schedulerQueries(inATurn: .nanoseconds(1))
        var answered: [UInt32] = []
        func ask(_ user: UInt32) throws { queries.ask(try fixture.exchange(of: user)) { answered.append(user) } }
        for _ in 0..<20 { try ask(1) }
        try ask(2)
        #expect(answered == [1], "one a turn, where the first takes all the time there is")
        for _ in 0..<2 {
            queries.turnEnded()
            try fixture.loop.turn(timeout: 0)
        }
        #expect(answered.contains(2), "\(answered)")
        try fixture.turn {
            queries.turnEnded()
            return answered.count == 21
        }
    }

    @Test func `the copy of a large scheduler is made when its turn has come`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let held = #"{"command":["true"],"held":true}"#
        _ = try client.submit("[" + Array(repeating: held, count: 2100).joined(separator: ",") + "]")
        let queries = fixture.schedulerQueries()
        let isOpen = DispatchSemaphore(value: 0)
        var workers: [Int32] = []
        queries.askCopy(
            try fixture.exchange(of: 1),
            { core in
                isOpen.wait()
                return core.workers
            }, then: { workers.append($0) })
        queries.askCopy(try fixture.exchange(of: 2), { $0.workers }, then: { workers.append($0) })
        fixture.daemon.turns.record(.setWorkers(9))
        fixture.daemon.turns.commitTurn()
        isOpen.signal()
        try fixture.turn { workers.count == 2 }
        #expect(workers == [2, 9])
    }
}

import Dispatch
import OpsSystemd
import Testing

@testable import OpsDaemon

/// Reads of logs outside the loop.
@Suite struct LogThreadsTests {
    /// Object for which a read is made.
    private final class Reader {}

    private let loop: EventLoop
    private let threads: LogThreads

    init() throws {
        loop = try EventLoop()
        threads = LogThreads(loop)
    }

    private func turn(until isDone: () -> Bool) throws {
        for _ in 0..<Fixture.mostTurns {
            if isDone() { return }
            try loop.turn(timeout: 20_000)
        }
        Issue.record("it was not done within \(Fixture.mostTurns) turns")
    }

    @Test func `a blocked read of one user delays neither the loop nor reads of another`() throws {
        let isOpen = DispatchSemaphore(value: 0)
        let reader = Reader()
        var done: [String] = []
        try threads.run({ isOpen.wait() }, onLogOf: 1001, for: reader, then: { done.append("blocked") })
        try threads.run({ "behind it" }, onLogOf: 1001, for: reader, then: { done.append($0) })
        for number in 0..<3 {
            try threads.run({ "other" }, onLogOf: 1002, for: reader, then: { done.append($0) })
            try turn { done.count == number + 1 }
        }
        #expect(done == ["other", "other", "other"])
        isOpen.signal()
        try turn { done.count == 5 }
        #expect(done.suffix(2) == ["blocked", "behind it"])
    }

    @Test func `a cancelled read is not made`() throws {
        let isOpen = DispatchSemaphore(value: 0)
        let readers = [Reader(), Reader()]
        var done: [String] = []
        try threads.run({ isOpen.wait() }, onLogOf: 1001, for: readers[0], then: { done.append("blocked") })
        for place in [0, 1] {
            try threads.run({ "\(place)" }, onLogOf: 1001, for: readers[place], then: { done.append($0) })
        }
        threads.cancel(onLogOf: 1001, for: readers[0])
        isOpen.signal()
        try turn { done.count == 2 }
        #expect(done == ["blocked", "1"], "the read in progress cannot be cancelled")
    }
}

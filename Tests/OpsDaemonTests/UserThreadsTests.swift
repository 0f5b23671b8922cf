import Dispatch
import OpsSystem
import OpsSystemd
import Testing

@testable import OpsDaemon

/// Reads of logs outside the loop.
@Suite struct UserThreadsTests {
    /// Object for which a read is made.
    private final class Reader {}

    private let loop: EventLoop
    private let threads: UserThreads

    init() throws {
        loop = try EventLoop()
        threads = UserThreads(loop)
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
        try threads.run({ isOpen.wait() }, for: 1001, ownedBy: reader, then: { done.append("blocked") })
        try threads.run({ "behind it" }, for: 1001, ownedBy: reader, then: { done.append($0) })
        for number in 0..<3 {
            try threads.run({ "other" }, for: 1002, ownedBy: reader, then: { done.append($0) })
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
        try threads.run({ isOpen.wait() }, for: 1001, ownedBy: readers[0], then: { done.append("blocked") })
        for index in [0, 1] {
            try threads.run({ "\(index)" }, for: 1001, ownedBy: readers[index], then: { done.append($0) })
        }
        threads.cancel(for: 1001, ownedBy: readers[0])
        isOpen.signal()
        try turn { done.count == 2 }
        #expect(done == ["blocked", "1"], "the read in progress cannot be cancelled")
    }

    @Test func `a limited number of jobs waits for a user whose thread is blocked`() throws {
        let isOpen = DispatchSemaphore(value: 0)
        let owner = Reader()
        var done = 0
        try threads.run({ isOpen.wait() }, for: 1001, ownedBy: owner, then: { done += 1 })
        for _ in 0..<UserThreads.mostWaiting { try threads.run({}, for: 1001, ownedBy: owner, then: { done += 1 }) }
        #expect(throws: SystemError.self) { try threads.run({}, for: 1001, ownedBy: owner, then: {}) }
        threads.cancel(for: 1001, ownedBy: owner)
        isOpen.signal()
        try turn { done == 1 }
        try threads.run({}, for: 1001, ownedBy: owner, then: { done += 1 })
        try turn { done == 2 }
    }
}

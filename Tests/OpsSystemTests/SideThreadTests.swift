import OpsSystem
import OpsSystemd
import Testing

@Suite struct SideThreadTests {
    @Test func `jobs are done in order and their results handled in the loop`() throws {
        let loop = try EventLoop()
        let thread = try SideThread(loop)
        var told: [Int] = []
        for number in 0..<100 { thread.run({ number * 2 }, then: { told.append($0) }) }
        for _ in 0..<1000 where told.count < 100 { try loop.turn(timeout: 20_000) }
        #expect(told == (0..<100).map { $0 * 2 })
        #expect(try loop.turn(timeout: 0) == false)
    }

    @Test func `the handler of a result may start another job`() throws {
        let loop = try EventLoop()
        let thread = try SideThread(loop)
        var last = 0
        thread.run({ 1 }, then: { first in thread.run({ first + 1 }, then: { last = $0 }) })
        for _ in 0..<1000 where last == 0 { try loop.turn(timeout: 20_000) }
        #expect(last == 2)
    }

    @Test func `the handler of a result may release its thread`() throws {
        let loop = try EventLoop()
        var thread: SideThread? = try SideThread(loop)
        var isHandled = false
        thread?.run(
            { 1 },
            then: { _ in
                thread = nil
                isHandled = true
            })
        for _ in 0..<1000 where !isHandled { try loop.turn(timeout: 20_000) }
        #expect(isHandled)
        #expect(try loop.turn(timeout: 0) == false)
    }

    /// A job that is running at the end of the thread's owner is finished, and its result is dropped.
    @Test func `no result is handled after the end of the thread`() throws {
        let loop = try EventLoop()
        var thread: SideThread? = try SideThread(loop)
        var isTold = false
        thread?.run({ 1 }, then: { _ in isTold = true })
        thread = nil
        try loop.turn(timeout: 50_000)
        #expect(!isTold)
    }
}

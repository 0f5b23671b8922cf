import Glibc
import OpsSystem
import OpsSystemd
import TestSupport
import Testing

@Suite struct EventLoopTests {
    @Test func `all ready events are handled before the turn ends`() throws {
        let loop = try EventLoop()
        var log: [String] = []
        let first = DeferredWork(loop) { log.append("first") }
        let second = DeferredWork(loop) { log.append("second") }
        loop.endTurn = { log.append("end") }
        first.schedule()
        second.schedule()
        #expect(try loop.turn(timeout: 0))
        #expect(log.sorted() == ["end", "first", "second"])
        #expect(log.last == "end")
    }

    @Test func `events are handled between the slices of long work`() throws {
        let loop = try EventLoop()
        let scratch = TemporaryDirectory()
        let listener = try UnixSocket.listen(at: scratch.path + "/s")
        let client = try UnixSocket.connect(to: scratch.path + "/s")
        let server = try accepted(listener)
        var log: [String] = []
        var source: ReadinessSource?
        source = try loop.watch(server.rawValue, for: .readable) { _ in
            log.append("event")
            source?.cancel()
        }
        var work: DeferredWork?
        work = DeferredWork(loop) {
            log.append("slice")
            work?.schedule()
        }
        work?.schedule()
        #expect(try loop.turn())
        #expect(try client.write([1]) == .moved(1))
        #expect(try loop.turn())
        #expect(log == ["slice", "event", "slice"])
        work = nil
        #expect(try loop.turn(timeout: 0) == false)
    }

    @Test func `a turn without events ends too`() throws {
        let loop = try EventLoop()
        var ends = 0
        loop.endTurn = { ends += 1 }
        #expect(try loop.turn(timeout: 0) == false)
        #expect(ends == 1)
    }

    @Test func `a timer fires once and never early`() throws {
        try check(.monotonic) { Clock.read().monotonic }
        try check(.wall) { Clock.read().wall }
    }

    private func check<Instant>(_ clock: TimerClock<Instant>, now: @escaping () -> Instant) throws {
        let loop = try EventLoop()
        var firedAt: [Instant] = []
        let timer = try loop.timer(clock) { firedAt.append(now()) }
        let due = now() + .nanoseconds(5_000_001)
        try timer.arm(at: due)
        try turn(loop) { !firedAt.isEmpty }
        #expect(firedAt.count == 1)
        #expect(firedAt[0] >= due)
        #expect(timer.deadline == nil)
        try timer.arm(at: .zero)
        try turn(loop) { firedAt.count == 2 }
    }

    @Test func `a cleared timer does not fire`() throws {
        let loop = try EventLoop()
        var fired = false
        let timer = try loop.timer(.monotonic) { fired = true }
        try timer.arm(at: .zero)
        try timer.arm(at: nil)
        #expect(try loop.turn(timeout: 0) == false)
        #expect(!fired)
    }

    @Test func `a descriptor is watched for the requested events`() throws {
        let scratch = TemporaryDirectory()
        let loop = try EventLoop()
        let listener = try UnixSocket.listen(at: scratch.path + "/s")
        let client = try UnixSocket.connect(to: scratch.path + "/s")
        let server = try accepted(listener)
        var seen: [Readiness] = []
        let source = try loop.watch(server.rawValue, for: .writable) { seen.append($0) }
        try turn(loop) { !seen.isEmpty }
        #expect(seen[0] == .writable)
        try source.setInterest([])
        seen = []
        #expect(try loop.turn(timeout: 0) == false)
        try source.setInterest(.readable)
        #expect(try client.write([1, 2, 3]) == .moved(3))
        try turn(loop) { !seen.isEmpty }
        #expect(seen[0] == .readable)
        source.cancel()
        seen = []
        #expect(try loop.turn(timeout: 0) == false)
        #expect(seen.isEmpty)
    }

    @Test func `deferred work may release itself`() throws {
        let loop = try EventLoop()
        var source: DeferredWork?
        var calls = 0
        source = DeferredWork(loop) {
            calls += 1
            source = nil
        }
        source?.schedule()
        try loop.turn(timeout: 0)
        try loop.turn(timeout: 0)
        #expect(calls == 1)
        #expect(source == nil)
    }

    @Test func `a signal arrives as an event`() throws {
        let loop = try EventLoop()
        var caught = 0
        let source = try loop.watchSignal(SIGUSR2) { caught += 1 }
        // Sent to this thread, because the other threads of the test runner do not block it.
        #expect(pthread_kill(pthread_self(), SIGUSR2) == 0)
        try turn(loop) { caught > 0 }
        #expect(caught == 1)
        source.cancel()
    }

    @Test func `stop ends the loop after the turn`() throws {
        let loop = try EventLoop()
        var ended = false
        loop.endTurn = { ended = true }
        let source = DeferredWork(loop) { loop.stop() }
        source.schedule()
        try loop.run()
        #expect(ended)
    }
}

@Suite struct FileWatchTests {
    private let scratch = TemporaryDirectory()
    private var path: String { scratch.path + "/file" }

    @Test func `a handler gets its events although another one waits for other events of the file`() throws {
        let loop = try EventLoop()
        let watch = try FileWatch(loop)
        let file = try Files.create(path, mode: 0o600)
        var writes = 0
        var changes = 0
        let first = try watch.watch(path) { writes += 1 }
        let second = try watch.watchNames(of: path) { changes += 1 }
        #expect(second.isForSameFile(as: first))
        #expect(try file.write([1]) == .moved(1))
        try turn(loop) { writes > 0 }
        changes = 0
        #expect(chmod(path, 0o400) == 0)
        try turn(loop) { changes > 0 }
        watch.cancel(first)
        watch.cancel(second)
    }

    @Test func `a handler gets the events of a directory whose watch a thread has started`() throws {
        let loop = try EventLoop()
        let watch = try FileWatch(loop)
        var calls = 0
        let token = watch.add({ calls += 1 }, to: try watch.queue.watchFiles(of: scratch.path))
        _ = try Files.create(path, mode: 0o600)
        try turn(loop) { calls > 0 }
        watch.cancel(token)
        let next = try watch.watchFiles(of: scratch.path) {}
        #expect(!next.isForSameFile(as: token), "the kernel's watch has ended with its last handler")
        watch.cancel(next)
    }

    /// The first of two handlers of one event cancels the other.
    @Test func `the handler of a cancelled registration is not called`() throws {
        let loop = try EventLoop()
        let watch = try FileWatch(loop)
        let file = try Files.create(path, mode: 0o600)
        var tokens: [FileWatch.Token] = []
        var calls = 0
        for _ in 0..<2 {
            tokens.append(
                try watch.watch(path) {
                    calls += 1
                    for token in tokens { watch.cancel(token) }
                })
        }
        #expect(try file.write([1]) == .moved(1))
        try turn(loop) { calls > 0 }
        try loop.turn(timeout: 0)
        #expect(calls == 1)
    }
}

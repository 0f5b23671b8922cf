import Glibc
import OpsSystem
import Testing

@testable import OpsClient

/// A daemon that sends events to one reader, as fast as it reads them.
private final class EventDaemon: Sendable {
    let path = "/tmp/opsd-events-\(getpid())-\(UInt32.random(in: 0 ... .max))"
    private let listener: Descriptor

    init() throws { listener = try UnixSocket.listen(at: path) }

    deinit { unlink(path) }

    /// Sends the events 1 to `count`.
    ///
    /// - Parameter paused: Called with the number of an event for which the reader makes no room.
    func send(_ count: Int64, paused: (Int64) -> Void) throws {
        try listener.waitUntil(.readable)
        guard let reader = try UnixSocket.accept(from: listener) else { return }
        var request: [UInt8] = []
        try reader.waitUntil(.readable)
        _ = try reader.read(atMost: 1 << 16, onto: &request)
        let detail = String(repeating: "x", count: 1000)
        for number in 1...count {
            if try !reader.waitUntil(.writable, milliseconds: 500) { paused(number) }
            let event = #"{"seq":\#(number),"type":"edited","detail":"\#(detail)"}"#
            _ = try reader.writeAll(Array(("{\"parameters\":{\"event\":" + event + "},\"continues\":true}\0").utf8))
        }
    }
}

@Suite struct AsyncSessionTests {
    @Test func `a stream that is not read holds a limited number of events, and loses none`() async throws {
        let count: Int64 = 10_000
        let daemon = try EventDaemon()
        let events = AsyncSession(path: daemon.path).events(since: 0)
        let (pauses, pause) = AsyncStream<Int64>.makeStream()
        Detached.run {
            do { try daemon.send(count) { pause.yield($0) } } catch { Issue.record(error) }
            pause.finish()
        }
        let first = await pauses.first { _ in true }
        #expect(try #require(first) < count / 2)
        var last: Int64 = 0
        for try await event in events {
            try #require(event.seq == last + 1)
            last = event.seq
            if last == count { break }
        }
        #expect(last == count)
    }
}

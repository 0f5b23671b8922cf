import Glibc
import OpsSystem
import TestSupport
import Testing

@testable import OpsDaemon

/// Times of log lines, and the number of bytes that are read to find them.
@Suite struct LogClockTests {
    private let directory = TemporaryDirectory(inMemory: true)
    private var log: String { directory.path + "/1.1.log" }

    /// Returns the number of bytes that this thread has read.
    private func bytesRead() throws -> Int {
        let text = String(
            decoding: try #require(try Files.readIfPresent("/proc/thread-self/io", limit: 4096)), as: UTF8.self)
        let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("rchar: ") })
        return try #require(Int(line.dropFirst(7)))
    }

    @Test func `a log of one GiB is sought by time with few reads`() throws {
        let file = open(log, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(file) }
        let size: Int64 = 1 << 30
        #expect(ftruncate(file, Int(size)) == 0)
        // One note per second for a day, and the end of a line at the wanted time.
        let notes = 86_400
        var records: [UInt8] = []
        func add(_ value: Int64) {
            for place in 0..<8 { records.append(UInt8(truncatingIfNeeded: value >> (8 * place))) }
        }
        func length(_ note: Int) -> Int64 { size / Int64(notes) * Int64(note + 1) }
        for note in 0..<notes {
            add(Int64(note) * 1_000_000_000)
            add(length(note))
        }
        let times = open(LogTimes.path(of: log), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        defer { close(times) }
        #expect(write(times, records, records.count) == records.count)
        let wanted = 50_000
        for place in [length(wanted - 1) - 1, length(wanted + 9) - 1] {
            #expect(pwrite(file, "\n", 1, Int(place)) == 1)
        }

        let window = LogReader.Window(
            since: .zero + .seconds(Int64(wanted)), until: .zero + .seconds(Int64(wanted + 9)))
        let before = try bytesRead()
        guard let reader = try LogReader.open(log, offset: 0, lines: nil, window: window) else {
            Issue.record("there is no log")
            return
        }
        let spent = try bytesRead() - before
        let start = reader.offset
        #expect(start == length(wanted - 1))
        #expect(spent < 64 << 10, "\(spent) bytes")
        var count = 0
        while case let bytes = try reader.next(), !bytes.isEmpty { count += bytes.count }
        #expect(Int64(count) == length(wanted + 9) - length(wanted - 1))
    }

    @Test func `nothing is told to be written before its attempt started`() throws {
        try Files.replace(log, with: Array("quick\n".utf8), mode: 0o600)
        // The clock of the file is behind.
        let start = Clock.read().wall + .seconds(10)
        guard let since = try LogReader.open(log, offset: 0, lines: nil, window: .init(since: start, start: start)),
            let until = try LogReader.open(
                log, offset: 0, lines: nil, window: .init(until: start - .nanoseconds(1), start: start))
        else {
            Issue.record("there is no log")
            return
        }
        var bytes = try since.next()
        #expect(bytes.count == 6)
        #expect(try since.times(of: &bytes) == [LogTime(at: start, length: 0)])
        #expect(try until.next().isEmpty)
    }
}

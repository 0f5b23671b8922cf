import Glibc
import OpsSystem
import TestSupport
import Testing

@Suite struct LogTimesTests {
    private let directory = TemporaryDirectory()
    private var log: String { directory.path + "/1.1.log" }

    private func all() throws -> [LogTime] {
        guard let reader = try LogTimeReader.open(log: log) else { return [] }
        return try reader.times(from: 0, count: reader.count)
    }

    @Test func `times are read in the order in which they were added`() throws {
        #expect(try all() == [])
        let times = (0..<5).map {
            LogTime(at: .zero + .nanoseconds(Int64($0) * 1_000_000_007), length: Int64($0) << 40 | 255)
        }
        for (count, time) in times.enumerated() { try LogTimes.append(time, to: log, after: count) }
        #expect(try all() == times)
        guard let reader = try LogTimeReader.open(log: log) else { throw SystemError("open", errno: ENOENT) }
        let long = try reader.first { $0.length >= times[3].length }
        let late = try reader.first { $0.at > times[4].at }
        let last = try reader.times(from: 4, count: 9)
        #expect(long == 3 && late == 5 && last == [times[4]])
    }

    @Test func `the first time replaces those of an earlier log`() throws {
        for count in 0..<3 {
            try LogTimes.append(LogTime(at: .zero + .nanoseconds(1), length: 9), to: log, after: count)
        }
        try LogTimes.append(LogTime(at: .zero + .nanoseconds(2), length: 3), to: log, after: 0)
        #expect(try all() == [LogTime(at: .zero + .nanoseconds(2), length: 3)])
    }

    @Test func `a record that was cut does no harm to those after it`() throws {
        try LogTimes.append(LogTime(at: .zero + .nanoseconds(1), length: 10), to: log, after: 0)
        #expect(truncate(LogTimes.path(of: log), 16 + 5) == 0)
        #expect(try all().count == 1)
        #expect(truncate(LogTimes.path(of: log), 32 + 5) == 0)
        try LogTimes.append(LogTime(at: .zero + .nanoseconds(2), length: 20), to: log, after: 1)
        try LogTimes.append(LogTime(at: .zero + .nanoseconds(3), length: 30), to: log, after: 2)
        #expect(
            try all() == [10, 20, 30].enumerated().map { LogTime(at: .zero + .nanoseconds(Int64($0) + 1), length: $1) })
    }
}

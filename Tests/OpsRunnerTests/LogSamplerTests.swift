import Glibc
import OpsExecutor
import OpsSystem
import Testing

@testable import OpsRunner

/// Times of running logs.
@Suite final class LogSamplerTests {
    private let directory: String

    init() throws {
        directory = "/tmp/ops-times-\(try Randomness.identifier().prefix(10))"
        try Files.makeDirectories(directory, mode: 0o700)
    }

    deinit { removeTree(directory) }

    private let attempt = AttemptID(OperationID(1), 1)
    private let second = MonotonicInstant.zero + .seconds(1)

    private func log() throws -> LogFile { try LogFile.create(directory + "/1.1.log", owner: nil) }

    private func write(_ text: String, to log: LogFile) throws {
        _ = try log.openForAppending().writeAll(Array(text.utf8))
    }

    private func lengths(_ log: LogFile) throws -> [Int64] {
        guard let reader = try LogTimeReader.open(log: log.path) else { return [] }
        return try reader.times(from: 0, count: reader.count).map(\.length)
    }

    @Test func `growth is noted once a second and nothing else`() throws {
        let log = try log()
        var sampler = LogSampler()
        #expect(sampler.dueAt == nil, "a runner without operations sleeps")
        sampler.add(attempt, [log], now: .zero)
        try sampler.sample(now: second)
        #expect(try lengths(log) == [])
        try write("one\n", to: log)
        try sampler.sample(now: second + .nanoseconds(1))
        #expect(try lengths(log) == [], "that is not due yet")
        try sampler.sample(now: .zero + .seconds(2))
        try sampler.sample(now: .zero + .seconds(3))
        try write("two\n", to: log)
        try sampler.sample(now: .zero + .seconds(4))
        #expect(try lengths(log) == [4, 8])
        try write("3\n", to: log)
        try sampler.end(attempt)
        #expect(try lengths(log) == [4, 8, 10])
        try sampler.sample(now: .zero + .seconds(5))
        #expect(sampler.dueAt == nil)
    }

    @Test func `a log that was emptied begins again`() throws {
        let log = try log()
        var sampler = LogSampler()
        sampler.add(attempt, [log], now: .zero)
        try write("a long line\n", to: log)
        try sampler.sample(now: second)
        #expect(truncate(log.path, 0) == 0)
        try sampler.sample(now: .zero + .seconds(2))
        try write("b\n", to: log)
        try sampler.sample(now: .zero + .seconds(3))
        #expect(try lengths(log) == [2])
    }

    @Test func `the next program goes on behind the notes that are there`() throws {
        let log = try log()
        var sampler = LogSampler()
        sampler.add(attempt, [log], now: .zero)
        try write("one\n", to: log)
        try sampler.sample(now: second)
        var next = LogSampler(resuming: [(attempt: attempt, files: [log])])
        try next.sample(now: second)
        try write("two\n", to: log)
        try next.sample(now: .zero + .seconds(2))
        #expect(try lengths(log) == [4, 8])
    }

    @Test func `the next program goes on with other logs if the notes of one cannot be read`() throws {
        let damaged = try LogFile.create(directory + "/2.1.log", owner: nil)
        #expect(mkdir(LogTimes.path(of: damaged.path), 0o700) == 0)
        // The size of an empty directory is 0 on some file systems.
        for number in 1...40 { #expect(mkdir("\(LogTimes.path(of: damaged.path))/\(number)", 0o700) == 0) }
        let log = try log()
        let open = [AttemptID(OperationID(2), 1): damaged, attempt: log]
        var next = LogSampler(resuming: open.map { (attempt: $0.key, files: [$0.value]) })
        try write("one\n", to: log)
        try next.sample(now: second)
        #expect(try lengths(log) == [4])
    }

    @Test func `a log is looked at again after its time could not be noted`() throws {
        let log = try log()
        var sampler = LogSampler()
        sampler.add(attempt, [log], now: .zero)
        try write("one\n", to: log)
        // A directory with the same name prevents the write.
        #expect(mkdir(LogTimes.path(of: log.path), 0o700) == 0)
        #expect(throws: SystemError.self) { try sampler.sample(now: second) }
        try sampler.sample(now: .zero + .seconds(2))
        #expect(rmdir(LogTimes.path(of: log.path)) == 0)
        try sampler.sample(now: .zero + .seconds(62))
        #expect(try lengths(log) == [4])
    }
}

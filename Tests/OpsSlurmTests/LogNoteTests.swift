import OpsModel
import OpsSlurm
import OpsSystem
import Testing

/// Times of a log that is copied.
@Suite final class LogNoteTests {
    private let directory: String
    private var log: String { directory + "/1.1.log" }

    init() throws {
        directory = "/tmp/ops-notes-\(try Randomness.identifier().prefix(10))"
        try Files.makeDirectories(directory, mode: 0o700)
    }

    deinit {
        do {
            try DirectoryTree(directory).remove()
        } catch {
            Issue.record(error)
        }
    }

    private func time(_ milliseconds: Int64, _ length: Int64) -> LogTime {
        LogTime(at: .zero + .milliseconds(milliseconds), length: length)
    }

    private func all() throws -> [LogTime] {
        guard let reader = try LogTimeReader.open(log: log) else { return [] }
        return try reader.times(from: 0, count: reader.count)
    }

    @Test func `each byte has its time to within a second, however often times are noted`() throws {
        for tenth in 0...50 { try LogTimes.note(time(Int64(tenth) * 100, Int64(tenth) + 1), log: log) }
        let times = try all()
        #expect(times.count <= 12, "\(times.count) times in five seconds")
        for tenth in 0...50 {
            let noted = try #require(times.first { $0.length > Int64(tenth) }).at
            let written = WallInstant.zero + .milliseconds(Int64(tenth) * 100)
            #expect(noted >= written && noted - written < .seconds(1))
        }
    }

    @Test func `an instant that was set back does not precede earlier ones`() throws {
        let times = [time(5000, 1), time(9000, 2), time(0, 3), time(20_000, 4)]
        for time in times { try LogTimes.note(time, log: log) }
        #expect(try all() == [time(5000, 1), time(9000, 2), time(9000, 3), time(20_000, 4)])
    }
}

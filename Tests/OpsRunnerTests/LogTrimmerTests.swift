import Glibc
import OpsExecutor
import OpsSystem
import Testing

@testable import OpsRunner

/// Logs of ended attempts, and their record for the runner that follows a killed one.
@Suite final class LogTrimmerTests {
    private let directory: String

    init() throws {
        directory = "/tmp/ops-trimmer-\(try Randomness.identifier().prefix(10))"
        try Files.makeDirectories(directory, mode: 0o700)
    }

    deinit { removeTree(directory) }

    private func attempt(_ number: Int64) -> AttemptID { AttemptID(OperationID(number), 1) }

    private func makeLog(_ number: Int64) throws -> LogFile {
        try LogFile.create("\(directory)/\(number).1.log", owner: nil)
    }

    private func recordedLines() throws -> Int {
        try Files.read("\(directory)/\(LogJournal.fileName)", limit: 1 << 20).filter { $0 == UInt8(ascii: "\n") }.count
    }

    @Test func `lines of logs that no longer matter leave the record`() throws {
        var trimmer = LogTrimmer()
        try trimmer.useJournal(in: directory, now: .zero)
        for number in 1...2000 as ClosedRange<Int64> {
            let file = try makeLog(number)
            // The log of another user is recorded at once, and a removed one needs nothing more after the end.
            trimmer.add(attempt(number), [file], cap: 1 << 20, uid: Identity.uid + 1, now: .zero)
            try Files.remove(file.path)
            try trimmer.end(attempt(number), hasLeftovers: false, now: .zero)
        }
        let count = try recordedLines()
        #expect(count > 0 && count <= 1001)
    }

    /// Waits for the process that trims a log; `nil`: there is none.
    private func awaitTrim(by trimmer: LogTrimmer) throws -> EndedChild? {
        guard let process = try ProcessRecord.all().first(where: { trimmer.isTrimming($0.pid) }) else { return nil }
        return try Children.wait(for: process.pid)
    }

    @Test(arguments: [(ENOSPC, true), (EIO, true), (EOPNOTSUPP, false)] as [(Int32, Bool)])
    func `a trim that failed is repeated unless the file system cannot punch holes`(
        errno: Int32, isRepeated: Bool
    ) throws {
        var trimmer = LogTrimmer()
        let file = try makeLog(1)
        let writer = try file.openForAppending()
        trimmer.add(attempt(1), [file], cap: 1 << 16, uid: Identity.uid, now: .zero)
        _ = try writer.writeAll([UInt8](repeating: 0x41, count: 1 << 20))
        try trimmer.trimDueLogs(now: .zero + .seconds(1))
        var ended = try #require(try awaitTrim(by: trimmer))
        ended.status = .code(errno)
        #expect(throws: SystemError.self) { try trimmer.finishTrim(ended) }
        _ = try writer.writeAll([UInt8](repeating: 0x41, count: 1 << 20))
        try trimmer.trimDueLogs(now: .zero + .seconds(100))
        let second = try awaitTrim(by: trimmer)
        #expect((second != nil) == isRepeated)
    }

    @Test func `lines of the record that cannot be read are skipped`() throws {
        let lines = [
            "1 1 1024 0 1 7 /tmp/with a space.log", "2 1 \(Int64.min) 0 0 7 /tmp/2.log",
            "3 1 1024 0 0 seven /tmp/3.log", "4 1 1024", "",
        ]
        let path = "\(directory)/\(LogJournal.fileName)"
        try Files.replace(path, with: Array(lines.joined(separator: "\n").utf8), mode: 0o600)
        let entries = try LogJournal.open(in: directory).entries
        #expect(entries.map(\.path) == ["/tmp/with a space.log"])
    }

    @Test func `of too many open logs of ended attempts the oldest are given up`() throws {
        var trimmer = LogTrimmer()
        trimmer.endedLimit = 2
        var writers: [Int32] = []
        defer { for writer in writers { close(writer) } }
        for number in 1...3 as ClosedRange<Int64> {
            let file = try makeLog(number)
            writers.append(try file.openForAppending().release())
            trimmer.add(attempt(number), [file], cap: 1 << 20, uid: Identity.uid, now: .zero)
            try trimmer.end(attempt(number), hasLeftovers: true, now: .zero)
        }
        // The new record has the logs that are kept.
        try trimmer.useJournal(in: directory, now: .zero)
        #expect(try recordedLines() == 2)
    }
}

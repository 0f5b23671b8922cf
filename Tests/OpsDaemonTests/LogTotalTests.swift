import Glibc
import OpsSystem
import TestSupport
import Testing

@testable import OpsDaemon

/// A limit for the size of all logs and outputs together.
@Suite struct LogTotalTests {
    private let directory = TemporaryDirectory()

    /// Creates a log of 64 KiB for each operation, or an output of that size.
    private func fill(_ operations: [Int64], outputs: Set<Int64> = []) throws {
        let bytes = [UInt8](repeating: 1, count: 64 << 10)
        for operation in operations {
            let kind = outputs.contains(operation) ? "outputs" : "logs"
            let folder = "\(directory.path)/\(kind)/\(operation / 1000)"
            let place = kind == "logs" ? folder : "\(folder)/\(operation).1"
            try Files.makeDirectories(place, mode: 0o700)
            try Files.replace(
                kind == "logs" ? "\(place)/\(operation).1.log" : "\(place)/file", with: bytes, mode: 0o600)
        }
    }

    private func excess(
        within limit: Int64, unfinished: Set<Int64> = [], owner: (Int64) -> UInt32?
    ) throws -> [Int64] {
        let total = LogTotal(logs: directory.path + "/logs", outputs: directory.path + "/outputs", limit: limit)
        let excess = try total.excess(owner: owner, isFinished: { !unfinished.contains($0) })
        #expect(excess.failure == nil)
        return excess.logs.map(\.operation)
    }

    @Test func `the oldest logs of a single user go first`() throws {
        try fill([1, 2, 999, 1000, 2500], outputs: [2])
        #expect(try excess(within: 1 << 30) { _ in 7 } == [])
        #expect(try excess(within: 200 << 10) { _ in 7 } == [1, 2])
        #expect(try excess(within: 1) { _ in 7 } == [1, 2, 999, 1000, 2500])
    }

    @Test func `a user who writes much loses logs before users who write less`() throws {
        try fill([1, 2, 3, 4] + Array(10..<30))
        // Operations from 10 on belong to a user who fills the disk.
        let found = try excess(within: 700 << 10) { $0 < 10 ? 1 : 2 }
        #expect(!found.isEmpty && found.allSatisfy { $0 >= 10 })
        #expect(found == Array(found.sorted()))
        #expect(found.first == 10 && !found.contains(29))
    }

    @Test func `logs of unfinished operations count, and later ones of finished operations go instead`() throws {
        try fill([1, 2, 3, 4])
        #expect(try excess(within: 140 << 10, unfinished: [1]) { _ in 7 } == [2, 3])
    }

    @Test func `a removed log takes no space under its other names`() throws {
        try fill([1])
        let other = directory.path + "/other"
        #expect(link("\(directory.path)/logs/0/1.1.log", other) == 0)
        let total = LogTotal(logs: directory.path + "/logs", outputs: directory.path + "/outputs", limit: 1)
        for log in try total.excess(owner: { _ in 7 }, isFinished: { _ in true }).logs { try log.remove() }
        #expect(!Files.exists("\(directory.path)/logs/0/1.1.log"))
        #expect(try Files.bytesOnDisk(of: other) == 0)
    }

    @Test func `outputs that are a file or without rights do not keep other logs`() throws {
        try fill([1, 2, 3], outputs: [2])
        let folder = directory.path + "/outputs/0"
        try Files.replace("\(folder)/1.1", with: [UInt8](repeating: 1, count: 64 << 10), mode: 0o600)
        #expect(chmod("\(folder)/2.1", 0) == 0)
        // So that the directory of the test can be removed.
        defer { chmod("\(folder)/2.1", 0o700) }
        let found = try excess(within: 1) { _ in 7 }
        #expect(found == [1, 1, 2, 3])
    }

    @Test func `outputs that were moved aside count and are removed with those of their operation`() throws {
        let attempt = AttemptID(OperationID(7), 1)
        let outputs = Logs(state: directory.path).outputDirectory(of: attempt)
        try Files.makeDirectories(directory.path + "/outputs/0", mode: 0o700)
        for _ in 1...3 {
            try UnusedDirectory.make(outputs, owner: nil)
            try Files.replace(outputs + "/file", with: [UInt8](repeating: 1, count: 64 << 10), mode: 0o600)
        }
        #expect(try excess(within: 1) { _ in 9 } == [7, 7, 7])
        try Logs(state: directory.path).remove(attempt)
        #expect(try Files.list(directory.path + "/outputs/0") == [])
    }

    @Test func `a log that cannot be measured counts nothing, and others are removed`() throws {
        try fill([1, 3])
        try Files.replace("\(directory.path)/logs/0/2.1000000000.log", with: [1], mode: 0o600)
        // The longest path has 4095 bytes: that of the last log is longer, and those of the others are not.
        var logs = directory.path
        while (logs + "/logs/0").utf8.count < 4084 { logs += "/." }
        let total = LogTotal(logs: logs + "/logs", outputs: directory.path + "/outputs", limit: 1)
        let found = try total.excess(owner: { _ in 7 }, isFinished: { _ in true })
        #expect(found.logs.map(\.operation) == [1, 2, 3])
        #expect(found.logs.map { $0.bytes > 0 } == [true, false, true])
        #expect(found.failure?.errno == ENAMETOOLONG)
    }

    @Test func `shares are as large as they can be`() {
        #expect(LogTotal.share(of: [], within: 10) == .max)
        #expect(LogTotal.share(of: [3, 4], within: 10) == .max)
        #expect(LogTotal.share(of: [9, 4], within: 10) == 6)
        #expect(LogTotal.share(of: [9, 8, 1], within: 10) == 4)
        #expect(LogTotal.share(of: [9, 9], within: 10) == 5)
    }
}

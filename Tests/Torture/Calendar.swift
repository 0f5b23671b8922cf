import Foundation
import Glibc
import Synchronization

/// Records of the instants and the files of the schedules.
struct CalendarEvidence {
    /// The record of some adjacent instants, in seconds since 1970.
    struct Record { var first: Int, last: Int, count: Int, result: String, graph: String? }

    /// Records of `tick` in order, and the instants that its runs wrote themselves.
    var records: [Record] = []
    var ticks: [String] = []
    /// Number of files in the records of `drop`, and the names that its runs wrote.
    var recordedFiles = 0
    var files: [String] = []
    var dropped = 0
}

/// A schedule that is due each second, and one that starts runs for 10,000 files that are created meanwhile.
final class Calendar: Sendable {
    private let victims: Victims
    private let ledger: Ledger
    private let runsTwice: Bool
    private let dropped = Atomic(0)
    private static let files = 10_000

    private var directory: String { victims.work + "/drop" }
    private var tickFile: String { victims.work + "/ticks" }
    private var seenFile: String { victims.work + "/dropped" }

    init(_ victims: Victims, _ ledger: Ledger, runsTwice: Bool) {
        self.runsTwice = runsTwice
        self.victims = victims
        self.ledger = ledger
    }

    func prepare() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let mark = "echo \"$OPS_SCHEDULED_AT\" >>\(tickFile)"
        try add("tick", runsTwice ? "\(mark); \(mark)" : mark, ["at": ["every 1s"], "overlap": "allow"])
        try add(
            "drop", "printf '%s\\n' \"$OPS_TRIGGER_FILE\" >>\(seenFile)",
            ["at": [], "onPath": directory + "/*", "settle": "1s", "poll": "5s", "batch": true])
    }

    private func add(_ name: String, _ script: String, _ parameters: [String: Any]) throws {
        let operation: [String: Any] = ["name": name, "command": ["/bin/sh", "-c", script]]
        // No graph may be removed, because its events would be removed too.
        let common: [String: Any] = ["name": name, "zone": "UTC", "keep": 10_000, "operations": [operation]]
        _ = try Wire.call(victims.socket, "AddSchedule", common.merging(parameters) { $1 })
    }

    /// Creates the files, spread over the time until `end`.
    func drop(until end: Date) {
        let pause = max(0, end.timeIntervalSinceNow) / Double(Self.files / 100)
        for number in 1...Self.files {
            guard FileManager.default.createFile(atPath: "\(directory)/f\(number)", contents: nil) else {
                return ledger.find("the torture cannot make its file \(number)")
            }
            dropped.store(number, ordering: .relaxed)
            if number % 100 == 0 { usleep(UInt32(pause * 1e6)) }
        }
    }

    /// Waits until each file has its record, then stops the schedule.
    func settle() throws {
        let end = Date().addingTimeInterval(180)
        while Date() < end {
            do throws(CallError) {
                if recordedFiles(try rows("drop")) >= dropped.load(ordering: .relaxed) { break }
            } catch {
                guard victims.mayLackStorage else { throw error }
            }
            usleep(500_000)
        }
        _ = try Wire.call(victims.socket, "PauseSchedule", ["name": "tick", "paused": true])
    }

    func evidence() throws -> CalendarEvidence {
        var evidence = CalendarEvidence()
        evidence.records = try rows("tick").filter { $0["origin"] as? String == "calendar" }.map {
            guard let first = Self.seconds($0["nominal"]), let last = Self.seconds($0["through"]),
                let count = $0["count"] as? Int, let result = $0["result"] as? String
            else { throw Trouble("a record without what it must have: \($0)") }
            return .init(first: first, last: last, count: count, result: result, graph: $0["graph"] as? String)
        }.sorted { $0.first < $1.first }
        evidence.ticks = lines(of: tickFile)
        evidence.recordedFiles = recordedFiles(try rows("drop"))
        evidence.files = lines(of: seenFile)
        evidence.dropped = dropped.load(ordering: .relaxed)
        return evidence
    }

    private func rows(_ name: String) throws(CallError) -> [[String: Any]] {
        let reply = try Wire.call(victims.socket, "ScheduleRuns", ["name": name, "limit": 1000])
        return reply["runs"] as? [[String: Any]] ?? []
    }

    /// Returns the number of files in these records. A record of several files contains their number.
    private func recordedFiles(_ rows: [[String: Any]]) -> Int {
        rows.filter { $0["origin"] as? String == "trigger" }.reduce(0) { sum, row in
            sum + ((row["note"] as? String)?.split(separator: " ").first.flatMap { Int($0) } ?? 1)
        }
    }

    private func lines(of path: String) -> [String] {
        let text = FileManager.default.contents(atPath: path) ?? Data()
        return String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    private static func seconds(_ instant: Any?) -> Int? {
        guard let text = instant as? String else { return nil }
        return (try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text))
            .map { Int($0.timeIntervalSince1970) }
    }
}

extension Checker {
    /// Checks that each second has one record, whatever the clock did, and that each run happened once.
    mutating func instants() -> Int {
        guard let calendar = evidence.calendar else { return 0 }
        var seen: Set<String> = []
        for instant in calendar.ticks where !seen.insert(instant).inserted { find("the instant \(instant) ran twice") }
        for (record, next) in zip(calendar.records, calendar.records.dropFirst()) {
            if next.first <= record.last { find("the instants from \(next.first) on have two records") }
            if next.first > record.last + 1 { find("the instants after \(record.last) have no record") }
        }
        for record in calendar.records where record.count != record.last - record.first + 1 {
            find("the record from \(record.first) to \(record.last) counts \(record.count) instants")
        }
        let graphs = calendar.records.compactMap(\.graph)
        if Set(graphs).count != graphs.count { find("two instants have the same run") }
        if calendar.ticks.isEmpty { find("a schedule that is due each second never ran") }
        return calendar.records.reduce(0) { $0 + $1.count }
    }

    /// Checks that each file is in exactly one run.
    mutating func triggers() -> Int {
        guard let calendar = evidence.calendar else { return 0 }
        if calendar.recordedFiles != calendar.dropped {
            find("\(calendar.dropped) files were dropped, and the runs record \(calendar.recordedFiles)")
        }
        var seen: Set<String> = []
        for file in calendar.files where !seen.insert(file).inserted { find("file \(file) was in two runs") }
        if calendar.files.isEmpty { find("no run received a file") }
        return calendar.dropped
    }
}

internal import OpsLinux

/// Keeps the logs of running attempts within their caps by dropping their oldest part.
///
/// It looks at sizes from time to time, only while there is a capped log; a log that grows fast is looked at often.
struct LogKeeper {
    private struct Log {
        var paths: [String]
        var cap: Int64
        var length: Int64 = 0
    }
    private static let slowest: Int64 = 8_000_000_000
    private static let fastest: Int64 = 125_000_000

    private var logs: [Attempt: Log] = [:]
    private var interval = slowest
    /// When to look next; `nil`: nothing to look at.
    private(set) var dueAt: Int64?

    mutating func add(_ attempt: Attempt, paths: [String], cap: Int64, now: Int64) {
        guard cap > 0, !paths.isEmpty else { return }
        logs[attempt] = Log(paths: paths, cap: cap)
        // A new one may write at once.
        interval = LogKeeper.fastest
        dueAt = min(dueAt ?? .max, now + interval)
    }

    /// Looks a last time.
    mutating func remove(_ attempt: Attempt) throws(SystemError) {
        guard var log = logs.removeValue(forKey: attempt) else { return }
        _ = try LogKeeper.trim(&log)
    }

    /// Looks at all if it is time; throws the first error when all have been looked at. A log that cannot be trimmed
    /// (its file system cannot punch holes) is given up: it would fail every time.
    mutating func look(now: Int64) throws(SystemError) {
        guard let due = dueAt, due <= now else { return }
        var isFast = false
        var failure: SystemError?
        for attempt in Array(logs.keys) {
            guard var log = logs[attempt] else { continue }
            do throws(SystemError) {
                isFast = try LogKeeper.trim(&log) || isFast
                logs[attempt] = log
            } catch {
                logs[attempt] = nil
                failure = failure ?? error
            }
        }
        interval = isFast ? LogKeeper.fastest : min(interval * 2, LogKeeper.slowest)
        dueAt = logs.isEmpty ? nil : now + interval
        if let failure { throw failure }
    }

    /// `true`: the log grew by a good part of its cap since the last look.
    private static func trim(_ log: inout Log) throws(SystemError) -> Bool {
        var total: Int64 = 0
        for path in log.paths {
            guard let size = try LogFile.size(path) else { continue }
            total = total.clampedSum(size.length)
            // Slack, so that a log at its cap is not punched for every line.
            if size.stored - log.cap > log.cap / 8 { try LogFile.drop(path, keeping: log.cap) }
        }
        let grown = total - log.length
        log.length = total
        return grown > log.cap / 64
    }

    /// An empty one.
    init() {}

    /// For the program that this one becomes.
    func pack(into packer: inout Packer) {
        packer.pack(logs.map { ($0.key, $0.value) }) { packer, entry in
            packer.pack(entry.0)
            packer.pack(entry.1.paths) { $0.pack($1) }
            packer.pack(entry.1.cap)
        }
    }

    init(from: inout Unpacker) throws(ProtocolError) {
        let entries = try from.list { (from: inout Unpacker) throws(ProtocolError) in
            (try from.attempt(), Log(paths: try from.texts(), cap: try from.number()))
        }
        for (attempt, log) in entries { logs[attempt] = log }
        dueAt = logs.isEmpty ? nil : 0
    }
}

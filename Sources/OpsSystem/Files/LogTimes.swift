internal import Glibc

/// Length of a log at an instant: all bytes below it were written by then.
public struct LogTime: Hashable, Sendable {
    public var at: WallInstant
    public var length: Int64

    public init(at: WallInstant, length: Int64) {
        self.at = at
        self.length = length
    }
}

/// Times of a log, in a file beside it: each time is two integers of eight bytes, the lowest byte first.
public enum LogTimes {
    static let recordSize = 16

    public static let suffix = ".times"

    public static func path(of log: String) -> String { log + suffix }

    /// Shortest pause behind `count` times of a log. It grows with their number, so that the log of an operation that
    /// runs for months has some tens of megabytes of them.
    public static func pause(after count: Int) -> TimeSpan {
        TimeSpan.seconds(1) * (1 << Int64(min(16, count >> 20)))
    }

    /// Adds a time behind `count` others. The first one takes the place of a file of an earlier log of the same name.
    ///
    /// A record that a full disk has cut is replaced by the next one.
    public static func append(_ time: LogTime, to log: String, after count: Int) throws(SystemError) {
        let path = path(of: log)
        let flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (count == 0 ? O_TRUNC : 0)
        let file = Descriptor(owning: try retrying("open \(path)") { unsafe open(path, flags, 0o600) })
        var bytes: [UInt8] = []
        bytes.reserveCapacity(recordSize)
        for value in [time.at.nanoseconds, time.length] {
            for place in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * place))) }
        }
        let number = file.rawValue
        let written = try retrying("write \(path)") {
            unsafe bytes.withUnsafeBytes { unsafe pwrite(number, $0.baseAddress, $0.count, count * recordSize) }
        }
        guard written == recordSize else { throw SystemError("write \(path)", errno: ENOSPC) }
    }
}

/// Reads the times of a log, by binary search.
public struct LogTimeReader: ~Copyable {
    private let file: ReadableFile
    public let count: Int

    /// Opens the times of a log; `nil`: it has none.
    public static func open(log: String) throws(SystemError) -> LogTimeReader? {
        guard let file = try ReadableFile.open(LogTimes.path(of: log)) else { return nil }
        let count = Int(try file.size) / LogTimes.recordSize
        return LogTimeReader(file: file, count: count)
    }

    /// Returns at most `count` times, beginning with number `first`.
    public borrowing func times(from first: Int, count: Int) throws(SystemError) -> [LogTime] {
        let wanted = max(0, min(count, self.count - first))
        let bytes = try file.read(at: Int64(first * LogTimes.recordSize), count: wanted * LogTimes.recordSize)
        func integer(at place: Int) -> Int64 {
            (0..<8).reduce(0) { $0 | Int64(bytes[place + $1]) << Int64(8 * $1) }
        }
        return stride(from: 0, to: bytes.count - bytes.count % LogTimes.recordSize, by: LogTimes.recordSize).map {
            LogTime(at: WallInstant(nanoseconds: integer(at: $0)), length: integer(at: $0 + 8))
        }
    }

    /// Returns the number of the first time that fulfils `isMet`, which holds for all later ones; `count`: none does.
    public borrowing func first(where isMet: (LogTime) -> Bool) throws(SystemError) -> Int {
        var low = 0
        var high = count
        while low < high {
            let middle = low + (high - low) / 2
            guard let time = try times(from: middle, count: 1).first else { return high }
            if isMet(time) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}

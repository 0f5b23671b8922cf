internal import OpsSystem

/// Determines the instants at which the bytes of a log were written, to within a second.
///
/// A byte was written at the first noted time with a greater length. Bytes beyond the last note, and all of a log without
/// notes, were written no later than the last write of the file.
struct LogClock {
    /// Path of the log.
    let log: String
    /// Instant before which nothing was written. The kernel records the last write up to a few clock ticks too early.
    let start: WallInstant
    /// Maximum number of notes that are read for one reply.
    private static let longest = 512

    /// Returns the offset of the first byte that was written at or after an instant.
    func firstByte(since: WallInstant, in file: borrowing ReadableFile) throws(SystemError) -> Int64 {
        guard let notes = try LogTimeReader.open(log: log) else {
            return try lastWrite(of: file) < since ? try file.size : 0
        }
        let later = try notes.first { max(start, $0.at) >= since }
        if later == notes.count, try lastWrite(of: file) < since { return try file.size }
        return try notes.length(before: later)
    }

    /// Returns the offset at which the bytes end that were written at or before an instant; `nil`: all of the log was.
    func end(until: WallInstant, in file: borrowing ReadableFile) throws(SystemError) -> Int64? {
        if try lastWrite(of: file) <= until { return nil }
        guard let notes = try LogTimeReader.open(log: log) else { return 0 }
        return try notes.length(before: try notes.first { max(start, $0.at) > until })
    }

    private func lastWrite(of file: borrowing ReadableFile) throws(SystemError) -> WallInstant {
        max(start, try file.lastWrite)
    }

    /// Returns the instants at which the bytes from `first` to `end` were written, each with the offset at which it
    /// begins, and the offset up to which the instants are complete.
    func times(
        from first: Int64, to end: Int64, in file: borrowing ReadableFile
    ) throws(SystemError) -> (times: [LogTime], through: Int64) {
        var times: [LogTime] = []
        var offset = first
        if let notes = try LogTimeReader.open(log: log) {
            let index = try notes.first { $0.length > first }
            for note in try notes.times(from: index, count: Self.longest) where offset < end {
                times.append(LogTime(at: max(start, note.at), length: offset))
                // The notes may have been replaced since the search for the first one.
                offset = min(max(note.length, offset), end)
            }
            // The times of the rest go into the next reply.
            if offset < end, index + times.count < notes.count { return (times, offset) }
        }
        if offset < end { times.append(LogTime(at: try lastWrite(of: file), length: offset)) }
        return (times, end)
    }
}

extension LogTimeReader {
    /// Returns the length that was noted before a time; 0 before the first.
    fileprivate borrowing func length(before number: Int) throws(SystemError) -> Int64 {
        number == 0 ? 0 : try times(from: number - 1, count: 1).first?.length ?? 0
    }
}

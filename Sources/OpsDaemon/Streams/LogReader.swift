internal import OpsSystem

/// Reads one log file from an offset on, in chunks, while it may grow. Never used in the loop, since the user of the
/// attempt can delay each read: see `UserThreads`.
///
/// Unchecked: a reader is used by one thread at a time.
final class LogReader: @unchecked Sendable {
    /// Limits of a log to read: lines that were written between two instants.
    struct Window {
        var since: WallInstant?
        var until: WallInstant?
        /// Nothing was written before this instant, at which the attempt has started.
        var start = WallInstant.zero
    }

    private let file: ReadableFile
    private let clock: LogClock
    private(set) var offset: Int64
    /// Offset at which reading ends; `nil`: where the file ends.
    private let end: Int64?
    /// Number of bytes that were removed from the front.
    let dropped: Int64

    private init(file: consuming ReadableFile, clock: LogClock, offset: Int64, end: Int64?, dropped: Int64) {
        self.file = file
        self.clock = clock
        self.offset = offset
        self.end = end
        self.dropped = dropped
    }

    /// Opens a log; nil if the file does not exist (yet).
    static func open(
        _ path: String, offset wanted: Int64, lines: Int?, window: Window
    ) throws(SystemError) -> LogReader? {
        guard let file = try ReadableFile.open(path) else { return nil }
        let size = try file.size
        let dropped = try file.firstData()
        var start = max(wanted, dropped)
        if let lines { start = max(start, try LogReader.start(ofLast: lines, in: file, size: size, from: dropped)) }
        let clock = LogClock(log: path, start: window.start)
        if let since = window.since {
            let first = try clock.firstByte(since: since, in: file)
            if first > start { start = try LogReader.lineStart(from: first, in: file) }
        }
        var end: Int64?
        if let until = window.until, let last = try clock.end(until: until, in: file) {
            end = try LogReader.lineStart(from: last, in: file)
        }
        return LogReader(file: file, clock: clock, offset: start, end: end, dropped: dropped)
    }

    /// Returns the next bytes; nothing at the present end of the file.
    func next() throws(SystemError) -> [UInt8] {
        let room = end.map { Int(clamping: max(0, $0 - offset)) } ?? Self.chunk
        let bytes = try file.read(at: offset, count: min(room, Self.chunk))
        offset += Int64(bytes.count)
        return bytes
    }

    /// Returns the instants at which the bytes that `next` returned last were written. Bytes for whose instants one
    /// reply has no room are removed from `bytes`.
    func times(of bytes: inout [UInt8]) throws(SystemError) -> [LogTime] {
        let first = offset - Int64(bytes.count)
        let (times, through) = try clock.times(from: first, to: offset, in: file)
        bytes.removeLast(Int(offset - through))
        offset = through
        return times
    }

    private static let chunk = 48 << 10
    /// Number of bytes in which the end of a line is first searched.
    private static let usualLine = 4 << 10
    /// Number of bytes after which the search for line ends gives up; clients ask for more by offset.
    private static let searched: Int64 = 16 << 20

    /// Returns the offset of the last `lines` lines. A last line without its end counts.
    private static func start(
        ofLast lines: Int, in file: borrowing ReadableFile, size: Int64, from first: Int64
    ) throws(SystemError) -> Int64 {
        guard lines > 0 else { return size }
        let bottom = max(first, size - searched)
        var end = size
        var left = lines
        var isLastByte = true
        while end > bottom {
            let start = max(bottom, end - Int64(chunk))
            let bytes = try file.read(at: start, count: Int(end - start))
            for index in bytes.indices.reversed() {
                defer { isLastByte = false }
                guard bytes[index] == UInt8(ascii: "\n"), !isLastByte else { continue }
                left -= 1
                if left == 0 { return start + Int64(index) + 1 }
            }
            end = start
        }
        return bottom
    }

    /// Returns the offset of the first line that begins at `offset` or later.
    private static func lineStart(
        from offset: Int64, in file: borrowing ReadableFile
    ) throws(SystemError) -> Int64 {
        guard offset > 0 else { return 0 }
        var position = offset - 1
        // A process can give its log any length.
        let last = offset.clampedSum(searched)
        while position < last {
            let bytes = try file.read(at: position, count: usualLine)
            if let end = bytes.firstIndex(of: UInt8(ascii: "\n")) { return position + Int64(end) + 1 }
            position += Int64(bytes.count)
            if bytes.isEmpty { return position }
        }
        return offset
    }
}

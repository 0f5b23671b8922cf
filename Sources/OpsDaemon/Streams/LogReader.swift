internal import OpsSystem

/// Reads one log file from an offset on, in chunks, while it may grow.
struct LogReader: ~Copyable {
    private let file: ReadableFile
    private(set) var offset: Int64
    /// Bytes at the front that are no longer there.
    let dropped: Int64

    /// Nil: there is no such file (yet).
    static func open(_ path: String, offset wanted: Int64, lines: Int?) throws(SystemError) -> LogReader? {
        guard let file = try ReadableFile.open(path) else { return nil }
        let size = try file.size
        let dropped = try file.firstData()
        var start = max(wanted, dropped)
        if let lines { start = max(start, try LogReader.start(ofLast: lines, in: file, size: size, from: dropped)) }
        return LogReader(file: file, offset: start, dropped: dropped)
    }

    /// The next bytes; empty at the end of what is there.
    mutating func next() throws(SystemError) -> [UInt8] {
        let bytes = try file.read(at: offset, count: Self.chunk)
        offset += Int64(bytes.count)
        return bytes
    }

    private static let chunk = 48 << 10
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
            for place in bytes.indices.reversed() {
                defer { isLastByte = false }
                guard bytes[place] == UInt8(ascii: "\n"), !isLastByte else { continue }
                left -= 1
                if left == 0 { return start + Int64(place) + 1 }
            }
            end = start
        }
        return bottom
    }
}

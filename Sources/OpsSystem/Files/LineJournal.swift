internal import Glibc

/// Lines of text that outlive this process, but not the machine: nothing is brought to the disk.
public final class LineJournal {
    private let path: String
    private var descriptor: Descriptor
    /// Number of lines in the file.
    public private(set) var count: Int
    /// Length of these lines in bytes.
    private var length: Int64
    /// True after a write that failed: a part of its line may follow these lines.
    private var isCut = false

    /// Opens the file and gives its whole lines. An empty file is made if there is none.
    public static func open(_ path: String, limit: Int) throws(SystemError) -> (journal: LineJournal, lines: [String]) {
        let bytes = try Files.readIfPresent(path, limit: limit) ?? []
        var lines = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        // The process that wrote the last line may have ended within it.
        lines.removeLast()
        let texts = lines.map { String(decoding: $0, as: UTF8.self) }
        return (try LineJournal(path, texts), texts)
    }

    private init(_ path: String, _ lines: [String]) throws(SystemError) {
        let bytes = LineJournal.bytes(of: lines)
        self.path = path
        count = lines.count
        length = Int64(bytes.count)
        descriptor = try LineJournal.write(bytes, to: path)
    }

    /// Appends a line, which contains no newline. A line that a full disk has cut is removed by the next call.
    public func append(_ line: String) throws(SystemError) {
        if isCut {
            try descriptor.truncate(to: length)
            isCut = false
        }
        let bytes = LineJournal.bytes(of: [line])
        isCut = true
        guard try descriptor.writeAll(bytes) else { throw SystemError("write \(path)", errno: EPIPE) }
        isCut = false
        length += Int64(bytes.count)
        count += 1
    }

    /// Replaces all lines. Whenever this process ends, the file has either the old ones or the new ones.
    public func replace(by lines: [String]) throws(SystemError) {
        let bytes = LineJournal.bytes(of: lines)
        descriptor = try LineJournal.write(bytes, to: path)
        count = lines.count
        length = Int64(bytes.count)
        isCut = false
    }

    private static func bytes(of lines: [String]) -> [UInt8] { Array(lines.map { $0 + "\n" }.joined().utf8) }

    private static func write(_ bytes: [UInt8], to path: String) throws(SystemError) -> Descriptor {
        let fresh = path + ".new"
        let flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC | O_NOFOLLOW
        let descriptor = Descriptor(owning: try retrying("create \(fresh)") { unsafe Glibc.open(fresh, flags, 0o600) })
        guard try descriptor.writeAll(bytes) else { throw SystemError("write \(fresh)", errno: EPIPE) }
        try Files.move(fresh, to: path)
        return descriptor
    }
}

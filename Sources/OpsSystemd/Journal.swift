internal import CSystemd
internal import Glibc
public import OpsSystem

/// Journal of the system.
public enum Journal {
    /// True if a journal daemon is there.
    public static var isAvailable: Bool { unsafe access("/run/systemd/journal/socket", W_OK) == 0 }

    /// True if standard error already is a stream of the journal (a service whose output it collects).
    public static var isStandardError: Bool {
        guard let named = Environment["JOURNAL_STREAM"] else { return false }
        var status = stat()
        guard unsafe fstat(2, &status) == 0 else { return false }
        return named == "\(status.st_dev):\(status.st_ino)"
    }

    /// Writes one structured entry: pairs of FIELD and value.
    public static func send(_ fields: [(name: String, value: String)]) throws(SystemError) {
        let entries = fields.map { Array("\($0.name)=\($0.value)".utf8) }
        let vectors = UnsafeMutableBufferPointer<iovec>.allocate(capacity: entries.count)
        defer { unsafe vectors.deallocate() }
        let result = unsafe withEach(entries[...], into: vectors) { unsafe sd_journal_sendv(vectors.baseAddress, $0) }
        try systemd("sd_journal_sendv", result)
    }

    /// Fills one vector after the other, while the bytes that each points to are accessible.
    private static func withEach(
        _ entries: ArraySlice<[UInt8]>, into vectors: UnsafeMutableBufferPointer<iovec>, _ body: (Int32) -> Int32
    ) -> Int32 {
        guard let first = entries.first else { return body(Int32(vectors.count)) }
        return unsafe first.withUnsafeBytes { bytes in
            unsafe vectors.initializeElement(
                at: entries.startIndex,
                to: iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count))
            return unsafe withEach(entries.dropFirst(), into: vectors, body)
        }
    }

    /// A descriptor whose every line becomes an entry of `identifier`.
    public static func stream(identifier: String) throws(SystemError) -> Descriptor {
        Descriptor(owning: try systemd("sd_journal_stream_fd", unsafe sd_journal_stream_fd(identifier, LOG_INFO, 0)))
    }
}

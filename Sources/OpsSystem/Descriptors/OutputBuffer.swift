/// Buffer of bytes that are to be written.
public struct OutputBuffer {
    private var bytes: [UInt8] = []
    private var start = 0

    public init() {}

    public var count: Int { bytes.count - start }
    public var isEmpty: Bool { count == 0 }
    /// Bytes that are to be written next.
    public var rest: ArraySlice<UInt8> { bytes[start...] }

    public mutating func append(_ more: [UInt8]) {
        if isEmpty {
            bytes = more
            start = 0
        } else {
            bytes += more
        }
    }

    /// Calls `fill` to append in place.
    public mutating func append(_ fill: (inout [UInt8]) -> Void) { fill(&bytes) }

    public mutating func drop(_ written: Int) {
        precondition(written <= count, "no more is written than there was")
        start += written
        if start == bytes.count {
            // Not emptied in place: another array may share the storage.
            bytes = []
            start = 0
        } else if start >= Self.compaction {
            bytes.removeSubrange(..<start)
            start = 0
        }
    }

    /// Number of written bytes after which the rest is moved to the front: moving costs time.
    private static let compaction = 1 << 20
}

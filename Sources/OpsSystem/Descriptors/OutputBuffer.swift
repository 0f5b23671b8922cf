/// Bytes that wait for a reader, in order.
public struct OutputBuffer {
    private var bytes: [UInt8] = []
    private var start = 0

    public init() {}

    public var count: Int { bytes.count - start }
    public var isEmpty: Bool { count == 0 }
    /// What is to be written next.
    public var rest: ArraySlice<UInt8> { bytes[start...] }

    public mutating func append(_ more: [UInt8]) {
        if isEmpty {
            bytes = more
            start = 0
        } else {
            bytes += more
        }
    }

    /// Lets `fill` append in place.
    public mutating func append(_ fill: (inout [UInt8]) -> Void) { fill(&bytes) }

    public mutating func drop(_ written: Int) {
        precondition(written <= count, "no more is written than there was")
        start += written
        if start == bytes.count {
            // Not emptied in place: others may hold the same bytes.
            bytes = []
            start = 0
        } else if start >= Self.compaction {
            bytes.removeSubrange(..<start)
            start = 0
        }
    }

    /// Moving what is left costs; so only after this much was written.
    private static let compaction = 1 << 20
}

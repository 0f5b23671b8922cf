/// Graph and partition of an operation, packed into one word to keep a row small.
struct OperationOrigin: Codable {
    /// The graph in the upper 40 bits, the partition in the lower 24; all of these set: none.
    private var bits: UInt64

    /// Number of partitions that can be distinguished.
    static let partitions = (1 << 24) - 1
    /// Highest number of a graph.
    static let lastGraph: Int64 = (1 << 40) - 1

    init(graph: Int64, partition: PartitionIndex?) {
        bits = UInt64(bitPattern: graph) << 24 | UInt64(partition?.offset ?? Self.partitions)
    }

    var graph: Int64 { Int64(bits >> 24) }

    /// Nil for an operation of a privileged user.
    var partition: PartitionIndex? {
        get {
            let stored = Int32(bits & 0xFF_FFFF)
            return stored == Self.partitions ? nil : PartitionIndex(rawValue: stored)
        }
        set { self = OperationOrigin(graph: graph, partition: newValue) }
    }
}

/// The operations of one ordinary user in one queue: all that a barrier of that user orders. Operations of privileged
/// users, whose barriers order everybody's, are in none.
struct Partition {
    struct Key: Hashable {
        var queue: QueueIndex
        var user: UInt32
    }
    let key: Key
    /// Number of operations, those included that finish in this turn.
    var members: Int32 = 1
    var barriers = Barriers()
}

/// All partitions that have members.
struct PartitionTable {
    private(set) var pool = Pool<Partition, PartitionIndex>()
    private var index: [Partition.Key: PartitionIndex] = [:]

    subscript(partition: PartitionIndex) -> Partition {
        _read { yield pool[partition] }
        _modify { yield &pool[partition] }
    }

    func find(_ queue: QueueIndex, _ user: UInt32) -> PartitionIndex? { index[Partition.Key(queue: queue, user: user)] }

    /// Returns the partition of a user in a queue, which has one member more.
    mutating func retain(_ queue: QueueIndex, _ user: UInt32) -> PartitionIndex {
        let key = Partition.Key(queue: queue, user: user)
        if let known = index[key] {
            pool[known].members += 1
            return known
        }
        let partition = pool.insert(Partition(key: key))
        precondition(
            partition.offset < OperationOrigin.partitions, "every request is refused that needs more partitions")
        index[key] = partition
        return partition
    }

    mutating func retain(_ partition: PartitionIndex) { pool[partition].members += 1 }

    /// Counts one member less, and forgets a partition without members.
    mutating func release(_ partition: PartitionIndex) {
        pool[partition].members -= 1
        guard pool[partition].members == 0 else { return }
        index[pool[partition].key] = nil
        pool.remove(partition)
    }
}

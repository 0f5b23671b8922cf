/// The operations of one ordinary user in one queue, which a barrier of that user orders. Operations of privileged
/// users are in no partition: their barriers order those of all users.
struct Partition: Codable {
    struct Key: Hashable, Codable {
        var queue: QueueIndex
        var user: UInt32
    }
    let key: Key
    /// Number of operations, those included that finish in this turn.
    var members: Int32 = 1
}

/// All partitions that have members.
struct PartitionTable: Codable {
    private(set) var pool = Pool<Partition, PartitionIndex>()
    private var index: [Partition.Key: PartitionIndex] = [:]
    /// Number of members of each user's partitions together.
    private var membersOfUsers: [UInt32: Int] = [:]
    /// Number of edges by which they wait or have waited.
    private var edgesOfUsers: [UInt32: Int] = [:]

    subscript(partition: PartitionIndex) -> Partition {
        @inline(__always) _read { yield pool[partition] }
        @inline(__always) _modify { yield &pool[partition] }
    }

    func find(_ queue: QueueIndex, _ user: UInt32) -> PartitionIndex? { index[Partition.Key(queue: queue, user: user)] }

    /// Returns whether an index has been given to a partition that has no members any more.
    func isFree(_ offset: Int) -> Bool { offset < pool.isUsed.count && !pool.isUsed[offset] }

    /// Returns the number of operations of an ordinary user, those included that finish in this turn.
    func members(of user: UInt32) -> Int { membersOfUsers[user] ?? 0 }

    /// Returns the number of edges by which operations of an ordinary user wait or have waited.
    func edges(of user: UInt32) -> Int { edgesOfUsers[user] ?? 0 }

    mutating func countEdges(of partition: PartitionIndex, _ step: Int) {
        let user = pool[partition].key.user
        let left = edges(of: user) + step
        edgesOfUsers[user] = left == 0 ? nil : left
    }

    /// Returns the partition of a user in a queue, and counts one more member.
    mutating func retain(_ queue: QueueIndex, _ user: UInt32) -> PartitionIndex {
        let key = Partition.Key(queue: queue, user: user)
        if let known = index[key] {
            retain(known)
            return known
        }
        membersOfUsers[user, default: 0] += 1
        let partition = pool.insert(Partition(key: key))
        precondition(
            partition.offset < OperationOrigin.partitions, "every request is refused that needs more partitions")
        index[key] = partition
        return partition
    }

    mutating func retain(_ partition: PartitionIndex) {
        pool[partition].members += 1
        membersOfUsers[pool[partition].key.user, default: 0] += 1
    }

    /// Counts one member less, and forgets a partition or a user without members.
    mutating func release(_ partition: PartitionIndex) {
        let key = pool[partition].key
        let left = (membersOfUsers[key.user] ?? 0) - 1
        membersOfUsers[key.user] = left == 0 ? nil : left
        pool[partition].members -= 1
        guard pool[partition].members == 0 else { return }
        index[key] = nil
        pool.remove(partition)
    }

    /// `members`, `edges`: of each user, counted.
    func checkInvariants(_ members: [UInt32: Int], edges: [UInt32: Int]) -> [String] {
        var broken: [String] = []
        if membersOfUsers != members { broken.append("9: users count \(membersOfUsers) operations, not \(members)") }
        if edgesOfUsers != edges { broken.append("9: users count \(edgesOfUsers) edges, not \(edges)") }
        return broken
    }
}

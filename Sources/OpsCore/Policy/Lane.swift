/// Eligible operations that are interchangeable: same queue, same group, same categories. If the first of them cannot
/// start, none can, so the whole lane waits for the resource that its first member lacks.
struct Lane: Codable {
    struct Key: Hashable, Codable {
        var queue: QueueIndex
        var parent: Int64
        var categories: CategorySetIndex?
        var isGroup: Bool
        /// An operation with conditions, or a group with categories, has a lane of its own; 0 for all others.
        var only: Int64
        /// Executor that runs its members; nil: the runner.
        @Packed var executor: ExecutorIndex? = nil
        /// Account of the submitter in a fair queue.
        @Packed var account: AccountIndex? = nil

        /// True if each of its members needs a slot of the pool.
        var needsSlot: Bool { !isGroup && executor == nil }

        /// True for a lane of a queue that any of its operations may enter: it stays although it is empty.
        var isPlain: Bool {
            parent == 0 && categories == nil && only == 0 && executor == nil && account == nil
        }

        /// Leaves out members that few lanes have: lanes are looked up at each start.
        func hash(into hasher: inout Hasher) {
            hasher.combine(queue)
            hasher.combine(parent)
            hasher.combine(categories)
            hasher.combine(isGroup)
            hasher.combine(only)
        }
    }
    enum Status: Equatable, Codable {
        case idle
        /// To be considered at the next opportunity.
        case candidate
        case parked(Resource)
        /// The conditions of its only member are being evaluated, or were false and are evaluated again later.
        case evaluating
    }

    let key: Key
    /// Group of the group around its members.
    let group: GroupIndex?
    let needs: [Need]
    /// Its tickets in the order of lanes of each category it needs; nil while it is empty.
    var tickets: [LaneTicket?]
    var members = ReadyMembers()
    /// Number of members, without stale entries.
    var live: Int32 = 0
    /// Key of the first member; all bits set when there is none.
    var top = UInt64.max
    var status = Status.idle
    /// Distinguishes the newest entry of this lane in any heap from older ones.
    var stamp: UInt32 = 0
    /// The resource that woke it: once the lane was considered, the next one that waits there is.
    var wokenBy: Resource?
}

/// A resource that can block a lane, and that wakes it when there is room again.
enum Resource: Hashable, Codable {
    case queue(QueueIndex)
    case group(GroupIndex)
    case category(CategoryIndex)
    /// Connection and window of an executor.
    case executor(ExecutorIndex)
    /// The rate of a category.
    case rate(CategoryIndex)
    case reservations
    /// Operations to which a group yields, to avoid a deadlock.
    case yielding
    case evaluations
}

/// Members of a lane in the order in which they start. Entries that arrive in order are kept in a line, the others in a
/// heap. An entry of a member that has left stays until it comes first.
struct ReadyMembers: Codable {
    /// Twelve bytes, with the key in halves: each operation that is ready has one, and a whole key made them sixteen.
    struct Entry: HeapEntry {
        private let high: UInt32
        private let low: UInt32
        let operation: OperationIndex

        init(key: UInt64, operation: OperationIndex) {
            high = UInt32(key >> 32)
            low = UInt32(truncatingIfNeeded: key)
            self.operation = operation
        }

        var key: UInt64 { UInt64(high) << 32 | UInt64(low) }

        /// Four children share a cache line.
        static var arity: Int { 4 }
        static func < (a: Entry, b: Entry) -> Bool { a.key < b.key }
    }
    private(set) var line: [Entry] = []
    private(set) var head = 0
    private(set) var heap = Heap<Entry>()

    var entries: Int { line.count - head + heap.count }

    /// All entries in order, each member once, if the heap is empty.
    var onlyLine: ArraySlice<Entry>? { heap.isEmpty ? line[head...] : nil }

    var first: Entry? {
        if head < line.count {
            if let other = heap.first, other.key < line[head].key { return other }
            return line[head]
        }
        return heap.first
    }

    mutating func add(_ key: UInt64, _ operation: OperationIndex) {
        let entry = Entry(key: key, operation: operation)
        if head == line.count {
            line.removeAll(keepingCapacity: true)
            head = 0
            line.append(entry)
        } else if key > line[line.count - 1].key {
            line.append(entry)
        } else {
            heap.add(entry)
        }
    }

    mutating func removeFirst() {
        if head < line.count, heap.isEmpty || line[head].key <= heap.entries[0].key {
            head += 1
            if head > 1024, head > line.count / 2 {
                line.removeFirst(head)
                head = 0
            }
            return
        }
        heap.removeFirst()
    }

    mutating func removeAll() {
        line.removeAll(keepingCapacity: line.count < 4096)
        head = 0
        heap.removeAll(keepingCapacity: heap.count < 4096)
    }

    /// Removes stale entries, and the second entry of a member that left and returned.
    mutating func sweep(keeping isLive: (Entry) -> Bool) {
        var all = line[head...].filter(isLive) + heap.entries.filter(isLive)
        all.sort { $0.key < $1.key }
        line.removeAll(keepingCapacity: true)
        for entry in all where line.last?.key != entry.key { line.append(entry) }
        head = 0
        heap.removeAll()
    }

    /// Calls `body` with every entry whose key is lower than `bound`, in no order.
    func forEach(below bound: UInt64, _ body: (Entry) -> Void) {
        for i in head..<line.count {
            guard line[i].key < bound else { break }
            body(line[i])
        }
        guard let root = heap.first, root.key < bound else { return }
        let entries = heap.entries
        var open = [0]
        while let i = open.popLast() {
            body(entries[i])
            for child in (4 * i + 1)..<(4 * i + 5) where child < entries.count && entries[child].key < bound {
                open.append(child)
            }
        }
    }
}

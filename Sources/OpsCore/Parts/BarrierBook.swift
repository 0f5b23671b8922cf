/// The unfinished barriers of every queue, and the number of operations that each of them waits for.
///
/// A barrier of a privileged user (root, or the user of the daemon) starts after everything submitted earlier to its
/// queue has finished, and everything later there waits for it. A barrier of another user orders the operations of that
/// user alone. Groups that enclose a barrier do not block it, nor does a barrier block its own children.
///
/// So an operation of an ordinary user is in two scopes: its queue, for the barriers of privileged users, and its
/// partition, for those of its own user. Each scope counts for itself. An operation waits for the last barrier before
/// it in either scope, which waits for the barriers before it.
///
/// The book decides which operations a barrier blocks. The scheduler keeps that decision in the traits `behindBarrier`
/// and `gathering` of their rows.
struct BarrierBook: Codable {
    enum Scope: Equatable {
        case queue(QueueIndex)
        case partition(PartitionIndex)
    }

    struct Barrier: Equatable, Codable {
        let operation: OperationIndex
        let id: Int64
        /// Ids of the groups around it that are counted after it.
        fileprivate let groups: [Int64]
        /// Number of unfinished operations of the scope between the barrier before this one and it, without the groups
        /// that enclose it.
        fileprivate(set) var before: Int32 = 0
        /// Ids of operations that it keeps pending. Finished ones among them are skipped.
        fileprivate(set) var behind: [Int64] = []
    }

    /// The barriers of one scope in the order of their ids.
    struct Line: Equatable, Codable {
        fileprivate(set) var barriers: [Barrier] = []
        /// Number of unfinished operations after the last barrier.
        fileprivate(set) var after: Int32 = 0

        /// Returns the position of the first barrier at or after `id`.
        func position(from id: Int64) -> Int {
            var (low, high) = (0, barriers.count)
            while low < high {
                let middle = (low + high) / 2
                if barriers[middle].id < id { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    /// A consequence of the end of an operation.
    enum Release: Equatable {
        /// No barrier blocks this operation any more.
        case opened(OperationIndex)
        /// Everything that this barrier waited for has finished.
        case gathered(OperationIndex)
        /// An operation that waited for another barrier waits for this one now.
        case inherited(OperationIndex)
    }

    /// Traits that an operation should have after its queue was counted again.
    struct Standing: Equatable {
        let operation: OperationIndex
        let isBehind: Bool
        let isGathering: Bool
    }

    /// Lines by queue and by partition. A line that was never changed may be missing.
    private var shared: [Line] = []
    private var own: [Line] = []
    /// Number of unfinished barriers of ordinary users, by queue.
    private var ordinary: [Int32] = []
    /// Queues whose barriers are counted again before the present event is handled completely.
    private var queuesToRecount: [QueueIndex] = []

    subscript(scope: Scope) -> Line {
        switch scope {
        case .queue(let queue): queue.offset < shared.count ? shared[queue.offset] : Line()
        case .partition(let partition): partition.offset < own.count ? own[partition.offset] : Line()
        }
    }

    private mutating func change(_ scope: Scope, _ body: (inout Line) -> Void) {
        switch scope {
        case .queue(let queue):
            while shared.count <= queue.offset { shared.append(Line()) }
            body(&shared[queue.offset])
        case .partition(let partition):
            while own.count <= partition.offset { own.append(Line()) }
            body(&own[partition.offset])
        }
    }

    private mutating func countOrdinary(_ queue: QueueIndex, _ step: Int32) {
        while ordinary.count <= queue.offset { ordinary.append(0) }
        ordinary[queue.offset] += step
    }

    func ordinaryBarriers(in queue: QueueIndex) -> Int {
        queue.offset < ordinary.count ? Int(ordinary[queue.offset]) : 0
    }
    func hasOrdinary(_ queue: QueueIndex) -> Bool { ordinaryBarriers(in: queue) > 0 }
    func isEmpty(_ scope: Scope) -> Bool {
        switch scope {
        case .queue(let queue): queue.offset >= shared.count || shared[queue.offset].barriers.isEmpty
        case .partition(let partition): partition.offset >= own.count || own[partition.offset].barriers.isEmpty
        }
    }
    func hasBarriers(in queue: QueueIndex) -> Bool { !isEmpty(.queue(queue)) || hasOrdinary(queue) }

    /// Returns whether a barrier may order an operation of this row.
    func mayOrder(_ row: OperationRow) -> Bool {
        !isEmpty(.queue(row.queue)) || row.partition.map { !isEmpty(.partition($0)) } ?? false
    }

    // MARK: Operations that come

    /// Counts a new operation, the latest of all. Returns its traits: `behindBarrier`, `gathering` or none.
    mutating func join(_ operation: OperationIndex, in rows: some OperationRows) -> Traits {
        var traits: Traits = []
        let id = rows[operation].id
        if let last = lastBarrier(before: operation, in: rows) {
            traits.insert(.behindBarrier)
            change(last.scope) { $0.barriers[last.position].behind.append(id) }
        }
        count(operation, in: rows)
        if rows[operation].traits.contains(.barrier), awaited(by: operation, in: rows) > 0 { traits.insert(.gathering) }
        return traits
    }

    /// Counts a new operation that is no barrier and that no barrier orders. Returns false for any other.
    mutating func joinUnordered(_ row: OperationRow) -> Bool {
        guard !row.traits.contains(.barrier), !mayOrder(row) else { return false }
        countPlain(row, 1)
        return true
    }

    /// Stops counting a finished operation that no barrier orders. Returns false for any other.
    mutating func leaveUnordered(_ row: OperationRow) -> Bool {
        guard !awaitsRecount(row.queue), !mayOrder(row) else { return false }
        countPlain(row, -1)
        return true
    }

    private mutating func countPlain(_ row: OperationRow, _ step: Int32) {
        change(.queue(row.queue)) { $0.after += step }
        if let partition = row.partition { change(.partition(partition)) { $0.after += step } }
    }

    /// Counts an operation, the latest so far, in its scopes.
    private mutating func count(_ operation: OperationIndex, in rows: some OperationRows) {
        count(operation, .queue(rows[operation].queue), in: rows)
        if let partition = rows[operation].partition { count(operation, .partition(partition), in: rows) }
    }

    private mutating func count(_ operation: OperationIndex, _ scope: Scope, in rows: some OperationRows) {
        guard Self.isBarrier(operation, of: scope, in: rows) else { return change(scope) { $0.after += 1 } }
        let groups = groups(enclosing: operation, scope, in: rows)
        let (id, count) = (rows[operation].id, Int32(groups.count))
        change(scope) {
            $0.barriers.append(Barrier(operation: operation, id: id, groups: groups, before: $0.after - count))
            $0.after = count
        }
        if case .partition = scope { countOrdinary(rows[operation].queue, 1) }
    }

    /// Returns the ids of the groups around a new barrier that are counted after the last one: the next barrier outside of
    /// them waits for them. A group that a retry has returned before the last barrier is counted there.
    private func groups(enclosing operation: OperationIndex, _ scope: Scope, in rows: some OperationRows) -> [Int64] {
        let last = self[scope].barriers.last
        return rows.enclosing(operation).compactMap { parent in
            guard Self.isMember(parent, of: scope, in: rows), !Self.isBarrier(parent, of: scope, in: rows) else {
                return nil
            }
            let id = rows[parent].id
            return last.map { id > $0.id || $0.groups.contains(id) } ?? true ? id : nil
        }
    }

    /// Returns the position of the barrier that counts an operation: the first one after it that it does not enclose.
    private func position(counting operation: OperationIndex, _ scope: Scope, in rows: some OperationRows) -> Int {
        let line = self[scope]
        var position = line.position(from: rows[operation].id)
        while position < line.barriers.count, rows.isAncestor(operation, of: line.barriers[position].operation) {
            position += 1
        }
        return position
    }

    // MARK: Operations that go

    /// Stops counting an operation that has finished. Returns the consequences in order.
    mutating func leave(_ operation: OperationIndex, in rows: some OperationRows) -> [Release] {
        let row = rows[operation]
        guard !awaitsRecount(row.queue) else { return [] }
        var released = leave(operation, .queue(row.queue), in: rows)
        guard let partition = row.partition, !awaitsRecount(row.queue) else { return released }
        released += leave(operation, .partition(partition), in: rows)
        return released
    }

    private mutating func leave(_ operation: OperationIndex, _ scope: Scope, in rows: some OperationRows) -> [Release] {
        let row = rows[operation]
        let position = position(counting: operation, scope, in: rows)
        guard !Self.isBarrier(operation, of: scope, in: rows) else {
            // The next barrier takes over the operations that a barrier cancelled while waiting has waited for: all are
            // counted again.
            if isPlain(position, of: scope, in: rows) { return open(position, of: scope, in: rows) }
            requestRecount(of: row.queue)
            return []
        }
        guard position < self[scope].barriers.count else {
            change(scope) { $0.after -= 1 }
            return []
        }
        change(scope) { $0.barriers[position].before -= 1 }
        let barrier = self[scope].barriers[position].operation
        if Self.hasPassed(barrier, in: rows) {
            // The operation came back after the barrier had started: barriers inside of that one wait for it.
            requestRecount(of: row.queue)
        } else if rows[barrier].traits.contains(.gathering), awaited(upTo: position, of: scope, in: rows) == 0 {
            return [.gathered(barrier)]
        }
        return []
    }

    /// Returns whether the end of a barrier opens it and changes no other count.
    func isPlain(_ position: Int, of scope: Scope, in rows: some OperationRows) -> Bool {
        let barrier = self[scope].barriers[position]
        return rows[barrier.operation].parent == nil && barrier.before == 0
            && (position == 0 || !Self.hasPassed(self[scope].barriers[position - 1].operation, in: rows))
    }

    private mutating func open(_ position: Int, of scope: Scope, in rows: some OperationRows) -> [Release] {
        let opened = self[scope].barriers[position]
        let queue = rows[opened.operation].queue
        change(scope) { $0.barriers.remove(at: position) }
        if case .partition = scope { countOrdinary(queue, -1) }
        var released: [Release] = []
        for id in opened.behind {
            guard let operation = rows.unfinished(OperationID(id)), rows[operation].traits.contains(.behindBarrier),
                rows[operation].queue == queue
            else { continue }
            if let earlier = lastBarrier(before: operation, notAfter: opened.id, in: rows) {
                change(earlier.scope) { $0.barriers[earlier.position].behind.append(id) }
                released.append(.inherited(self[earlier.scope].barriers[earlier.position].operation))
            } else {
                released.append(.opened(operation))
            }
        }
        return released
    }

    /// Moves the count of an operation between queues without barriers.
    mutating func move(_ row: OperationRow, from old: QueueIndex, _ oldPartition: PartitionIndex?) {
        change(.queue(old)) { $0.after -= 1 }
        change(.queue(row.queue)) { $0.after += 1 }
        if let oldPartition, let partition = row.partition {
            change(.partition(oldPartition)) { $0.after -= 1 }
            change(.partition(partition)) { $0.after += 1 }
        }
    }

    // MARK: Counting again

    var hasQueuesToRecount: Bool { !queuesToRecount.isEmpty }
    private func awaitsRecount(_ queue: QueueIndex) -> Bool {
        !queuesToRecount.isEmpty && queuesToRecount.contains(queue)
    }

    /// Has all barriers of a queue counted again.
    mutating func requestRecount(of queue: QueueIndex) { if !awaitsRecount(queue) { queuesToRecount.append(queue) } }

    mutating func popQueueToRecount() -> QueueIndex? { queuesToRecount.popLast() }

    /// Counts a queue again from its unfinished operations. Returns the standing of each of them in the order of ids.
    mutating func rebuild(_ queue: QueueIndex, in rows: some OperationRows, _ partitions: PartitionTable) -> [Standing]
    {
        let members = rows.indices.filter { rows[$0].queue == queue && rows[$0].state != .finished }
            .sorted { rows[$0].id < rows[$1].id }
        reset(queue, partitions)
        for member in members { count(member, in: rows) }
        return members.map { member in
            let row = rows[member]
            // An operation that has started in this run has passed the barriers before it.
            let waits = row.state != .executing && row.traits.isDisjoint(with: [.finishPending, .hasStarted])
            let last = waits ? lastBarrier(before: member, in: rows) : nil
            if let last { change(last.scope) { $0.barriers[last.position].behind.append(row.id) } }
            let isGathering = waits && row.traits.contains(.barrier) && awaited(by: member, in: rows) > 0
            return Standing(operation: member, isBehind: last != nil, isGathering: isGathering)
        }
    }

    /// Counts the operations of all queues again. Returns the queues with barriers, which are to be rebuilt.
    mutating func recount(in rows: some OperationRows) -> [QueueIndex] {
        self = BarrierBook()
        var found: Set<QueueIndex> = []
        for operation in rows.indices where rows[operation].state != .finished {
            let row = rows[operation]
            countPlain(row, 1)
            if row.traits.contains(.barrier) { found.insert(row.queue) }
        }
        return found.sorted()
    }

    private mutating func reset(_ queue: QueueIndex, _ partitions: PartitionTable) {
        queuesToRecount.removeAll { $0 == queue }
        change(.queue(queue)) { $0 = Line() }
        if hasOrdinary(queue) { ordinary[queue.offset] = 0 }
        for partition in partitions.pool.indices where partitions[partition].key.queue == queue {
            change(.partition(partition)) { $0 = Line() }
        }
        // The index of a partition whose last operation has left the queue is used again.
        for offset in own.indices where partitions.isFree(offset) { own[offset] = Line() }
    }
}

/// Reading the book of barriers: the operations that wait for one another because of them.
extension BarrierBook {
    /// The position of a barrier in the line of a scope.
    struct Position {
        let scope: Scope
        let position: Int
    }

    // MARK: Barriers and their scopes

    /// Returns whether a barrier orders the operations of a partition in its queue; nil: those of privileged users.
    private static func orders(
        _ barrier: OperationIndex, _ partition: PartitionIndex?, in rows: some OperationRows
    ) -> Bool {
        let row = rows[barrier]
        return row.traits.contains(.barrier) && (row.partition == nil || row.partition == partition)
    }

    /// Returns whether one of two operations of a queue is a barrier that orders the other.
    static func areOrdered(_ one: OperationIndex, _ other: OperationIndex, in rows: some OperationRows) -> Bool {
        orders(one, rows[other].partition, in: rows) || orders(other, rows[one].partition, in: rows)
    }

    /// Returns the scope that a barrier orders.
    static func scope(ofBarrier row: OperationRow) -> Scope {
        row.partition.map { .partition($0) } ?? .queue(row.queue)
    }

    static func isBarrier(_ operation: OperationIndex, of scope: Scope, in rows: some OperationRows) -> Bool {
        let row = rows[operation]
        guard row.traits.contains(.barrier) else { return false }
        switch scope {
        case .queue: return row.partition == nil
        case .partition(let partition): return row.partition == partition
        }
    }

    static func isMember(_ operation: OperationIndex, of scope: Scope, in rows: some OperationRows) -> Bool {
        switch scope {
        case .queue(let queue): rows[operation].queue == queue
        case .partition(let partition): rows[operation].partition == partition
        }
    }

    /// Returns whether a barrier has started in this run: until then it waits for everything before it.
    static func hasPassed(_ barrier: OperationIndex, in rows: some OperationRows) -> Bool {
        rows[barrier].state == .executing || rows[barrier].traits.contains(.hasStarted)
    }

    /// Returns whether a barrier encloses an operation and has started: it does not separate the two.
    private static func isOpen(
        _ barrier: OperationIndex, to operation: OperationIndex, in rows: some OperationRows
    ) -> Bool {
        rows.isAncestor(barrier, of: operation) && hasPassed(barrier, in: rows)
    }

    /// Number of operations that a barrier waits for: those of its scope between the barrier before and it, and, where
    /// that one encloses it and has started, operations before that one which a retry has returned.
    func awaited(by barrier: OperationIndex, in rows: some OperationRows) -> Int32 {
        let scope = Self.scope(ofBarrier: rows[barrier])
        return awaited(upTo: self[scope].position(from: rows[barrier].id), of: scope, in: rows)
    }

    func awaited(upTo position: Int, of scope: Scope, in rows: some OperationRows) -> Int32 {
        let line = self[scope].barriers
        var (count, earlier) = (line[position].before, position)
        while earlier > 0, Self.isOpen(line[earlier - 1].operation, to: line[position].operation, in: rows) {
            earlier -= 1
            count += line[earlier].before
        }
        return count
    }

    // MARK: The barrier before an operation

    /// Returns the barrier that keeps an operation pending.
    func barrier(before operation: OperationIndex, in rows: some OperationRows) -> OperationIndex? {
        guard rows[operation].traits.contains(.behindBarrier) else { return nil }
        return lastBarrier(before: operation, in: rows).map { self[$0.scope].barriers[$0.position].operation }
    }

    /// Returns the last barrier that orders an operation and does not enclose it, up to the one with this id. (A
    /// barrier that encloses it may have passed another one that has returned since.)
    func lastBarrier(
        before operation: OperationIndex, notAfter id: Int64 = .max, in rows: some OperationRows
    ) -> Position? {
        let row = rows[operation]
        guard mayOrder(row) else { return nil }
        return lastBarrier(before: min(row.id, id), row.queue, row.partition) { !rows.isAncestor($0, of: operation) }
    }

    private func lastBarrier(
        before id: Int64, _ queue: QueueIndex, _ partition: PartitionIndex?, where isOutside: (OperationIndex) -> Bool
    ) -> Position? {
        func last(_ scope: Scope) -> Int? {
            guard !isEmpty(scope) else { return nil }
            return self[scope].barriers[..<self[scope].position(from: id)].lastIndex { isOutside($0.operation) }
        }
        let shared = last(.queue(queue))
        guard let partition, let own = last(.partition(partition)) else {
            return shared.map { Position(scope: .queue(queue), position: $0) }
        }
        if let shared, self[.queue(queue)].barriers[shared].id > self[.partition(partition)].barriers[own].id {
            return Position(scope: .queue(queue), position: shared)
        }
        return Position(scope: .partition(partition), position: own)
    }

    // MARK: Operations before an operation

    /// Returns the operations that a barrier waits for in the order of ids, without the barrier before it.
    func gathered(by barrier: OperationIndex, in rows: some OperationRows) -> [OperationIndex] {
        guard rows[barrier].traits.contains(.gathering) else { return [] }
        let row = rows[barrier]
        let scope = Self.scope(ofBarrier: row)
        let last = self[scope].barriers[..<self[scope].position(from: row.id)]
            .last { !Self.isOpen($0.operation, to: barrier, in: rows) }
        func isAwaited(_ other: OperationIndex) -> Bool {
            let id = rows[other].id
            guard Self.isMember(other, of: scope, in: rows), id < row.id, rows[other].state != .finished,
                !rows.isAncestor(other, of: barrier)
            else { return false }
            guard let last, id <= last.id else { return true }
            return !Self.isBarrier(other, of: scope, in: rows) && rows.isAncestor(other, of: last.operation)
        }
        // Between two barriers there may be few operations of a large table.
        guard let first = last, row.id - first.id < Int64(rows.count) else {
            return rows.indices.filter(isAwaited).sorted { rows[$0].id < rows[$1].id }
        }
        let between = (first.id + 1..<row.id).compactMap { rows.index(of: OperationID($0)) }
        return (rows.enclosing(first.operation).reversed() + between).filter(isAwaited)
    }

    /// Returns operations that came back before a barrier that executes. It does not wait for them, but operations
    /// behind it do.
    private func returned(
        before barrier: OperationIndex, of operation: OperationIndex, in rows: some OperationRows
    ) -> [OperationIndex] {
        guard Self.hasPassed(barrier, in: rows) else { return [] }
        let row = rows[barrier]
        let scope = Self.scope(ofBarrier: row)
        let position = self[scope].position(from: row.id)
        let isFirst = position == 0 && self[scope].barriers[position].before == 0
        if isFirst, row.partition == nil || self[.queue(row.queue)].position(from: row.id) == 0 { return [] }
        return rows.indices.filter { other in
            rows[other].queue == row.queue && rows[other].id < row.id && rows[other].state != .finished
                && Self.areOrdered(other, operation, in: rows) && !rows.isAncestor(other, of: operation)
        }.sorted { rows[$0].id < rows[$1].id }
    }

    /// Returns the operations to name as those that an operation waits for because of barriers.
    func reasons(for operation: OperationIndex, in rows: some OperationRows) -> [OperationIndex] {
        let barrier = barrier(before: operation, in: rows)
        let before = barrier.map { returned(before: $0, of: operation, in: rows) + [$0] } ?? []
        return before + gathered(by: operation, in: rows)
    }

    /// Returns the operations whose ends an operation waits for because of barriers.
    func waits(of operation: OperationIndex, in rows: some OperationRows) -> [OperationIndex] {
        guard !rows[operation].traits.isDisjoint(with: [.behindBarrier, .gathering]) else { return [] }
        let partition = rows[operation].partition
        let before =
            barrier(before: operation, in: rows).map {
                returned(before: $0, of: operation, in: rows) + [$0]
                    + barriers(enclosing: $0, notAround: operation, ordering: partition, in: rows)
            } ?? []
        return before + gathered(by: operation, in: rows)
    }

    /// Returns the barriers that enclose a barrier: operations after it wait for those that order them, unless they are
    /// enclosed too.
    private func barriers(
        enclosing barrier: OperationIndex, notAround operation: OperationIndex, ordering partition: PartitionIndex?,
        in rows: some OperationRows
    ) -> [OperationIndex] {
        rows.enclosing(barrier).filter { parent in
            rows[parent].queue == rows[barrier].queue && Self.orders(parent, partition, in: rows)
                && parent != operation && !rows.isAncestor(parent, of: operation)
        }
    }

    /// Returns the operations that a new child of `parent` would wait for in a queue. `partition`: that of its user, if
    /// it is there already; nil for a privileged user.
    func waits(
        ofNewChildOf parent: OperationIndex, in queue: QueueIndex, _ partition: PartitionIndex?, isBarrier: Bool,
        isPrivileged: Bool, in rows: some OperationRows
    ) -> [OperationIndex] {
        func encloses(_ other: OperationIndex) -> Bool { other == parent || rows.isAncestor(other, of: parent) }
        var result: [OperationIndex] = []
        if let last = lastBarrier(before: .max, queue, partition, where: { !encloses($0) }) {
            let barrier = self[last.scope].barriers[last.position].operation
            result = [barrier] + barriers(enclosing: barrier, notAround: parent, ordering: partition, in: rows)
        }
        guard isBarrier, isPrivileged || partition != nil else { return result }
        for other in rows.indices where rows[other].queue == queue && rows[other].state != .finished && !encloses(other)
        {
            if isPrivileged || rows[other].partition == partition { result.append(other) }
        }
        return result
    }

    // MARK: Operations after an operation

    /// Returns the operations that wait for an operation because of a barrier, or because it is one.
    func kept(
        by operation: OperationIndex, in rows: some OperationRows, _ partitions: PartitionTable
    ) -> [OperationIndex] {
        let row = rows[operation]
        guard hasBarriers(in: row.queue) else { return [] }
        var kept = kept(by: operation, of: .queue(row.queue), in: rows)
        if let partition = row.partition {
            kept += self.kept(by: operation, of: .partition(partition), in: rows)
        } else if row.traits.contains(.barrier), hasOrdinary(row.queue) {
            for partition in partitions.pool.indices where partitions[partition].key.queue == row.queue {
                kept += self.kept(by: operation, of: .partition(partition), in: rows)
            }
        }
        return kept
    }

    private func kept(by operation: OperationIndex, of scope: Scope, in rows: some OperationRows) -> [OperationIndex] {
        let row = rows[operation]
        var kept: [OperationIndex] = []
        for later in self[scope].barriers[self[scope].position(from: row.id)...] {
            let barrier = later.operation
            let isInside = barrier == operation || rows.isAncestor(operation, of: barrier)
            if !isInside, !rows[barrier].traits.isDisjoint(with: [.behindBarrier, .gathering]) { kept.append(barrier) }
            // Operations behind a barrier that this one encloses, or that has passed it, wait for both.
            if row.traits.contains(.barrier), isInside || Self.hasPassed(barrier, in: rows) {
                for id in later.behind {
                    guard let other = rows.unfinished(OperationID(id)),
                        self.barrier(before: other, in: rows) == barrier,
                        !rows.isAncestor(operation, of: other), Self.orders(operation, rows[other].partition, in: rows)
                    else { continue }
                    kept.append(other)
                }
            }
            guard isInside || Self.hasPassed(barrier, in: rows) else { break }
        }
        return kept
    }

    /// Number of operations that the end of an operation unblocks or has counted again. `unfinished`: that of its
    /// queue.
    func weight(ofLeaving operation: OperationIndex, unfinished: Int, in rows: some OperationRows) -> Int {
        let row = rows[operation]
        guard hasBarriers(in: row.queue) else { return 0 }
        for scope in [Scope.queue(row.queue)] + (row.partition.map { [.partition($0)] } ?? []) {
            let position = self[scope].position(from: row.id)
            guard position < self[scope].barriers.count else { continue }
            let next = self[scope].barriers[position]
            if next.operation == operation {
                return isPlain(position, of: scope, in: rows) ? next.behind.count : unfinished
            }
            if Self.hasPassed(next.operation, in: rows) { return unfinished }
        }
        return 0
    }

    // MARK: Invariants

    /// 9. Barriers are in order, and count the operations that they wait for.
    func checkInvariants(
        _ members: [OperationIndex], _ queues: QueueTable, _ partitions: PartitionTable, in rows: some OperationRows
    ) -> [String] {
        var broken: [String] = []
        let scopes = queues.pool.indices.map { Scope.queue($0) } + partitions.pool.indices.map { .partition($0) }
        for scope in scopes { broken += check(scope, members, in: rows) }
        for queue in queues.pool.indices {
            let inQueue = members.filter { rows[$0].queue == queue }
            let ordinary = inQueue.count { rows[$0].partition != nil && rows[$0].traits.contains(.barrier) }
            let counted = ordinaryBarriers(in: queue)
            if counted != ordinary { broken.append("9: queue \(queues[queue].name) counts \(counted) barriers") }
            if hasBarriers(in: queue) { broken += checkOrder(inQueue, in: rows) }
        }
        if hasQueuesToRecount { broken.append("10: a queue is left to recount after the turn") }
        return broken
    }

    private func check(_ scope: Scope, _ members: [OperationIndex], in rows: some OperationRows) -> [String] {
        var broken: [String] = []
        for (position, barrier) in self[scope].barriers.enumerated() {
            guard rows.unfinished(OperationID(barrier.id)) == barrier.operation,
                Self.isBarrier(barrier.operation, of: scope, in: rows)
            else {
                broken.append("9: barrier \(barrier.id) is gone")
                continue
            }
            let awaited = awaited(upTo: position, of: scope, in: rows)
            let gathered = gathered(by: barrier.operation, in: rows).count
            if !Self.hasPassed(barrier.operation, in: rows), awaited != Int32(gathered) {
                broken.append("9: barrier \(barrier.id) counts \(awaited)")
            }
        }
        let line = self[scope]
        let counted = line.barriers.reduce(Int(line.after) + line.barriers.count) { $0 + Int($1.before) }
        let inScope = members.count { Self.isMember($0, of: scope, in: rows) }
        if counted != inScope { broken.append("9: \(scope) counts \(counted) operations, not \(inScope)") }
        return broken
    }

    /// If one of two operations of a queue is a barrier that orders the other, the later waits for the earlier, unless
    /// its group does.
    private func checkOrder(_ members: [OperationIndex], in rows: some OperationRows) -> [String] {
        var broken: [String] = []
        for (position, operation) in members.enumerated()
        where rows[operation].state != .executing && !rows[operation].traits.contains(.hasStarted) {
            let isBehind = members[..<position].contains {
                Self.areOrdered($0, operation, in: rows) && !rows.isAncestor($0, of: operation)
            }
            let traits = rows[operation].traits
            if isBehind, traits.isDisjoint(with: [.behindBarrier, .gathering, .groupNotStarted]) {
                broken.append("9: \(rows[operation].id) passes a barrier")
            } else if !isBehind, !traits.isDisjoint(with: [.behindBarrier, .gathering]) {
                broken.append("9: \(rows[operation].id) waits for a barrier that does not order it")
            }
        }
        return broken
    }
}

/// All unfinished operations and what belongs to them: edges, queues, categories, policies, groups, executions, runs.
struct Registry: Codable {
    var table = OperationTable()
    var graph = DependencyGraph()
    var queues = QueueTable()
    var partitions = PartitionTable()
    var barriers = BarrierBook()
    /// Users whose barriers order the operations of all users.
    var privilegedUsers: Set<UInt32> = []
    /// Maximum number of unfinished operations of one ordinary user.
    var operationsPerUser = Int.max
    /// Maximum number of edges of the unfinished operations of one ordinary user.
    var edgesPerUser = Limits.edgesPerUser
    /// Maximum number of categories in the different category sets of the unfinished operations of one ordinary user.
    var categoriesPerUser = Limits.categoriesPerUser
    /// Observers of the finish of every operation that is not a group.
    var observersOfAll: Observers = []
    var categories = CategoryTable()
    var policies = Interned<Policy, PolicyIndex>()
    var groups = Pool<Group, GroupIndex>()
    var executions = Pool<Execution, ExecutionIndex>()
    /// Runs of waiting operations that are not in their first run or have had attempts.
    var runs: [OperationIndex: Run] = [:]
    var suspendedGraphs: Set<Int64> = []
    private(set) var counts = Scheduler.Counts()

    // MARK: States

    /// Moves an operation to another state and keeps every count of states.
    mutating func setState(_ operation: OperationIndex, _ new: OperationState) {
        let old = table[operation].state
        let queue = table[operation].queue
        count(old, -1, in: queue)
        count(new, 1, in: queue)
        countWaiting(operation, -1)
        table[operation].state = new
        countWaiting(operation, 1)
    }

    /// Changes traits of an operation, and keeps the counts of held and scheduled operations.
    mutating func setTraits(of operation: OperationIndex, inserting: Traits = [], removing: Traits = []) {
        countWaiting(operation, -1)
        table[operation].traits.subtract(removing)
        table[operation].traits.formUnion(inserting)
        countWaiting(operation, 1)
    }

    /// Counts an operation among the held and the scheduled ones, if it is one of them.
    mutating func countWaiting(_ operation: OperationIndex, _ step: Int) {
        let row = table[operation]
        guard !row.traits.isDisjoint(with: [.held, .delayed, .backingOff]) else { return }
        counts.setApart.count(row, step)
        queues[row.queue].setApart.count(row, step)
    }

    mutating func count(_ state: OperationState, _ step: Int32, in queue: QueueIndex) {
        switch state {
        case .pending:
            queues[queue].pending += step
            counts.pending += Int(step)
        case .ready:
            queues[queue].ready += step
            counts.ready += Int(step)
        case .executing:
            queues[queue].executing += step
            counts.executing += Int(step)
        case .finished: break
        }
    }

    // MARK: Looking up

    func unfinished(_ id: OperationID) -> OperationIndex? {
        guard let operation = table.index(of: id), table[operation].state != .finished else { return nil }
        return operation
    }

    func parent(of operation: OperationIndex) -> OperationIndex? { table.parent(of: operation) }
    func group(of operation: OperationIndex) -> GroupIndex? { table.group(of: operation) }
    func execution(of operation: OperationIndex) -> ExecutionIndex? { table.execution(of: operation) }

    /// Returns the policy of an operation; nil: `Policy()`.
    func policy(of operation: OperationIndex) -> Policy? { table.policy(of: operation).map { policies[$0] } }

    /// Returns the number of groups and producers around an operation.
    func depth(of operation: OperationIndex) -> Int32 {
        table.ancestors(of: operation).reduce(0) { depth, _ in depth + 1 }
    }

    func hasUnfinishedChildren(_ operation: OperationIndex) -> Bool {
        guard let group = group(of: operation) else { return false }
        return groups[group].unfinished > 0
    }

    /// Returns everything below a group or producer, parents before their children.
    func descendants(of operation: OperationIndex) -> [OperationIndex] {
        var result: [OperationIndex] = []
        guard table[operation].group != nil else { return result }
        var open = [operation]
        var next = 0
        while next < open.count {
            let group = group(of: open[next])
            next += 1
            guard let group, groups[group].unfinished > 0 else { continue }
            for id in groups[group].children {
                guard let child = unfinished(OperationID(id)) else { continue }
                result.append(child)
                if table[child].group != nil { open.append(child) }
            }
        }
        return result
    }

    /// Returns needs in which each category that a group around the operation holds is replaced by the share of that
    /// group.
    func resolve(_ needs: [Need], under parent: OperationIndex?) -> [Need] { resolve(needs, under: parent, in: table) }

    func resolve(_ needs: [Need], under parent: OperationIndex?, in rows: some OperationRows) -> [Need] {
        guard let parent, !needs.isEmpty else { return needs }
        var result = needs
        for i in result.indices {
            var upcoming: OperationIndex? = parent
            search: while let ancestor = upcoming {
                upcoming = rows[ancestor].parent
                guard let group = rows[ancestor].group else { continue }
                for held in groups[group].scopes where held.base == needs[i].category {
                    result[i].category = held.scope
                    break search
                }
            }
        }
        return result
    }

    /// Returns whether an operation holds, or once started will hold, its categories until its children have finished.
    func holdsUntilChildrenFinish(_ operation: OperationIndex) -> Bool {
        let row = table[operation]
        guard let group = row.group, row.categories != nil, row.state != .finished else { return false }
        return row.isGroup || groups[group].unfinished > 0
    }

    /// True if any operation holds categories until its children have finished.
    var hasLongHolders: Bool {
        groups.count > 0 && groups.indices.contains { holdsUntilChildrenFinish(groups[$0].parent) }
    }

    func resolvedNeeds(of operation: OperationIndex) -> [Need] {
        resolve(categories.needs(of: table[operation].categories), under: table[operation].parent)
    }

    /// Returns the share that bounds the use of a category by children of a parent: that of the nearest group around
    /// them, the parent included. A group that holds all of the category has what the next one around it holds.
    func use(of category: String, atOrAbove parent: OperationIndex) -> CategoryUse? {
        for ancestor in table.chain(from: parent) {
            let uses = categories.uses(of: table[ancestor].categories)
            if let use = uses.first(where: { $0.name == category }), use.mode != .exclusive { return use }
        }
        return nil
    }
}

extension SetApart {
    mutating func count(_ row: OperationRow, _ step: Int) {
        let isHeld = row.traits.contains(.held)
        switch row.state {
        case .pending: if isHeld { heldPending += step }
        case .ready:
            if isHeld {
                heldReady += step
            } else if !row.traits.isDisjoint(with: [.delayed, .backingOff]) {
                scheduled += step
            }
        case .executing, .finished: break
        }
    }
}

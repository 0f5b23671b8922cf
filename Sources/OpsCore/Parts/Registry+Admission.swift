/// Groups, users and edges of operations, and the room in categories.
extension Registry {
    /// Returns the priority that the children of the group around an operation inherit.
    func inheritedFromParent(_ operation: OperationIndex) -> Int8? {
        guard let group = table[operation].parent.flatMap({ table[$0].group }) else { return nil }
        return groups[group].inherited
    }

    mutating func countUnsuccessful(_ child: OperationID, below parent: OperationIndex) {
        guard let group = group(of: parent) else { return }
        groups[group].unsuccessful += 1
        if groups[group].firstUnsuccessful.rawValue == 0 { groups[group].firstUnsuccessful = child }
    }

    /// Returns the partition for one more operation of a user; nil: the user is privileged.
    mutating func partition(in queue: QueueIndex, of user: UInt32) -> PartitionIndex? {
        privilegedUsers.contains(user) ? nil : partitions.retain(queue, user)
    }

    /// Adds an edge on an unfinished operation, unless it is met already.
    @discardableResult
    mutating func addEdge(from: OperationIndex, on: OperationIndex, when: EdgeCondition) -> Bool {
        if when == .started {
            if table[on].traits.contains(.hasStarted) { return false }
            table[on].traits.insert(.startIsAwaited)
        }
        graph.add(from: from, on: on, when: when, in: &table)
        countEdges(of: from, 1)
        table[from].waiting += 1
        return true
    }

    /// Removes all edges by which an operation waits or has waited.
    mutating func dropDependencies(of from: OperationIndex) {
        guard table[from].firstDependency != nil else { return }
        countEdges(of: from, -graph.dropDependencies(of: from, in: &table))
    }

    mutating func removeEdge(_ edge: EdgeIndex) {
        countEdges(of: graph[edge].from, -1)
        graph.remove(edge, in: &table)
    }

    private mutating func countEdges(of from: OperationIndex, _ step: Int) {
        if let partition = table[from].partition { partitions.countEdges(of: partition, step) }
    }

    /// Counts an operation of an ordinary user with its category set more or less.
    mutating func countCategories(of operation: OperationIndex, _ step: Int32) {
        let row = table[operation]
        guard let set = row.categories, let partition = row.partition else { return }
        categories.countOperation(with: set, of: partitions[partition].key.user, step)
    }

    func indices(ofQueues names: [String]) throws(Rejection) -> [QueueIndex] {
        var result: [QueueIndex] = []
        for name in names {
            guard let queue = queues.find(name) else { throw .unknownQueue(name) }
            result.append(queue)
        }
        return result
    }

    func checkCapacity(_ uses: [CategoryUse], of operation: DraftEdge.Target) throws(Rejection) {
        for use in uses where use.mode == .units {
            let capacity = categories.capacity(of: use.name)
            if capacity > 0, use.units > capacity {
                throw .unitsExceedCapacity(use, operation, capacity: capacity)
            }
        }
    }
}

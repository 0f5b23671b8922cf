public import OpsCore

extension Submission {
    /// Adds one operation and returns its index.
    @discardableResult
    public mutating func add(
        queue: String = "default", in group: Int32 = -1, priority: Int8 = 0, categories: [CategoryUse] = [],
        policy: Policy? = nil, flags: Draft.Flags = [], after: [Int32] = [], when: EdgeCondition = .succeeded
    ) -> Int32 {
        let place = Int32(operations.count)
        operations.append(
            Draft(
                group: group, queue: interned(queue), categories: interned(categories), policy: interned(policy),
                priority: priority, flags: flags))
        for dependency in after { edges.append(DraftEdge(from: place, on: .local(dependency), when: when)) }
        return place
    }

    /// Adds an edge to an operation that was submitted earlier.
    public mutating func add(edgeFrom place: Int32, on operation: OperationID, when: EdgeCondition = .succeeded) {
        edges.append(DraftEdge(from: place, on: .existing(operation), when: when))
    }

    private mutating func interned(_ queue: String) -> Int32 {
        if let place = queues.firstIndex(of: queue) { return Int32(place) }
        queues.append(queue)
        return Int32(queues.count - 1)
    }

    private mutating func interned(_ uses: [CategoryUse]) -> Int32 {
        if uses.isEmpty { return -1 }
        if let place = categorySets.firstIndex(of: uses) { return Int32(place) }
        categorySets.append(uses)
        return Int32(categorySets.count - 1)
    }

    private mutating func interned(_ policy: Policy?) -> Int32 {
        guard let policy else { return -1 }
        if let place = policies.firstIndex(of: policy) { return Int32(place) }
        policies.append(policy)
        return Int32(policies.count - 1)
    }
}

extension CategoryUse {
    public static func shared(_ name: String) -> CategoryUse { CategoryUse(name: name, mode: .shared) }
    public static func exclusive(_ name: String) -> CategoryUse { CategoryUse(name: name, mode: .exclusive) }
    public static func units(_ name: String, _ count: Int32 = 1) -> CategoryUse {
        CategoryUse(name: name, units: count)
    }
}

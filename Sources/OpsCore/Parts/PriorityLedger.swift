/// Priorities that are still to be recounted, and the claims on categories that groups hold.
struct PriorityLedger: Codable {
    /// Something to recount before anything starts.
    enum Recount: Equatable {
        /// More or less may wait now for a category that groups hold.
        case claim(CategoryIndex)
        /// The effective priority of an operation may have fallen.
        case operation(OperationIndex)
        /// A recount did not change this priority, but the nodes that it comes from may have inherited it from this
        /// one.
        case source(WaitNode)
    }

    /// False while all priorities are 0 and nothing ages: then there is nothing to inherit.
    private(set) var isUsed = false
    private var claims = Claims()
    private var operations: [OperationIndex] = []
    private var categories: [CategoryIndex] = []
    private var sources: [WaitNode] = []

    var isEmpty: Bool { operations.isEmpty && categories.isEmpty && sources.isEmpty }

    mutating func begin() { isUsed = true }
    mutating func end() { isUsed = false }

    mutating func invalidate(_ operation: OperationIndex) { operations.append(operation) }
    mutating func invalidate(_ category: CategoryIndex) { categories.append(category) }

    /// Requests a trace of the priority of a node, unless no claim is as high: only a claim can close a cycle.
    mutating func requestTrace(of node: WaitNode, at priority: Int8) {
        if claims.contains(priority) { sources.append(node) }
    }

    func mayCycle(at priority: Int8) -> Bool { claims.contains(priority) }

    mutating func popNext() -> Recount? {
        if let category = categories.popLast() { return .claim(category) }
        if let operation = operations.popLast() { return .operation(operation) }
        return sources.popLast().map { .source($0) }
    }

    /// Drops the recounts of operations that leave the core.
    mutating func drop(where isLeaving: (OperationIndex) -> Bool) {
        operations.removeAll(where: isLeaving)
        sources.removeAll { isLeaving($0.operation) }
    }

    mutating func replaceClaim(_ old: Int8, by new: Int8) { claims.replace(old, by: new) }

    /// `held`: the claims on all categories.
    func checkInvariants(held: [Int8]) -> [String] {
        var counted = Claims()
        for claim in held { counted.replace(.min, by: claim) }
        return (counted == claims ? [] : ["7: claims are miscounted"])
            + (isEmpty ? [] : ["10: priorities are left to recount after the turn"])
    }
}

/// Number of categories that groups hold, by the priority that claims them.
struct Claims: Equatable, Codable {
    private var counts = [Int32](repeating: 0, count: 256)

    func contains(_ priority: Int8) -> Bool { counts[Self.index(priority)] > 0 }

    mutating func replace(_ old: Int8, by new: Int8) {
        if old != .min { counts[Self.index(old)] -= 1 }
        if new != .min { counts[Self.index(new)] += 1 }
    }

    private static func index(_ priority: Int8) -> Int { Int(priority) + 128 }
}

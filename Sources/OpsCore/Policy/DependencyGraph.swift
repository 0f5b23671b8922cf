/// Edges between unfinished operations, in one flat pool. Each edge is in two lists: that of the operations that wait
/// for `on`, which is linked both ways so that a cancelled operation leaves it at once, and that of the operations that
/// `from` waits for.
struct DependencyGraph: Codable {
    struct Edge: Codable {
        fileprivate var fromAndWhen: UInt32
        /// Nil once it is satisfied; it stays in the list of `from` until that one is ready.
        @Packed fileprivate(set) var on: OperationIndex? = nil
        @Packed fileprivate var nextDependent: EdgeIndex? = nil
        @Packed fileprivate var previousDependent: EdgeIndex? = nil
        @Packed fileprivate var nextDependency: EdgeIndex? = nil

        fileprivate init(from: OperationIndex, on: OperationIndex, when: EdgeCondition) {
            fromAndWhen = UInt32(from.rawValue) | UInt32(when.bits) << 30
            self.on = on
        }

        var from: OperationIndex { OperationIndex(rawValue: Int32(fromAndWhen & 0x3FFF_FFFF)) }
        var when: EdgeCondition {
            // Two bits hold exactly the four cases.
            switch fromAndWhen >> 30 {
            case 0: .succeeded
            case 1: .finished
            case 2: .failed
            default: .started
            }
        }
    }

    private var edges: [Edge] = []
    private var firstFree: EdgeIndex?
    private(set) var count = 0

    subscript(edge: EdgeIndex) -> Edge { edges[edge.offset] }

    // MARK: Looking

    /// Returns the edges on the operation of a row, the newest first.
    func dependents(of row: OperationRow) -> Dependents { Dependents(edges: edges, upcoming: row.firstDependent) }

    /// Returns the edges by which the operation of a row waits or has waited, the newest first.
    func dependencies(of row: OperationRow) -> Dependencies {
        Dependencies(edges: edges, upcoming: row.firstDependency)
    }

    func dependency(after edge: EdgeIndex) -> EdgeIndex? { edges[edge.offset].nextDependency }

    struct Dependents: Sequence, IteratorProtocol {
        fileprivate let edges: [Edge]
        fileprivate var upcoming: EdgeIndex?

        mutating func next() -> EdgeIndex? {
            guard let present = upcoming else { return nil }
            upcoming = edges[present.offset].nextDependent
            return present
        }
    }

    struct Dependencies: Sequence, IteratorProtocol {
        fileprivate let edges: [Edge]
        fileprivate var upcoming: EdgeIndex?

        mutating func next() -> EdgeIndex? {
            guard let present = upcoming else { return nil }
            upcoming = edges[present.offset].nextDependency
            return present
        }
    }

    // MARK: Changing

    mutating func reserve(_ more: Int) {
        let needed = edges.count + more
        if needed > edges.capacity { edges.reserveCapacity(max(needed, edges.count + edges.count / 4)) }
    }

    mutating func add(from: OperationIndex, on: OperationIndex, when: EdgeCondition, in table: inout OperationTable) {
        let next = table[on].firstDependent
        var edge = Edge(from: from, on: on, when: when)
        edge.nextDependent = next
        edge.nextDependency = table[from].firstDependency
        let index: EdgeIndex
        if let free = firstFree {
            index = free
            firstFree = edges[free.offset].nextDependency
            edges[free.offset] = edge
        } else {
            index = EdgeIndex(rawValue: Int32(edges.count))
            edges.append(edge)
        }
        if let next { edges[next.offset].previousDependent = index }
        table[on].firstDependent = index
        table[from].firstDependency = index
        count += 1
    }

    /// Removes an outstanding edge from the list of its `on`. It stays in the list of its `from`.
    mutating func detach(_ edge: EdgeIndex, in table: inout OperationTable) {
        guard let on = edges[edge.offset].on else { return }
        let (next, previous) = (edges[edge.offset].nextDependent, edges[edge.offset].previousDependent)
        if let previous { edges[previous.offset].nextDependent = next } else { table[on].firstDependent = next }
        if let next { edges[next.offset].previousDependent = previous }
        edges[edge.offset].on = nil
    }

    /// Detaches every edge on an operation that has finished, and appends them to `detached`, the oldest first.
    mutating func detachDependents(
        of on: OperationIndex, in table: inout OperationTable, into detached: inout [EdgeIndex]
    ) {
        var next = table[on].firstDependent
        table[on].firstDependent = nil
        while let edge = next {
            detached.append(edge)
            edges[edge.offset].on = nil
            next = edges[edge.offset].nextDependent
        }
        detached.reverse()
    }

    /// Removes all edges by which an operation waits or has waited. Returns their number.
    @discardableResult
    mutating func dropDependencies(of from: OperationIndex, in table: inout OperationTable) -> Int {
        let before = count
        var next = table[from].firstDependency
        table[from].firstDependency = nil
        while let edge = next {
            next = edges[edge.offset].nextDependency
            if edges[edge.offset].on != nil { detach(edge, in: &table) }
            forget(edge)
        }
        if count == 0 {
            edges.removeAll(keepingCapacity: edges.count < 4096)
            firstFree = nil
        }
        return before - count
    }

    /// Removes one edge from both lists.
    mutating func remove(_ edge: EdgeIndex, in table: inout OperationTable) {
        detach(edge, in: &table)
        let from = edges[edge.offset].from
        let next = edges[edge.offset].nextDependency
        if table[from].firstDependency == edge {
            table[from].firstDependency = next
        } else {
            let previous = dependencies(of: table[from]).first { edges[$0.offset].nextDependency == edge }
            if let previous { edges[previous.offset].nextDependency = next }
        }
        forget(edge)
    }

    private mutating func forget(_ edge: EdgeIndex) {
        edges[edge.offset].nextDependency = firstFree
        firstFree = edge
        count -= 1
    }
}

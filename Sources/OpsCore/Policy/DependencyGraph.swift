/// Edges between unfinished operations, in one flat pool: each stands in the list of what waits for `on`
/// (both ways, so that a cancelled operation leaves at once) and in the list of what `from` waits for.
struct DependencyGraph {
    struct Edge {
        fileprivate var fromAndWhen: UInt32
        /// -1 once it is satisfied; it stays in the list of `from` until that one is ready.
        fileprivate(set) var on: Int32
        fileprivate(set) var nextDependent: Int32
        fileprivate var previousDependent: Int32
        fileprivate(set) var nextDependency: Int32

        var from: Int32 { Int32(fromAndWhen & 0x3FFF_FFFF) }
        var when: When {
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
    private var firstFree: Int32 = -1
    private(set) var count = 0

    subscript(edge: Int32) -> Edge { edges[Int(edge)] }

    mutating func reserve(_ more: Int) {
        let needed = edges.count + more
        if needed > edges.capacity { edges.reserveCapacity(max(needed, edges.count + edges.count / 4)) }
    }

    mutating func add(from: Int32, on: Int32, when: When, in table: inout OperationTable) {
        let next = table[on].firstDependent
        let edge = Edge(
            fromAndWhen: UInt32(from) | UInt32(when.rawValue) << 30, on: on, nextDependent: next, previousDependent: -1,
            nextDependency: table[from].firstDependency)
        let place: Int32
        if firstFree >= 0 {
            place = firstFree
            firstFree = edges[Int(place)].nextDependency
            edges[Int(place)] = edge
        } else {
            place = Int32(edges.count)
            edges.append(edge)
        }
        if next >= 0 { edges[Int(next)].previousDependent = place }
        table[on].firstDependent = place
        table[from].firstDependency = place
        count += 1
    }

    /// Takes an unmet edge out of the list of what waits for its `on`; it stays in the list of `from`.
    mutating func settle(_ edge: Int32, in table: inout OperationTable) {
        let (on, next, previous) = (
            edges[Int(edge)].on, edges[Int(edge)].nextDependent, edges[Int(edge)].previousDependent
        )
        if previous >= 0 { edges[Int(previous)].nextDependent = next } else { table[on].firstDependent = next }
        if next >= 0 { edges[Int(next)].previousDependent = previous }
        edges[Int(edge)].on = -1
    }

    /// Settles every edge on an operation that has finished, calling back with each, the oldest first.
    mutating func settleDependents(of on: Int32, in table: inout OperationTable, into scratch: inout [Int32]) {
        var edge = table[on].firstDependent
        table[on].firstDependent = -1
        while edge >= 0 {
            scratch.append(edge)
            edges[Int(edge)].on = -1
            edge = edges[Int(edge)].nextDependent
        }
        scratch.reverse()
    }

    /// Drops everything that an operation waits for, met or not.
    mutating func dropDependencies(of from: Int32, in table: inout OperationTable) {
        var edge = table[from].firstDependency
        table[from].firstDependency = -1
        while edge >= 0 {
            let next = edges[Int(edge)].nextDependency
            if edges[Int(edge)].on >= 0 { settle(edge, in: &table) }
            edges[Int(edge)].nextDependency = firstFree
            firstFree = edge
            count -= 1
            edge = next
        }
        if count == 0 {
            edges.removeAll(keepingCapacity: edges.count < 4096)
            firstFree = -1
        }
    }

    /// Takes one edge out of both lists.
    mutating func remove(_ edge: Int32, in table: inout OperationTable) {
        if edges[Int(edge)].on >= 0 { settle(edge, in: &table) }
        let from = edges[Int(edge)].from
        let next = edges[Int(edge)].nextDependency
        if table[from].firstDependency == edge {
            table[from].firstDependency = next
        } else {
            var other = table[from].firstDependency
            while edges[Int(other)].nextDependency != edge { other = edges[Int(other)].nextDependency }
            edges[Int(other)].nextDependency = next
        }
        edges[Int(edge)].nextDependency = firstFree
        firstFree = edge
        count -= 1
    }
}

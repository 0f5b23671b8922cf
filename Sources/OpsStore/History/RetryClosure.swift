internal import OpsCore

/// Finds the finished operations that a retry reopens: the chosen ones, those that were skipped because of them, the
/// unsuccessful children of chosen groups, the groups above, and with `downstream` everything after them, of all users
/// or only of `owner`.
struct RetryClosure: Sendable {
    private let isDownstream: Bool
    private let owner: UInt32?
    /// Operations to reopen, and those of them that are reopened only because of operations below them.
    private(set) var chosen: Set<Int64> = []
    private var above: Set<Int64> = []
    /// Operations that are still to be followed, the first at the end.
    private var asked: [Int64]
    private var waiting: [Int64] = []
    private var submissions: [Int64: LocalDependents] = [:]

    /// Bytes of sets and lists, and of the edges of whole submissions.
    var heldBytes: Int {
        (chosen.count + above.count) * 2 * 16 + (asked.count + waiting.count) * 8
            + submissions.values.reduce(0) { $0 + $1.heldBytes }
    }

    init(_ ids: [OperationID], downstream: Bool, of owner: UInt32?) {
        asked = ids.reversed().map(\.rawValue)
        isDownstream = downstream
        self.owner = owner
    }

    /// Follows the next operation. Returns false if all have been followed.
    mutating func step(_ history: History) throws(StoreError) -> Bool {
        if let id = asked.popLast() {
            try add(id, history)
        } else if let id = waiting.popLast() {
            try follow(id, history)
        } else {
            return false
        }
        return true
    }

    private mutating func add(_ id: Int64, isAbove: Bool = false, _ history: History) throws(StoreError) {
        // An operation that was reopened only because of others below is followed again if it is chosen itself.
        if chosen.contains(id) && (isAbove || !above.contains(id)) { return }
        guard try isFinished(id, history) else { return }
        chosen.insert(id)
        if isAbove { above.insert(id) } else { above.remove(id) }
        waiting.append(id)
    }

    private mutating func follow(_ id: Int64, _ history: History) throws(StoreError) {
        for skipped in try list("SELECT id FROM operation WHERE root = ?1 AND root IS NOT NULL", id, history) {
            try add(skipped, history)
        }
        for parent in try list("SELECT parent FROM operation WHERE id = ?1 AND parent IS NOT NULL", id, history) {
            try add(parent, isAbove: true, history)
        }
        if !above.contains(id) {
            let children = try list(
                "SELECT id FROM operation WHERE parent = ?1 AND parent IS NOT NULL AND state = 3 AND outcome NOT IN (0, 6)",
                id,
                history)
            for child in children { try add(child, history) }
        }
        if isDownstream {
            for dependent in try owned(try dependents(id, history), history) { try add(dependent, history) }
        }
    }

    private func owned(_ ids: [Int64], _ history: History) throws(StoreError) -> [Int64] {
        guard let owner else { return ids }
        let owners = try history.owners(of: ids.map { OperationID($0) })
        return ids.filter { owners[OperationID($0)] == owner }
    }

    private mutating func dependents(_ id: Int64, _ history: History) throws(StoreError) -> [Int64] {
        var found = try list("SELECT operation FROM edge WHERE dependency = ?1 AND crossing", id, history)
        guard let first = try list("SELECT max(first) FROM submission WHERE first <= ?1", id, history).first else {
            return found
        }
        if submissions[first] == nil { submissions[first] = try LocalDependents(history, first) }
        if let local = submissions[first] { found += local.dependents(of: id) }
        return found
    }

    private func isFinished(_ id: Int64, _ history: History) throws(StoreError) -> Bool {
        try !list("SELECT 1 FROM operation WHERE id = ?1 AND state = 3", id, history).isEmpty
    }

    private func list(_ sql: String, _ id: Int64, _ history: History) throws(StoreError) -> [Int64] {
        let rows = try history.statement(sql)
        rows.bind(1, id)
        var found: [Int64] = []
        while try rows.step() { found.append(rows.int(0)) }
        return found
    }
}

/// The edges within one submission by dependency. They are stored by dependent, and sorted here.
private struct LocalDependents: Sendable {
    private var edges: [(on: Int64, from: Int64)] = []

    init(_ history: History, _ first: Int64) throws(StoreError) {
        let rows = try history.statement(
            """
            SELECT e.dependency, e.operation FROM submission s CROSS JOIN edge e
                ON e.operation BETWEEN s.first AND s.first + s.count - 1
            WHERE s.first = ?1 AND NOT e.crossing
            """)
        rows.bind(1, first)
        while try rows.step() { edges.append((on: rows.int(0), from: rows.int(1))) }
        edges.sort { $0 < $1 }
    }

    var heldBytes: Int { edges.count * 16 }

    func dependents(of id: Int64) -> [Int64] {
        var low = 0
        var high = edges.count
        while low < high {
            let middle = (low + high) / 2
            if edges[middle].on < id { low = middle + 1 } else { high = middle }
        }
        return edges[low...].prefix { $0.on == id }.map(\.from)
    }
}

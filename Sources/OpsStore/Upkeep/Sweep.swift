/// Removes texts, policies and category sets that no operation refers to. It first reads all operations, some at a
/// time, then deletes the rows that they have not named. A store has one sweep at a time.
final class Sweep {
    private let store: Store
    private var usedTexts: BitSet
    private var usedPolicies: Set<Int64> = []
    private var usedSets: Set<Int64> = []
    /// First text stored after the sweep began. From it on, texts are in use.
    private let nextText: Int64
    private let nextPolicy: Int64
    private let nextSet: Int64
    private var operation: Int64 = 0
    private var text: Int64 = 0
    /// Tables with rows that are still to be deleted; the first is next.
    private var tables: [Shared]
    private var hasReadAll = false
    /// True if the last step is stored.
    var isComplete = false

    init(_ store: Store) throws(StoreError) {
        precondition(!store.interned.isSweeping, "one sweep at a time")
        self.store = store
        // The numbers are read from the tables: after a failed commit new rows continue from there.
        nextText = try store.database.integer("SELECT max(id) FROM text") + 1
        nextPolicy = try store.database.integer("SELECT max(id) FROM policy") + 1
        nextSet = try store.database.integer("SELECT max(id) FROM categorySet") + 1
        usedTexts = BitSet(1...max(1, nextText))
        tables = [
            Shared(table: "policy", column: "id", next: nextPolicy, isSets: false),
            Shared(table: "categoryUse", column: "categorySet", next: nextSet, isSets: true),
            Shared(table: "categorySet", column: "id", next: nextSet, isSets: true),
        ]
        store.interned.beginSweep()
        // Operations that are pruned from now on may leave texts that this sweep does not find.
        store.mayHaveUnusedTexts = false
    }

    deinit {
        store.interned.sharedSince = nil
        if !isComplete { store.mayHaveUnusedTexts = true }
    }

    /// Makes a step. Returns true while there is more to do.
    func step(_ limit: Int) throws(StoreError) -> Bool {
        if !hasReadAll {
            try read(limit)
            return true
        }
        if try deleteTexts(limit) { return true }
        guard let table = tables.first else { return false }
        if try delete(table, limit) { tables.removeFirst() }
        return !tables.isEmpty
    }

    private func read(_ limit: Int) throws(StoreError) {
        let rows = try store.kept(
            """
            SELECT id, command, details, environment, policy, categories FROM operation
            WHERE id > ?1 ORDER BY id LIMIT ?2
            """)
        rows.bind(1, operation)
        rows.bind(2, limit)
        var count = 0
        while try rows.step() {
            count += 1
            operation = rows.int(0)
            for column in 1...3 as ClosedRange<Int32> {
                let id = rows.int(column)
                if id > 0 && id < nextText { usedTexts.insert(id) }
            }
            if let policy = rows.optionalInt(4) { usedPolicies.insert(policy) }
            if let set = rows.optionalInt(5) { usedSets.insert(set) }
        }
        hasReadAll = count < limit
    }

    private func deleteTexts(_ limit: Int) throws(StoreError) -> Bool {
        let rows = try store.kept("SELECT id FROM text WHERE id > ?1 AND id < ?2 ORDER BY id LIMIT ?3")
        rows.bind(1, text)
        rows.bind(2, nextText)
        rows.bind(3, limit)
        var unused: [Int64] = []
        var count = 0
        let sharedSince = store.interned.sharedSince ?? []
        while try rows.step() {
            count += 1
            text = rows.int(0)
            if !usedTexts.contains(text) && !sharedSince.contains(text) { unused.append(text) }
        }
        let deleteLabels = try store.kept(
            """
            DELETE FROM label WHERE (name, value, details) IN (
                SELECT own.key, own.value, ?1
                FROM text, json_each(iif(instr(body, '"labels"'), body, '{}'), '$.labels') AS own WHERE text.id = ?1)
            """)
        let delete = try store.kept("DELETE FROM text WHERE id = ?1")
        for id in unused {
            for statement in [deleteLabels, delete] {
                statement.bind(1, id)
                try statement.run()
            }
        }
        // Forgets the remembered rows: some of them were deleted.
        if !unused.isEmpty { store.interned.latestShared = [] }
        return count == limit
    }

    /// Deletes some of the unused rows of a table. Returns whether none is left.
    private func delete(_ shared: Shared, _ limit: Int) throws(StoreError) -> Bool {
        let column = shared.column
        let rows = try store.kept(
            """
            SELECT DISTINCT \(column) FROM \(shared.table) WHERE \(column) > ?1 AND \(column) < ?2
            ORDER BY \(column) LIMIT ?3
            """)
        rows.bind(1, shared.last)
        rows.bind(2, shared.next)
        rows.bind(3, limit)
        var all: [Int64] = []
        while try rows.step() { all.append(rows.int(0)) }
        let delete = try store.kept("DELETE FROM \(shared.table) WHERE \(column) = ?1")
        for id in all where !(shared.isSets ? usedSets : usedPolicies).contains(id) {
            delete.bind(1, id)
            try delete.run()
        }
        if let last = all.last { tables[0].last = last }
        return all.count < limit
    }
}

/// A table of rows that operations share.
private struct Shared {
    let table: String
    let column: String
    /// Rows from this id on were stored after the sweep began.
    let next: Int64
    let isSets: Bool
    /// The last id that was examined.
    var last: Int64 = 0
}

/// Takes away texts, policies and category sets that no operation refers to: first it reads through all operations,
/// some at a time, then it deletes what they have not named.
final class Sweep {
    private let store: Store
    private var usedTexts: BitSet
    private var usedPolicies: Set<Int64> = []
    private var usedSets: Set<Int64> = []
    /// What is stored after the sweep began is in use.
    private let nextText: Int64
    private let nextPolicy: Int64
    private let nextSet: Int64
    private var operation: Int64 = 0
    private var text: Int64 = 0
    private var hasReadAll = false

    init(_ store: Store) throws(StoreError) {
        self.store = store
        nextText = store.interned.nextText
        nextPolicy = store.interned.nextPolicy
        nextSet = store.interned.nextCategorySet
        usedTexts = BitSet(1...max(1, nextText))
        store.interned.beginSweep()
    }

    deinit { store.interned.sharedSince = nil }

    /// True while there is more to do.
    func step(_ limit: Int) throws(StoreError) -> Bool {
        if !hasReadAll {
            try read(limit)
            return true
        }
        if try deleteTexts(limit) { return true }
        try delete("policy", below: nextPolicy, except: usedPolicies)
        try delete("categoryUse", column: "categorySet", below: nextSet, except: usedSets)
        try delete("categorySet", below: nextSet, except: usedSets)
        return false
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
        return count == limit
    }

    private func delete(
        _ table: String, column: String = "id", below next: Int64, except used: Set<Int64>
    ) throws(StoreError) {
        let rows = try store.database.prepare("SELECT DISTINCT \(column) FROM \(table) WHERE \(column) < \(next)")
        var unused: [Int64] = []
        while try rows.step() {
            if !used.contains(rows.int(0)) { unused.append(rows.int(0)) }
        }
        let delete = try store.database.prepare("DELETE FROM \(table) WHERE \(column) = ?1")
        for id in unused {
            delete.bind(1, id)
            try delete.run()
        }
    }
}

internal import OpsCore

extension History {
    /// Reads the whole database and returns its faults, one sentence each; empty when it is sound.
    public func check() throws(StoreError) -> [String] {
        var problems: [String] = []
        do {
            problems += try lines("PRAGMA integrity_check(100)").filter { $0 != "ok" }
            // The invariants of a file with damaged pages mean nothing.
            if !problems.isEmpty { return problems }
            for (table, row) in try foreignKeys() {
                problems.append("row \(row) of \(table) refers to a missing row")
            }
            for invariant in Self.invariants { problems += try lines(invariant) }
        } catch  where error.kind == .corrupt || error.kind == .notADatabase {
            problems.append(error.message)
        }
        return problems
    }

    private func lines(_ sql: String) throws(StoreError) -> [String] {
        let rows = try database.prepare(sql)
        var lines: [String] = []
        while try rows.step() { lines.append(rows.text(0)) }
        return lines
    }

    private func foreignKeys() throws(StoreError) -> [(String, String)] {
        let rows = try database.prepare("PRAGMA foreign_key_check")
        var found: [(String, String)] = []
        while try rows.step() { found.append((rows.text(0), rows.optionalText(1) ?? "?")) }
        return found
    }

    private static func list(_ numbers: [Int64]) -> String { numbers.map { "\($0)" }.joined(separator: ", ") }

    /// Queries, each of which selects one text per violation.
    private static let invariants = [
        """
        SELECT 'operation ' || id || ' is in the unknown state ' || state
        FROM operation WHERE state NOT IN (\(list(OperationState.allCases.map(\.stored))))
        """,
        """
        SELECT 'operation ' || id || ' has an outcome and is not finished, or is finished without one'
        FROM operation WHERE (state = 3) <> (outcome IS NOT NULL)
        """,
        """
        SELECT 'operation ' || id || ' ended in an unknown way' FROM operation
        WHERE outcome NOT IN (\(list(Outcome.allCases.map(\.stored))))
        """,
        """
        SELECT 'operation ' || id || ' is finished without an instant'
        FROM operation WHERE state = 3 AND finishedAt IS NULL
        """,
        """
        SELECT 'operation ' || id || ' did not succeed and has no cause'
        FROM operation WHERE state = 3 AND outcome <> 0 AND cause IS NULL
        """,
        """
        SELECT 'operation ' || o.id || ' executes without an attempt' FROM operation o
        WHERE o.state = 2 AND NOT o.flags & 1
            AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.operation = o.id AND a.number = o.attempt)
        """,
        """
        SELECT 'operation ' || o.id || ' belongs to no submission' FROM operation o
        WHERE NOT EXISTS (
            SELECT 1 FROM submission s
            WHERE s.first = (SELECT max(first) FROM submission WHERE first <= o.id) AND o.id < s.first + s.count)
        """,
        """
        SELECT 'operation ' || o.id || ' is of another user than its submission' FROM submission s
        CROSS JOIN operation o ON o.id BETWEEN s.first AND s.first + s.count - 1 WHERE o.uid <> s.uid
        """,
        """
        SELECT 'submission ' || s.first || ' of graph ' || s.graph || ' lacks operations' FROM submission s
        WHERE (SELECT count(*) FROM operation WHERE id BETWEEN s.first AND s.first + s.count - 1) <> s.count
        """,
        """
        SELECT 'operation ' || e.operation || ' waits for ' || e.dependency || ', which does not exist' FROM edge e
        JOIN operation o ON o.id = e.operation
        WHERE o.state < 3 AND NOT EXISTS (SELECT 1 FROM operation WHERE id = e.dependency)
        """,
        """
        SELECT 'operation ' || operation || ' waits for ' || dependency || ' in an unknown way'
        FROM edge WHERE "when" NOT IN (\(list(EdgeCondition.allCases.map(\.stored))))
        """,
        """
        SELECT 'operation ' || o.id || ' is in group ' || o.parent || ', which does not exist' FROM operation o
        WHERE o.parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM operation WHERE id = o.parent)
        """,
        """
        SELECT 'operation ' || o.id || ' is unfinished, but its group has finished' FROM operation o
        JOIN operation p ON p.id = o.parent WHERE o.state < 3 AND p.state = 3
        """,
        """
        SELECT 'operation ' || id || ' has lost a text' FROM operation
        WHERE NOT EXISTS (SELECT 1 FROM text WHERE id = details)
            OR NOT EXISTS (SELECT 1 FROM text WHERE id = environment)
            OR (command IS NOT NULL AND NOT EXISTS (SELECT 1 FROM text WHERE id = command))
        """,
        """
        SELECT 'operation ' || id || ' has lost its policy' FROM operation
        WHERE policy IS NOT NULL AND NOT EXISTS (SELECT 1 FROM policy WHERE id = operation.policy)
        """,
        """
        SELECT 'operation ' || id || ' has lost its categories' FROM operation
        WHERE categories IS NOT NULL AND NOT EXISTS (SELECT 1 FROM categorySet WHERE id = operation.categories)
        """,
        """
        SELECT 'operation ' || e.operation || ' has a decided outcome but is not executing' FROM ending e
        JOIN operation o ON o.id = e.operation WHERE o.state <> 2
        """,
        """
        SELECT 'operation ' || l.operation || ' is staged but has finished or does not exist' FROM stagedLaunches l
        LEFT JOIN operation o ON o.id = l.operation WHERE ifnull(o.state, 3) = 3
        """,
        """
        SELECT 'operation ' || operation || ' is staged on an unknown runner' FROM stagedLaunches l
        WHERE NOT EXISTS (SELECT 1 FROM runner WHERE id = l.runner)
        """,
        """
        SELECT 'events are missing: ' || (max(seq) - min(seq) + 1 - count(*)) || ' between ' || min(seq) || ' and '
            || max(seq)
        FROM event HAVING max(seq) - min(seq) + 1 <> count(*)
        """,
        """
        SELECT 'event ' || seq || ' is of an unknown kind' FROM event
        WHERE kind NOT IN (\(list(Report.Kind.allCases.map(\.stored))))
        """,
        """
        SELECT 'operation ' || o.id || ' is not found by its label ' || own.key FROM operation o
        JOIN text t ON t.id = o.details, json_each(iif(json_valid(t.body), t.body, '{}'), '$.labels') AS own
        WHERE o.id IN (SELECT min(id) FROM operation GROUP BY details) AND own.type = 'text' AND NOT EXISTS (
            SELECT 1 FROM label WHERE name = own.key AND value = own.value AND details = o.details)
        """,
        """
        SELECT 'label ' || name || ' is of a text that is not there' FROM label
        WHERE NOT EXISTS (SELECT 1 FROM text WHERE id = details)
        """,
        "SELECT 'the row of meta is missing' WHERE NOT EXISTS (SELECT 1 FROM meta)",
    ]
}

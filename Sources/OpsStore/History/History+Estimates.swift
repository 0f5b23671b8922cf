public import OpsCore

/// Durations of successful attempts, from which the time that an operation takes is estimated.
extension History {
    /// Number of the latest successes from which an estimate is made.
    public static let successes = 5
    /// Number of the latest operations of a name among which successes are searched.
    private static let operationsOfName: Int64 = 100

    /// Returns the latest durations, in milliseconds, of a user's operations of a name in graphs of one name; nil: in
    /// graphs without a name.
    public func durations(
        ofName name: String, inGraphsNamed graph: String?, of uid: UInt32
    ) throws(StoreError) -> [Int64] {
        let rows = try statement(
            """
            SELECT a.exitedMonotonic - a.startedMonotonic
            FROM (SELECT id, attempt, outcome FROM operation WHERE name = ?1 AND uid = ?5 ORDER BY id DESC LIMIT ?3) o
            CROSS JOIN submission s ON s.first = (SELECT max(first) FROM submission WHERE first <= o.id)
            JOIN attempt a ON a.operation = o.id AND a.number = o.attempt
            WHERE o.outcome = 0 AND (SELECT name FROM submission WHERE graph = s.graph AND isNew) IS ?2
                AND a.exitedMonotonic IS NOT NULL
            ORDER BY o.id DESC LIMIT ?4
            """)
        rows.bind(1, name)
        rows.bind(2, graph)
        rows.bind(3, Self.operationsOfName)
        rows.bind(4, Int64(Self.successes))
        rows.bind(5, uid)
        var found: [Int64] = []
        while try rows.step() { found.append(max(0, rows.int(0)) / 1_000_000) }
        return found
    }

    /// A successful attempt of a program.
    public struct ProgramRun: Sendable {
        public var queue: String
        public var program: String
        public var milliseconds: Int64
    }

    /// Returns the successes among a user's operations from `first` to `last`, the newest first.
    public func programRuns(
        from first: OperationID, to last: OperationID, of uid: UInt32
    ) throws(StoreError) -> [ProgramRun] {
        let rows = try statement(
            """
            SELECT q.name, json_extract(c.body, '$[0]'), a.exitedMonotonic - a.startedMonotonic
            FROM operation o
            CROSS JOIN attempt a ON a.operation = o.id AND a.number = o.attempt
            JOIN queue q ON q.id = o.queue
            JOIN text c ON c.id = o.command
            WHERE o.id BETWEEN ?1 AND ?2 AND o.uid = ?3 AND o.outcome = 0 AND a.exitedMonotonic IS NOT NULL
            ORDER BY o.id DESC
            """)
        rows.bind(1, first.rawValue)
        rows.bind(2, last.rawValue)
        rows.bind(3, uid)
        var found: [ProgramRun] = []
        while try rows.step() {
            found.append(
                ProgramRun(
                    queue: rows.text(0), program: rows.text(1), milliseconds: max(0, rows.int(2)) / 1_000_000))
        }
        return found
    }
}

internal import OpsCore

/// A start that the runner may make by itself.
struct StagedRow {
    var attempt: AttemptID
    /// The row of its runner.
    var runner: Int64
    /// True if the launch counts as started, and has rows of its own.
    var isAssumedStarted: Bool
}

/// All staged launches, as one value of `meta`.
struct StagedRows {
    private(set) var starts: [StagedRow] = []
    /// True if the rows have changed since they were written.
    private(set) var hasChanged = false

    init() {}

    init(from database: Database) throws(StoreError) {
        let rows = try database.prepare(
            """
            SELECT operation, attempt, runner, EXISTS (
                SELECT 1 FROM attempt a WHERE a.operation = l.operation AND a.number = l.attempt)
            FROM stagedLaunches l
            """)
        while try rows.step() {
            starts.append(
                StagedRow(
                    attempt: AttemptID(OperationID(rows.int(0)), rows.int32(1)), runner: rows.int(2),
                    isAssumedStarted: rows.bool(3)))
        }
    }

    mutating func add(_ start: StagedRow) {
        starts.append(start)
        hasChanged = true
    }

    mutating func remove(_ id: OperationID) -> StagedRow? {
        guard let position = starts.firstIndex(where: { $0.attempt.operation == id }) else { return nil }
        hasChanged = true
        return starts.remove(at: position)
    }

    func isAssumedStarted(_ id: OperationID) -> Bool {
        starts.contains { $0.isAssumedStarted && $0.attempt.operation == id }
    }

    /// Marks a staged launch as assumed. Returns the row of its runner; nil if it is not staged.
    mutating func assumeStarted(_ attempt: AttemptID) -> Int64? {
        guard let position = starts.firstIndex(where: { $0.attempt == attempt }) else { return nil }
        starts[position].isAssumedStarted = true
        return starts[position].runner
    }

    /// Returns the stored text, and notes that it is written.
    mutating func written() -> String {
        hasChanged = false
        let list = starts.map { "[\($0.attempt.operation.rawValue),\($0.attempt.number),\($0.runner)]" }
        return "[\(list.joined(separator: ","))]"
    }
}

/// Staged launches and their results.
extension Store {
    func stage(_ attempt: AttemptID, _ runner: String) throws(StoreError) {
        interned.staged.add(StagedRow(attempt: attempt, runner: try row(ofRunner: runner), isAssumedStarted: false))
    }

    /// Removes a staged launch that did not start, with its rows if its start was assumed.
    func unstage(_ attempt: AttemptID) throws(StoreError) {
        guard let start = interned.staged.remove(attempt.operation), start.isAssumedStarted else { return }
        try update(statements.staging.unstageAttempt, attempt.operation, Int64(attempt.number))
        try update(statements.staging.unstageOperation, attempt.operation, Int64(attempt.number))
    }

    /// Counts a staged launch as started. It stays staged, so that `load` knows that the start is not certain.
    func assumeStarted(_ attempt: AttemptID, run: Int32, slot: Int32, at: Moment) throws(StoreError) {
        guard let runner = interned.staged.assumeStarted(attempt) else { return }
        try update(statements.staging.assumeStartedOperation, attempt.operation, Int64(attempt.number), Int64(run))
        try update(
            statements.staging.assumeStartedAttempt, attempt.operation, Int64(attempt.number), Int64(run), runner,
            Int64(slot),
            at.monotonic.nanoseconds, at.wall.nanoseconds)
    }

    func confirmStart(_ attempt: AttemptID, _ begun: SlotStart) throws(StoreError) {
        _ = interned.staged.remove(attempt.operation)
        try update(
            statements.staging.confirmStartAttempt, attempt.operation, Int64(attempt.number), Int64(begun.slot),
            begun.at.monotonic.nanoseconds, begun.at.wall.nanoseconds)
        try update(statements.staging.confirmStartOperation, attempt.operation, begun.at.wall.nanoseconds)
    }

    /// Writes the staged launches at the end of a turn, if they have changed.
    func writeStaged() throws(StoreError) {
        guard interned.staged.hasChanged else { return }
        statements.staging.write.bind(1, interned.staged.written())
        try statements.staging.write.run()
    }
}

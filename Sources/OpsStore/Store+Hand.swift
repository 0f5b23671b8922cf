internal import OpsCore

/// A start that the runner may make by itself.
struct Foretold {
    var attempt: AttemptID
    /// The row of its runner.
    var runner: Int64
    /// It counts as started, with rows of its own.
    var isPresumed: Bool
}

/// All that is foretold, as one value of `meta`.
struct Hand {
    private(set) var starts: [Foretold] = []
    /// Since it was written.
    private(set) var hasChanged = false

    init() {}

    init(from database: Database) throws(StoreError) {
        let rows = try database.prepare(
            """
            SELECT operation, attempt, runner, EXISTS (
                SELECT 1 FROM attempt a WHERE a.operation = foretold.operation AND a.number = foretold.attempt)
            FROM foretold
            """)
        while try rows.step() {
            starts.append(
                Foretold(
                    attempt: AttemptID(OperationID(rows.int(0)), rows.int32(1)), runner: rows.int(2),
                    isPresumed: rows.bool(3)))
        }
    }

    mutating func add(_ start: Foretold) {
        starts.append(start)
        hasChanged = true
    }

    mutating func remove(_ id: OperationID) -> Foretold? {
        guard let place = starts.firstIndex(where: { $0.attempt.operation == id }) else { return nil }
        hasChanged = true
        return starts.remove(at: place)
    }

    /// Its runner's row; nil when it is not foretold.
    mutating func presume(_ attempt: AttemptID) -> Int64? {
        guard let place = starts.firstIndex(where: { $0.attempt == attempt }) else { return nil }
        starts[place].isPresumed = true
        return starts[place].runner
    }

    /// As it is to be stored.
    mutating func written() -> String {
        hasChanged = false
        let list = starts.map { "[\($0.attempt.operation.rawValue),\($0.attempt.number),\($0.runner)]" }
        return "[\(list.joined(separator: ","))]"
    }
}

/// What is foretold, and what becomes of it.
extension Store {
    func foretell(_ attempt: AttemptID, _ runner: String) throws(StoreError) {
        interned.hand.add(Foretold(attempt: attempt, runner: try row(ofRunner: runner), isPresumed: false))
    }

    /// It has not happened, whether or not it was presumed to: of what was only foretold nothing else was changed.
    func withdraw(_ attempt: AttemptID) throws(StoreError) {
        guard let start = interned.hand.remove(attempt.operation), start.isPresumed else { return }
        try update(statements.hand.withdrawAttempt, attempt.operation, Int64(attempt.number))
        try update(statements.hand.withdrawOperation, attempt.operation, Int64(attempt.number))
    }

    /// It stays foretold: whoever loads it is to know how much of it is certain.
    func presume(_ attempt: AttemptID, _ run: Int32, _ slot: Int32, _ at: Moment) throws(StoreError) {
        guard let runner = interned.hand.presume(attempt) else { return }
        try update(statements.hand.presumeOperation, attempt.operation, Int64(attempt.number), Int64(run))
        try update(
            statements.hand.presumeAttempt, attempt.operation, Int64(attempt.number), Int64(run), runner, Int64(slot),
            at.monotonic, at.wall)
    }

    func place(_ attempt: AttemptID, _ begun: SlotStart) throws(StoreError) {
        _ = interned.hand.remove(attempt.operation)
        try update(
            statements.hand.placeAttempt, attempt.operation, Int64(attempt.number), Int64(begun.slot),
            begun.at.monotonic, begun.at.wall)
        try update(statements.hand.placeOperation, attempt.operation, begun.at.wall)
    }

    /// At the end of a turn.
    func writeHand() throws(StoreError) {
        guard interned.hand.hasChanged else { return }
        statements.hand.write.bind(1, interned.hand.written())
        try statements.hand.write.run()
    }
}

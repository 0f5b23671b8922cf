internal import OpsCore

/// Everything that one turn stores about an attempt and its operation. A short attempt starts and ends within a turn:
/// its two rows are written once, and not once for each fact.
struct AttemptWrite {
    struct Start {
        var run: Int32
        var slot: Int32
        /// The row of its runner.
        var runner: Int64
        var at: Moment
    }

    /// End of the attempt.
    struct End {
        var outcome: Outcome
        var cause: Cause
        /// The cause as text.
        var text: String?
        var at: WallInstant
    }

    /// End of the operation.
    struct Finish {
        var outcome: Outcome
        var text: String?
        var root: OperationID?
        var at: WallInstant
    }

    /// Stored slot of an attempt on an executor other than the runner, which has none.
    static let externalSlot = Int32.min

    /// Returns the slot that an attempt has or had.
    static func slot(stored: Int32) -> Int32? {
        if stored == externalSlot { return nil }
        return stored >= 0 ? stored : -1 - stored
    }

    let attempt: AttemptID
    var start: Start?
    var process: LaunchedProcess?
    var exit: ProcessExit?
    var end: End?
    var finish: Finish?

    init(_ attempt: AttemptID) { self.attempt = attempt }
}

/// The writes of a turn, in the order of their first facts.
struct AttemptWrites {
    private var all: [AttemptWrite] = []
    private var positions: [OperationID: Int] = [:]

    mutating func add(_ attempt: AttemptID, _ fact: (inout AttemptWrite) -> Void) {
        if let position = positions[attempt.operation], all[position].attempt == attempt { return fact(&all[position]) }
        var added = AttemptWrite(attempt)
        fact(&added)
        positions[attempt.operation] = all.count
        all.append(added)
    }

    /// False if the turn has no earlier fact about the attempt.
    mutating func finish(_ id: OperationID, _ finish: AttemptWrite.Finish) -> Bool {
        guard let position = positions[id] else { return false }
        all[position].finish = finish
        return true
    }

    mutating func removeAll() -> [AttemptWrite] {
        if all.isEmpty { return [] }
        defer {
            all = []
            positions.removeAll(keepingCapacity: positions.count < 4096)
        }
        return all
    }
}

extension Store {
    /// Writes the facts about attempts that the turn has gathered: at its end, and before any other statement that uses
    /// these rows.
    func writeAttempts() throws(StoreError) {
        for attempt in attemptWrites.removeAll() {
            try writeOperation(attempt)
            if attempt.start != nil || attempt.hasFacts { try writeAttempt(attempt) }
        }
    }

    private func writeOperation(_ attempt: AttemptWrite) throws(StoreError) {
        let id = attempt.attempt.operation
        guard let start = attempt.start else {
            if let finish = attempt.finish { try write(finish, of: id) }
            return
        }
        if start.slot == AttemptWrite.externalSlot {
            try update(statements.operation.submitted, id, Int64(attempt.attempt.number), Int64(start.run))
            if let finish = attempt.finish { try write(finish, of: id) }
            return
        }
        if attempt.finish != nil { try deleteResolution(of: id) }
        let statement = attempt.finish == nil ? statements.operation.started : statements.operation.ran
        statement.bind(1, id.rawValue)
        statement.bind(2, attempt.attempt.number)
        statement.bind(3, start.run)
        statement.bind(4, start.at.wall)
        attempt.finish?.bind(to: statement, from: 5)
        try statement.run()
    }

    private func writeAttempt(_ attempt: AttemptWrite) throws(StoreError) {
        let statement = attempt.start == nil ? statements.attempt.updateAttempt : statements.attempt.insertAttempt
        statement.bind(1, attempt.attempt.operation.rawValue)
        statement.bind(2, attempt.attempt.number)
        var first: Int32 = 3
        if let start = attempt.start {
            statement.bind(3, start.run)
            statement.bind(4, start.runner)
            statement.bind(5, start.slot)
            statement.bind(6, start.at.monotonic)
            statement.bind(7, start.at.wall)
            first = 8
        }
        attempt.bindFacts(to: statement, from: first)
        try statement.run()
    }
}

extension AttemptWrite {
    fileprivate var hasFacts: Bool { process != nil || exit != nil || end != nil }

    /// The columns of facts that become known after the start of an attempt.
    static let facts =
        [
            "pid", "startTicks", "launchedMonotonic", "launchedAt", "exitCode", "signal", "outOfMemory",
            "exitedMonotonic", "exitedAt", "userMicroseconds", "systemMicroseconds", "maxResidentBytes", "outcome",
            "cause", "finishedAt",
        ] + CauseRow.names

    static func parameters(_ count: Int) -> String {
        (1...count).map { "?\($0)" }.joined(separator: ", ")
    }

    /// Binds the facts, and NULL for those that are not known.
    fileprivate func bindFacts(to statement: Statement, from first: Int32) {
        statement.bind(first, process.map { Int64($0.pid) })
        statement.bind(first + 1, process.map { Int64(bitPattern: $0.startTicks) })
        statement.bind(first + 2, process?.at.monotonic)
        statement.bind(first + 3, process?.at.wall)
        statement.bind(first + 4, exit?.status.code)
        statement.bind(first + 5, exit?.status.signal)
        statement.bind(first + 6, exit.map { $0.outOfMemory ? 1 : 0 })
        statement.bind(first + 7, exit?.at.monotonic)
        statement.bind(first + 8, exit?.at.wall)
        statement.bind(first + 9, exit?.usage.userMicroseconds)
        statement.bind(first + 10, exit?.usage.systemMicroseconds)
        statement.bind(first + 11, exit?.usage.maxResidentBytes)
        statement.bind(first + 12, end?.outcome.stored)
        statement.bind(first + 13, end?.text)
        statement.bind(first + 14, end?.at)
        if let end {
            CauseRow(end.cause).bind(to: statement, from: first + 15)
        } else {
            for position in first + 15..<first + 20 { statement.bindNull(position) }
        }
    }
}

extension AttemptWrite.Finish {
    func bind(to statement: Statement, from first: Int32) {
        statement.bind(first, outcome.stored)
        statement.bind(first + 1, text)
        statement.bind(first + 2, root?.rawValue)
        statement.bind(first + 3, at)
    }
}

extension ProcessExit.Status {
    fileprivate var code: Int64? {
        if case .code(let code) = self { Int64(code) } else { nil }
    }

    fileprivate var signal: Int64? {
        if case .signal(let signal) = self { Int64(signal) } else { nil }
    }
}

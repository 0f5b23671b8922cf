internal import OpsCore

/// Reads the stored state of executing operations.
struct RunningRows {
    private let attempts: Statement
    private let resolutions: Statement
    private let starts: Statement

    init(_ database: Database) throws(StoreError) {
        attempts = try database.prepare(
            """
            SELECT a.slot, r.name, r.boot, a.startedMonotonic, a.startedAt, a.pid, a.startTicks, a.launchedMonotonic,
                a.launchedAt, a.exitCode, a.signal, a.outOfMemory, a.exitedMonotonic, a.exitedAt, a.userMicroseconds,
                a.systemMicroseconds, a.maxResidentBytes, a.timeout, a.outcome, a.causeKind, a.causeNumber,
                a.causeOther, a.causeText, a.causeNote, a.job
            FROM attempt a JOIN runner r ON r.id = a.runner WHERE a.operation = ?1 AND a.number = ?2
            """)
        resolutions = try database.prepare(
            "SELECT outcome, \(CauseRow.columns), \"by\" <> '' FROM ending WHERE operation = ?1")
        starts = try database.prepare("SELECT startedMonotonic, startedAt, timeout, boot FROM operation WHERE id = ?1")
    }

    /// Returns nil for a group without a timeout whose end is not decided: it has no attempt.
    func running(_ row: Snapshot.Row, _ policies: [Policy]) throws(StoreError) -> Snapshot.Running? {
        let (resolution, isCancelled) = try resolution(row.id)
        if row.flags.contains(.group) {
            let hasTimeout = row.policy.map { policies[Int($0)].timeout != nil } ?? false
            guard resolution != nil || hasTimeout else { return nil }
            starts.bind(1, row.id.rawValue)
            defer { starts.reset() }
            let isFound = try starts.step()
            return Snapshot.Running(
                attempt: AttemptID(row.id, 0), slot: nil, runner: "", boot: isFound ? starts.text(3) : "",
                startedAt: isFound ? starts.moment(0) : .zero, resolution: resolution,
                timeoutRemaining: isFound ? starts.optionalTime(2) : nil)
        }
        attempts.bind(1, row.id.rawValue)
        attempts.bind(2, row.attempt)
        guard try attempts.step() else { return nil }
        defer { attempts.reset() }
        let slot = attempts.int32(0)
        var running = Snapshot.Running(
            attempt: AttemptID(row.id, row.attempt), slot: slot >= 0 ? slot : nil, runner: attempts.text(1),
            boot: attempts.text(2), startedAt: attempts.moment(3),
            process: process, exit: exit, resolution: resolution, timeoutRemaining: attempts.optionalTime(17))
        running.job = attempts.optionalText(24)
        running.isCancelled = isCancelled
        if let outcome = Outcome(stored: attempts.optionalInt(18)) {
            // Only children are unfinished. A later cancellation replaces the outcome of the attempt.
            running.isOver = true
            if resolution == nil, let cause = CauseRow.read(attempts, from: 19).cause {
                running.resolution = Resolution(outcome: outcome, cause: cause)
            }
        }
        return running
    }

    private var process: LaunchedProcess? {
        guard let pid = attempts.optionalInt32(5) else { return nil }
        return LaunchedProcess(
            pid: pid, startTicks: UInt64(bitPattern: attempts.int(6)),
            at: attempts.moment(7))
    }

    private var exit: ProcessExit? {
        guard !attempts.isNull(13) else { return nil }
        let status: ProcessExit.Status = attempts.isNull(10) ? .code(attempts.int32(9)) : .signal(attempts.int32(10))
        return ProcessExit(
            status: status, outOfMemory: attempts.bool(11),
            usage: ProcessUsage(
                userMicroseconds: attempts.int(14), systemMicroseconds: attempts.int(15),
                maxResidentBytes: attempts.int(16)),
            at: attempts.moment(12))
    }

    private func resolution(_ id: OperationID) throws(StoreError) -> (Resolution?, isCancelled: Bool) {
        resolutions.bind(1, id.rawValue)
        guard try resolutions.step() else { return (nil, false) }
        defer { resolutions.reset() }
        guard let outcome = Outcome(stored: resolutions.optionalInt(0)),
            let cause = CauseRow.read(resolutions, from: 1).cause
        else { return (nil, false) }
        return (Resolution(outcome: outcome, cause: cause), resolutions.bool(6))
    }
}

/// Counts the children of one operation that have finished without success.
struct EndedChildrenRows {
    private let children: Statement

    init(_ database: Database) throws(StoreError) {
        // With min() alone in it, SQLite takes the bare `id` from the row that has the minimum.
        children = try database.prepare(
            """
            SELECT count(*), id, min(finishedAt) FROM operation INDEXED BY operationByParent
            WHERE parent = ?1 AND parent IS NOT NULL AND state = 3 AND outcome NOT IN (0, 6)
            """)
    }

    func ended(below parent: OperationID) throws(StoreError) -> Snapshot.EndedChildren? {
        children.bind(1, parent.rawValue)
        defer { children.reset() }
        guard try children.step(), children.int(0) > 0 else { return nil }
        return Snapshot.EndedChildren(
            parent: parent, unsuccessful: children.int32(0), firstUnsuccessful: OperationID(children.int(1)))
    }
}

/// The statements of a turn, prepared once. Preparing them also proves that the tables are there.
struct CommitStatements {
    let beginReading, begin, commit: Statement
    let submission: SubmissionStatements
    let staging: StagingStatements
    let operation: OperationStatements
    let attempt: AttemptStatements
    let setting: SettingStatements

    init(_ database: Database) throws(StoreError) {
        beginReading = try database.prepare("BEGIN")
        begin = try database.prepare("BEGIN IMMEDIATE")
        commit = try database.prepare("COMMIT")
        submission = try SubmissionStatements(database)
        staging = try StagingStatements(database)
        operation = try OperationStatements(database)
        attempt = try AttemptStatements(database)
        setting = try SettingStatements(database)
    }
}

/// Statements that store a submission.
struct SubmissionStatements {
    let insertSubmission, insertOperation, insertEdge, deleteEdge, resolveEdge, unresolveEdges, insertText, findText,
        insertLabels, insertPolicy: Statement
    let insertCategorySet, insertCategoryUse: Statement

    init(_ database: Database) throws(StoreError) {
        func make(_ sql: String) throws(StoreError) -> Statement { try database.prepare(sql) }
        insertSubmission = try make(
            """
            INSERT INTO submission (first, count, graph, isNew, name, key, uid, gid, user, producer, at)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
            """)
        insertOperation = try make(
            """
            INSERT INTO operation (
                id, state, flags, priority, queue, categories, policy, parent, readyAt, name, command, details,
                environment, path, uid)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)
            """)
        // Equal edges are stored once. An edge that an earlier run has met, and that is added again, must be met again.
        insertEdge = try make(
            """
            INSERT INTO edge (operation, dependency, "when", crossing) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT DO UPDATE SET resolved = 0
            """)
        resolveEdge = try make("UPDATE edge SET resolved = 1 WHERE operation = ?1 AND dependency = ?2")
        unresolveEdges = try make("UPDATE edge SET resolved = 0 WHERE operation = ?1 AND resolved")
        deleteEdge = try make("DELETE FROM edge WHERE operation = ?1 AND dependency = ?2")
        insertText = try make("INSERT INTO text (id, hash, body) VALUES (?1, ?2, ?3)")
        insertLabels = try make(
            """
            INSERT OR IGNORE INTO label (name, value, details)
            SELECT key, value, ?1 FROM json_each(?2, '$.labels') WHERE type = 'text'
            """)
        findText = try make("SELECT id FROM text WHERE hash = ?1 AND body = ?2")
        insertPolicy = try make(PolicyRow.insert)
        insertCategorySet = try make("INSERT INTO categorySet (id) VALUES (?1)")
        insertCategoryUse = try make(
            "INSERT INTO categoryUse (categorySet, place, name, mode, units) VALUES (?1, ?2, ?3, ?4, ?5)")
    }
}

/// Statements for changes of one operation.
struct OperationStatements {
    let becameReady, becamePending, started, submitted, startedGroup, timeoutMoved, ran, retrying, finished, reopened,
        hold,
        freeze: Statement
    let setPriority, setQueue, setPolicy, setCommand, setCategories, setNote, insertResolution, deleteResolution,
        nameAndEnd: Statement
    let conditionOf: Statement

    init(_ database: Database) throws(StoreError) {
        func make(_ sql: String) throws(StoreError) -> Statement { try database.prepare(sql) }
        becameReady = try make("UPDATE operation SET state = 1, readyAt = ?2 WHERE id = ?1")
        becamePending = try make("UPDATE operation SET state = 0 WHERE id = ?1")
        started = try make(
            """
            UPDATE operation SET
                state = 2, attempt = ?2, run = ?3, startedAt = ?4, \(Self.dueByStart), notBefore = NULL
            WHERE id = ?1
            """)
        submitted = try make(
            """
            UPDATE operation SET state = 2, attempt = ?2, run = ?3, \(Self.due), notBefore = NULL WHERE id = ?1
            """)
        startedGroup = try make(
            """
            UPDATE operation SET
                state = 2, run = ?2, startedMonotonic = ?3, startedAt = ?4, boot = ?5, timeout = NULL
            WHERE id = ?1
            """)
        timeoutMoved = try make("UPDATE operation SET timeout = ?2 WHERE id = ?1")
        ran = try make(
            """
            UPDATE operation SET
                state = 3, attempt = ?2, run = ?3, startedAt = ?4, \(Self.dueByStart), notBefore = NULL, outcome = ?5, cause = ?6, root = ?7,
                finishedAt = ?8, frozen = 0
            WHERE id = ?1
            """)
        retrying = try make(
            """
            UPDATE operation SET
                state = 1, notBefore = ?2, readyAt = ?3, frozen = 0, attemptsBefore = attemptsBefore + ?4
            WHERE id = ?1
            """)
        finished = try make(
            """
            UPDATE operation SET state = 3, outcome = ?2, cause = ?3, root = ?4, finishedAt = ?5, frozen = 0
            WHERE id = ?1
            """)
        reopened = try make(
            """
            UPDATE operation SET
                run = ?2, state = ?3, readyAt = ?4, attemptsBefore = attempt, outcome = NULL, cause = NULL,
                root = NULL, finishedAt = NULL, notBefore = NULL, startedAt = iif(?3 = 2, startedAt, NULL)
            WHERE id = ?1
            """)
        hold = try make("UPDATE operation SET flags = (flags & ~4) | ?2 WHERE id = ?1")
        freeze = try make("UPDATE operation SET frozen = ?2 WHERE id = ?1")
        setPriority = try make("UPDATE operation SET priority = ?2 WHERE id = ?1")
        setQueue = try make("UPDATE operation SET queue = ?2 WHERE id = ?1")
        setPolicy = try make("UPDATE operation SET policy = ?2 WHERE id = ?1")
        setCommand = try make("UPDATE operation SET command = ?2 WHERE id = ?1")
        setCategories = try make("UPDATE operation SET categories = ?2 WHERE id = ?1")
        setNote = try make("UPDATE operation SET note = ?2 WHERE id = ?1")
        insertResolution = try make(
            """
            INSERT OR REPLACE INTO ending (operation, outcome, "by", reason, \(CauseRow.columns))
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
            """)
        deleteResolution = try make("DELETE FROM ending WHERE operation = ?1")
        nameAndEnd = try make("SELECT name, outcome, cause FROM operation WHERE id = ?1")
        conditionOf = try make(Self.conditionText)
    }

    /// After a back-off, the waiting time of an operation counts from the end of the back-off.
    static let due = "readyAt = max(readyAt, ifnull(notBefore, readyAt))"
    /// The runner may start an operation before opsd knows that it is ready.
    static let dueByStart = "readyAt = min(?4, max(readyAt, ifnull(notBefore, readyAt)))"

    /// SQL for one condition of an operation as text, cut to a readable length.
    static let conditionText = """
        SELECT part.key || iif(part.type = 'true', '', ' ' || iif(
            length(part.value) > 400, substr(part.value, 1, 400) || '...', part.value)) FROM operation, text,
            json_each(text.body, '$.conditions[' || ?2 || ']') AS part
        WHERE operation.id = ?1 AND text.id = operation.details
            AND part.key NOT IN ('otherwise', 'every', 'provide', 'silent', 'timeout')
        """
}

/// Statements for starts that the runner may make by itself.
struct StagingStatements {
    let write, assumeStartedOperation, assumeStartedAttempt, confirmStartOperation, confirmStartAttempt: Statement
    let unstageOperation, unstageAttempt: Statement

    init(_ database: Database) throws(StoreError) {
        func make(_ sql: String) throws(StoreError) -> Statement { try database.prepare(sql) }
        write = try make("UPDATE meta SET staged = ?1")
        assumeStartedOperation = try make(
            """
            UPDATE operation SET state = 2, attempt = ?2, run = ?3, \(OperationStatements.due), notBefore = NULL
            WHERE id = ?1
            """)
        assumeStartedAttempt = try make(
            """
            INSERT INTO attempt (operation, number, run, runner, slot, startedMonotonic, startedAt)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """)
        confirmStartOperation = try make(
            "UPDATE operation SET startedAt = ?2, readyAt = min(readyAt, ?2) WHERE id = ?1")
        confirmStartAttempt = try make(
            """
            UPDATE attempt SET slot = ?3, startedMonotonic = ?4, startedAt = ?5 WHERE operation = ?1 AND number = ?2
            """)
        unstageAttempt = try make("DELETE FROM attempt WHERE operation = ?1 AND number = ?2")
        unstageOperation = try make(
            "UPDATE operation SET state = 1, attempt = ?2 - 1 WHERE id = ?1 AND state = 2")
    }
}

/// Statements that store the progress of one attempt.
struct AttemptStatements {
    let insertRunner, insertAttempt, updateAttempt, storeUpdate, timeoutMoved, slotFreed, setJob, jobStarted: Statement

    init(_ database: Database) throws(StoreError) {
        func make(_ sql: String) throws(StoreError) -> Statement { try database.prepare(sql) }
        insertRunner = try make("INSERT INTO runner (id, name, boot) VALUES (?1, ?2, ?3)")
        insertAttempt = try make(
            """
            INSERT INTO attempt (
                operation, number, run, runner, slot, startedMonotonic, startedAt, \(AttemptWrite.facts.joined(separator: ", ")))
            VALUES (\(AttemptWrite.parameters(7 + AttemptWrite.facts.count)))
            """)
        // Each fact is stored once.
        updateAttempt = try make(
            """
            UPDATE attempt SET \(AttemptWrite.facts.enumerated().map { "\($1) = ifnull(?\($0 + 3), \($1))" }.joined(separator: ", "))
            WHERE operation = ?1 AND number = ?2
            """)
        storeUpdate = try make(
            """
            UPDATE attempt SET
                progressDone = ifnull(?3, progressDone), progressTotal = ifnull(?4, progressTotal),
                status = ifnull(?5, status), result = ifnull(?6, result), outputs = outputs OR ?7
            WHERE operation = ?1 AND number = ?2
            """)
        timeoutMoved = try make("UPDATE attempt SET timeout = ?3 WHERE operation = ?1 AND number = ?2")
        setJob = try make("UPDATE attempt SET job = ?3 WHERE operation = ?1 AND number = ?2")
        jobStarted = try make(
            "UPDATE attempt SET startedMonotonic = ?3, startedAt = ?4 WHERE operation = ?1 AND number = ?2")
        // The number of the slot can still be computed.
        slotFreed = try make("UPDATE attempt SET slot = -1 - slot WHERE operation = ?1 AND number = ?2 AND slot >= 0")
    }
}

/// Statements for settings and for the event stream.
struct SettingStatements {
    let putQueue, removeQueue, putCategory, suspendGraph, resumeGraph, suspendDaemon, setWorkers, oweObserver: Statement
    let observed, insertEvent, assignUnits, forgetUnits, setQueueExecutor: Statement
    let setQueueFairness, putSlotTime, forgetSlotTime: Statement
    let addRatedStart, expireRatedStarts, forgetRatedStarts: Statement

    init(_ database: Database) throws(StoreError) {
        func make(_ sql: String) throws(StoreError) -> Statement { try database.prepare(sql) }
        putQueue = try make(
            """
            INSERT INTO queue (name, "limit", aging, suspended, "order") VALUES (?1, ?2, ?3, ?4, ?5)
            ON CONFLICT (name) DO UPDATE SET
                "limit" = excluded."limit", aging = excluded.aging, suspended = excluded.suspended,
                "order" = excluded."order", removed = 0
            RETURNING id
            """)
        setQueueExecutor = try make("UPDATE queue SET executor = ?2 WHERE name = ?1")
        setQueueFairness = try make("UPDATE queue SET fair = ?2 WHERE name = ?1")
        putSlotTime = try make("INSERT OR REPLACE INTO slotTime (queue, user, used, at) VALUES (?1, ?2, ?3, ?4)")
        forgetSlotTime = try make("DELETE FROM slotTime WHERE queue = ?1")
        removeQueue = try make("UPDATE queue SET removed = 1, executor = NULL, fair = 0 WHERE name = ?1")
        putCategory = try make(
            """
            INSERT OR REPLACE INTO category (name, capacity, units, share, export, rateCount, rateInterval)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
            """)
        suspendGraph = try make("INSERT OR IGNORE INTO suspendedGraph (graph) VALUES (?1)")
        resumeGraph = try make("DELETE FROM suspendedGraph WHERE graph = ?1")
        suspendDaemon = try make("UPDATE meta SET suspended = ?1")
        setWorkers = try make("UPDATE meta SET workers = ?1, workersInsteadOf = ?2")
        oweObserver = try make("INSERT OR IGNORE INTO owedObserver (operation, run) VALUES (?1, ?2)")
        observed = try make("DELETE FROM owedObserver WHERE operation = ?1 AND run = ?2")
        assignUnits = try make(
            "INSERT OR REPLACE INTO assignedUnit (operation, attempt, category, units) VALUES (?1, ?2, ?3, ?4)")
        // The units of an earlier run of a group.
        forgetUnits = try make("DELETE FROM assignedUnit WHERE operation = ?1 AND attempt = 0")
        addRatedStart = try make(
            """
            INSERT INTO rateStart (category, boot, at, count) VALUES (?1, ?2, ?3, 1)
            ON CONFLICT (category, boot, at) DO UPDATE SET count = count + 1
            """)
        // Starts of an earlier boot count as made at instant 0 of this one. SQLite reads a range of the primary key for each
        // part of the condition.
        expireRatedStarts = try make(
            """
            DELETE FROM rateStart
            WHERE category = ?1 AND boot = ?2 AND at <= ?3
                OR category = ?1 AND boot < ?2 AND ?3 >= 0 OR category = ?1 AND boot > ?2 AND ?3 >= 0
            """)
        forgetRatedStarts = try make("DELETE FROM rateStart WHERE category = ?1")
        insertEvent = try make(
            """
            INSERT INTO event (seq, at, kind, operation, graph, old, new, outcome, product, detail)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
            """)
    }
}

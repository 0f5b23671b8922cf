internal import OpsCore

/// Rows about attempts and outcomes of operations.
extension Store {
    /// Stores the start of a group.
    func start(_ id: OperationID, run: Int32, at: Moment) throws(StoreError) {
        let statement = statements.operation.startedGroup
        statement.bind(5, boot)
        try update(statement, id, Int64(run), at.monotonic.nanoseconds, at.wall.nanoseconds)
        if run > 1 { try update(statements.setting.forgetUnits, id) }
    }

    func start(
        _ attempt: AttemptID, run: Int32, slot: Int32, runner: String, at: Moment
    ) throws(StoreError) {
        _ = interned.staged.remove(attempt.operation)
        let start = AttemptWrite.Start(run: run, slot: slot, runner: try row(ofRunner: runner), at: at)
        attemptWrites.add(attempt) { $0.start = start }
    }

    /// Stores an attempt for an executor: its job starts later, and it has no slot.
    func submit(_ attempt: AttemptID, run: Int32, at: Moment) throws(StoreError) {
        let start = AttemptWrite.Start(
            run: run, slot: AttemptWrite.externalSlot, runner: try row(ofRunner: ""), at: at)
        attemptWrites.add(attempt) { $0.start = start }
    }

    func store(job: String, of attempt: AttemptID) throws(StoreError) {
        try writeAttempts()
        statements.attempt.setJob.bind(3, job)
        try update(statements.attempt.setJob, attempt.operation, Int64(attempt.number))
    }

    func startJob(of attempt: AttemptID, _ at: Moment) throws(StoreError) {
        try writeAttempts()
        try update(statements.staging.confirmStartOperation, attempt.operation, at.wall.nanoseconds)
        try update(
            statements.attempt.jobStarted, attempt.operation, Int64(attempt.number), at.monotonic.nanoseconds,
            at.wall.nanoseconds)
    }

    func finished(_ id: OperationID, _ outcome: Outcome, _ cause: Cause?, _ at: WallInstant) throws(StoreError) {
        let text = try cause.map { cause throws(StoreError) in try causeText(cause, of: id, outcome) }
        let finish = AttemptWrite.Finish(outcome: outcome, text: text, root: cause?.root, at: at)
        if !attemptWrites.finish(id, finish) { try write(finish, of: id) }
    }

    func write(_ finish: AttemptWrite.Finish, of id: OperationID) throws(StoreError) {
        try deleteResolution(of: id)
        let statement = statements.operation.finished
        statement.bind(1, id.rawValue)
        finish.bind(to: statement, from: 2)
        try statement.run()
    }

    func reopen(_ id: OperationID, _ run: Int32, _ state: OperationState, at: WallInstant) throws(StoreError) {
        try update(statements.submission.unresolveEdges, id)
        let statement = statements.operation.reopened
        statement.bind(1, id.rawValue)
        statement.bind(2, run)
        statement.bind(3, state.stored)
        if state == .ready { statement.bind(4, at) } else { statement.bindNull(4) }
        try statement.run()
    }

    func cancelling(
        _ id: OperationID, _ user: String, _ reason: String?, _ outcome: Outcome, _ cause: Cause
    ) throws(StoreError) {
        let statement = statements.operation.insertResolution
        statement.bind(1, id.rawValue)
        statement.bind(2, outcome.stored)
        statement.bind(3, user)
        statement.bind(4, reason)
        CauseRow(cause).bind(to: statement, from: 5)
        try statement.run()
        interned.resolutions.insert(id.rawValue)
    }

    func deleteResolution(of id: OperationID) throws(StoreError) {
        if interned.resolutions.remove(id.rawValue) != nil { try update(statements.operation.deleteResolution, id) }
    }

    func record(_ attempt: AttemptID, _ update: OperationUpdate) throws(StoreError) {
        let statement = statements.attempt.storeUpdate
        statement.bind(1, attempt.operation.rawValue)
        statement.bind(2, attempt.number)
        statement.bind(3, update.progressDone)
        statement.bind(4, update.progressTotal)
        statement.bind(5, update.status)
        statement.bind(6, update.result)
        statement.bind(7, update.hasOutputs)
        try statement.run()
    }

    func apply(_ edit: Edit, to id: OperationID) throws(StoreError) {
        if let priority = edit.priority { try update(statements.operation.setPriority, id, Int64(priority)) }
        if let queue = edit.queue { try update(statements.operation.setQueue, id, try row(ofQueue: queue)) }
        if let policy = edit.policy { try update(statements.operation.setPolicy, id, try row(of: policy)) }
        if let command = edit.command {
            try update(statements.operation.setCommand, id, try insert(text: command))
        }
        if let categories = edit.categories {
            statements.operation.setCategories.bind(1, id.rawValue)
            statements.operation.setCategories.bind(2, try row(of: categories))
            try statements.operation.setCategories.run()
        }
    }

    /// Returns a cause as text for people, with the present names of other operations.
    func causeText(
        _ cause: Cause, of id: OperationID, _ outcome: Outcome = .failed
    ) throws(StoreError) -> String {
        // All operations of a large selection are cancelled with one cause, those of a large graph are skipped with
        // one.
        if let latest = interned.latestCauseText, latest.cause == cause, !cause.isAboutItself, outcome != .succeeded {
            return latest.text
        }
        let maker = CauseText(
            other: { (other) throws(StoreError) in try self.other(other) },
            condition: { (index) throws(StoreError) in try self.condition(index, of: id) })
        let text = try maker.text(cause, of: outcome)
        if outcome != .succeeded { interned.latestCauseText = (cause, text) }
        return text
    }

    private func other(_ id: OperationID) throws(StoreError) -> CauseText.Other {
        try writeAttempts()
        let statement = statements.operation.nameAndEnd
        statement.bind(1, id.rawValue)
        guard try statement.step() else { return CauseText.Other() }
        defer { statement.reset() }
        return CauseText.Other(
            name: statement.optionalText(0), outcome: Outcome(stored: statement.optionalInt(1)),
            isUpToDate: statement.optionalText(2) == CauseText.upToDate)
    }

    /// Returns the text of one condition of an operation: `pathExists /x`.
    private func condition(_ index: Int32, of id: OperationID) throws(StoreError) -> String? {
        let statement = statements.operation.conditionOf
        statement.bind(1, id.rawValue)
        statement.bind(2, index)
        guard try statement.step() else { return nil }
        defer { statement.reset() }
        return statement.text(0)
    }
}

extension Cause {
    /// The operation at which a cascade of skips began.
    var root: OperationID? {
        switch self {
        case .dependency(let root, _), .neverStarted(let root), .providedFor(let root, _): root
        case .groupSkipped(let group, let root): root?.operation ?? group
        default: nil
        }
    }

    /// True if the text of the cause depends on its operation.
    var isAboutItself: Bool {
        if case .conditionFalse = self { true } else { false }
    }
}

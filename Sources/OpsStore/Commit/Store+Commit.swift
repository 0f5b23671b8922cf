public import OpsCore

extension Store {
    /// Stores a turn in one transaction. When it returns, the turn is on disk; when it throws, nothing was changed.
    /// - Parameter records: Instants of schedules that do not run.
    public func commit(
        _ transition: Transition, submissions: [SubmissionTexts] = [], records: [ScheduleWrite] = []
    ) throws(StoreError) {
        if transition.changes.isEmpty && transition.reports.isEmpty && records.isEmpty { return }
        endReading()
        if needsRecovery { try recover() }
        do {
            interned.latestCauseText = nil
            try statements.begin.run()
            var submittedAt = SubmissionInstants(transition.reports)
            var reopened = Reopened()
            for change in transition.changes {
                if case .reopened(let id, _, _) = change {
                    reopened.add(id)
                } else {
                    try reopened.keepMetEdges(in: self, at: submittedAt.turn)
                }
                try apply(change, submissions, &submittedAt)
            }
            try reopened.keepMetEdges(in: self, at: submittedAt.turn)
            try writeAttempts()
            try writeStaged()
            for report in transition.reports { try insert(report) }
            for record in records { try put(record) }
            try statements.commit.run()
        } catch {
            database.rollBack()
            // The cache may name rows that were just rolled back; `recover` fills it again.
            interned = Interned(sharedSince: interned.sharedSince)
            attemptWrites = AttemptWrites()
            needsRecovery = true
            throw error
        }
        checkpointWhenLarge()
    }

    private func apply(
        _ change: Change, _ submissions: [SubmissionTexts], _ submittedAt: inout SubmissionInstants
    ) throws(StoreError) {
        switch change {
        case .submitted(let number, let graph, let isNew, let first, let states, let parent, let producer):
            precondition(submissions.indices.contains(number), "a submission was committed without its texts")
            let target = SubmissionRows(
                graph: graph, isNew: isNew, first: first, parent: parent, producer: producer,
                at: submittedAt.next(first))
            try insert(submissions[number], states, at: target)
        case .becameReady(let id, let at):
            try update(statements.operation.becameReady, id, at.nanoseconds)
        case .becamePending(let id):
            try update(statements.operation.becamePending, id)
        case .started(let id, let attempt, let run, nil, _, let at) where attempt > 0:
            try submit(AttemptID(id, attempt), run: run, at: at)
        case .started(let id, _, let run, nil, _, let at):
            // A group has no process, so no attempt.
            try start(id, run: run, at: at)
        case .started(let id, let attempt, let run, let slot?, let runner, let at):
            try start(AttemptID(id, attempt), run: run, slot: slot, runner: runner, at: at)
        case .staged(let attempt, let runner): try stage(attempt, runner)
        case .unstaged(let attempt): try unstage(attempt)
        case .assumedStarted(let attempt, let run, let slot, let at):
            try assumeStarted(attempt, run: run, slot: slot, at: at)
        case .startConfirmed(let attempt, let begun): try confirmStart(attempt, begun)
        case .unitsAssigned(let id, let attempt, let assigned): try store(assigned, of: id, attempt)
        case .launched(let attempt, let process): attemptWrites.add(attempt) { $0.process = process }
        case .accepted(let attempt, let job): try store(job: job, of: attempt)
        case .jobStarted(let attempt, let at): try startJob(of: attempt, at)
        case .exited(let attempt, let exit): attemptWrites.add(attempt) { $0.exit = exit }
        case .attemptEnded(let attempt, let outcome, let cause, let at):
            let text = outcome == .succeeded ? nil : try causeText(cause, of: attempt.operation)
            attemptWrites.add(attempt) { $0.end = AttemptWrite.End(outcome: outcome, cause: cause, text: text, at: at) }
        case .retrying(let id, let notBefore, let counts):
            try writeAttempts()
            try deleteResolution(of: id)
            try update(
                statements.operation.retrying, id, notBefore.nanoseconds, submittedAt.turn.nanoseconds, counts ? 0 : 1)
        case .finished(let id, let outcome, let cause, let at):
            try finished(id, outcome, cause, at)
        case .reopened(let id, let run, let state):
            try writeAttempts()
            try reopen(id, run, state, at: submittedAt.turn)
        case .cancelling(let id, let user, let reason, let outcome, let cause):
            try cancelling(id, user, reason, outcome, cause)
        case .held(let id, let isHeld):
            try update(statements.operation.hold, id, isHeld ? Draft.Flags.held.stored : 0)
        case .frozen(let id, let levels):
            try update(statements.operation.freeze, id, levels.stored)
        case .edited(let id, let edit): try apply(edit, to: id)
        case .noted(let id, let text):
            statements.operation.setNote.bind(2, text)
            try update(statements.operation.setNote, id)
        case .updated(let attempt, let update):
            try writeAttempts()
            try record(attempt, update)
        case .slotFreed(let attempt):
            try writeAttempts()
            try update(statements.attempt.slotFreed, attempt.operation, Int64(attempt.number))
        case .timeoutMoved(let attempt, let remaining): try moveTimeout(of: attempt, remaining)
        case .edgeAdded, .edgeRemoved, .observerOwed, .observed: try applyEdge(change)
        case .queueSet, .queueExecutorSet, .queueFairnessSet, .slotTimeUsed, .queueRemoved, .categorySet, .rateStarted,
            .graphSuspended,
            .daemonSuspended, .workersSet:
            try applySetting(change)
        }
    }

    private func moveTimeout(of attempt: AttemptID, _ remaining: TimeSpan) throws(StoreError) {
        // A group has no attempt.
        if attempt.number == 0 {
            return try update(statements.operation.timeoutMoved, attempt.operation, remaining.nanoseconds)
        }
        try writeAttempts()
        try update(statements.attempt.timeoutMoved, attempt.operation, Int64(attempt.number), remaining.nanoseconds)
    }

    /// Stores a change of edges, or of observers that must run.
    private func applyEdge(_ change: Change) throws(StoreError) {
        switch change {
        case .edgeAdded(let id, let on, let when):
            // The edge may cross submissions. Only edges within a submission are known not to.
            try insertEdge(id, on, when, crossing: true)
        case .edgeRemoved(let id, let on):
            try update(statements.submission.deleteEdge, id, on.rawValue)
        case .observerOwed(let id, let run):
            try update(statements.setting.oweObserver, id, Int64(run))
        case .observed(let id, let run):
            try update(statements.setting.observed, id, Int64(run))
        case .submitted, .becameReady, .becamePending, .started, .staged, .unstaged, .assumedStarted, .startConfirmed,
            .launched, .accepted, .jobStarted, .exited, .attemptEnded, .retrying, .finished, .reopened, .cancelling,
            .held, .frozen, .edited, .noted, .updated, .timeoutMoved, .slotFreed, .unitsAssigned, .queueSet,
            .queueExecutorSet, .queueFairnessSet, .slotTimeUsed, .queueRemoved, .categorySet, .rateStarted,
            .graphSuspended, .daemonSuspended, .workersSet:
            preconditionFailure("apply takes the other changes")
        }
    }

    private func forgetSlotTime(of queue: String) throws(StoreError) {
        statements.setting.forgetSlotTime.bind(1, queue)
        try statements.setting.forgetSlotTime.run()
    }

    /// Stores a change that is not about an operation.
    private func applySetting(_ change: Change) throws(StoreError) {
        switch change {
        case .queueSet(let name, let limit, let aging, let suspended, let order):
            let statement = statements.setting.putQueue
            statement.bind(1, name)
            statement.bind(2, limit.map(Int64.init))
            statement.bind(3, aging)
            statement.bind(4, suspended)
            statement.bind(5, Int64(order.rawValue))
            while try statement.step() { interned.queues[name] = statement.int(0) }
        case .queueExecutorSet(let name, let executor):
            statements.setting.setQueueExecutor.bind(1, name)
            statements.setting.setQueueExecutor.bind(2, executor)
            try statements.setting.setQueueExecutor.run()
        case .queueFairnessSet(let name, let isFair):
            statements.setting.setQueueFairness.bind(1, name)
            statements.setting.setQueueFairness.bind(2, isFair)
            try statements.setting.setQueueFairness.run()
            if !isFair { try forgetSlotTime(of: name) }
        case .slotTimeUsed(let queue, let user, let used, let instant):
            let statement = statements.setting.putSlotTime
            statement.bind(1, queue)
            statement.bind(2, Int64(user))
            statement.bind(3, used)
            statement.bind(4, instant)
            try statement.run()
        case .queueRemoved(let name):
            try forgetSlotTime(of: name)
            statements.setting.removeQueue.bind(1, name)
            try statements.setting.removeQueue.run()
        case .rateStarted(let category, let instant, let expired):
            try storeStart(of: category, at: instant, expired: expired)
        case .categorySet(let settings):
            try put(settings)
        case .graphSuspended(let graph, let isOn):
            let statement = isOn ? statements.setting.suspendGraph : statements.setting.resumeGraph
            statement.bind(1, graph.rawValue)
            try statement.run()
        case .daemonSuspended(let isOn):
            statements.setting.suspendDaemon.bind(1, isOn)
            try statements.setting.suspendDaemon.run()
        case .workersSet(let count, let configured):
            let statement = statements.setting.setWorkers
            statement.bind(1, configured.map { _ in Int64(count) })
            statement.bind(2, configured.map(Int64.init))
            try statement.run()
        case .submitted, .becameReady, .becamePending, .started, .staged, .unstaged, .assumedStarted, .startConfirmed,
            .launched, .accepted, .jobStarted,
            .exited, .attemptEnded, .retrying,
            .finished, .reopened, .cancelling, .held, .frozen, .edgeAdded, .edgeRemoved, .edited, .noted, .updated,
            .timeoutMoved, .slotFreed, .observerOwed, .observed, .unitsAssigned:
            preconditionFailure("apply takes the changes of operations")
        }
    }

    /// Runs a statement whose first parameter is the operation.
    func update(_ statement: Statement, _ id: OperationID, _ values: Int64...) throws(StoreError) {
        statement.bind(1, id.rawValue)
        for (offset, value) in values.enumerated() { statement.bind(Int32(offset) + 2, value) }
        try statement.run()
    }

    private func insert(_ report: Report) throws(StoreError) {
        let statement = statements.setting.insertEvent
        statement.bind(1, report.sequence)
        statement.bind(2, report.at)
        statement.bind(3, report.kind.stored)
        statement.bind(4, report.operation?.rawValue)
        statement.bind(5, report.graph?.rawValue)
        statement.bind(6, report.old?.stored)
        statement.bind(7, report.new?.stored)
        statement.bind(8, report.outcome?.stored)
        statement.bind(9, report.product?.rawValue)
        statement.bind(10, report.detail)
        try statement.run()
    }
}

/// The instants of the submissions of a turn. Their reports contain them, but their changes do not.
struct SubmissionInstants {
    private let reports: [Report]
    private var next = 0

    init(_ reports: [Report]) { self.reports = reports }

    /// Instant of the turn.
    var turn: WallInstant { reports.first?.at ?? .zero }

    /// Submissions and their reports are in the same order.
    mutating func next(_ first: OperationID) -> WallInstant {
        while next < reports.count {
            defer { next += 1 }
            if reports[next].kind == .submitted, reports[next].operation == first { return reports[next].at }
        }
        return turn
    }
}

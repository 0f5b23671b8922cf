/// Attempts that executors other than the runner start. Their categories are held from the commit of the attempt on;
/// the job starts only after its id is on disk.
extension Scheduler {
    /// State of each executor that was configured, or that an operation has named, since the scheduler was restored.
    public var executorLoads: [ExecutorLoad] { executors.loads }

    /// Returns whether operations wait for an executor or are in flight on it.
    public func isExecutorInUse(_ name: String) -> Bool { executors.isInUse(name) }

    /// Returns whether an attempt in flight ends because its operation was cancelled.
    public func isCancelled(_ attempt: AttemptID) -> Bool {
        guard let index = registry.execution(of: attempt) else { return false }
        return executions[index].resolution?.outcome == .cancelled
    }

    /// Returns whether an attempt in flight has a job in the engine of its executor.
    public func hasJob(_ attempt: AttemptID) -> Bool {
        guard let index = registry.execution(of: attempt) else { return false }
        return executions[index].job != nil
    }

    mutating func setExecutors(_ settings: [ExecutorSettings]) {
        for setting in settings {
            let executor = executors.find(setting.name)
            executors[executor].window = max(0, setting.window)
            reservations.requestReview()
            wakeAll(executor)
        }
    }

    mutating func findExecutor(of operation: OperationIndex) -> ExecutorIndex? {
        policy(of: operation)?.executor.map { executors.find($0) }
    }

    // MARK: Starts

    /// Starts an operation that has its categories and part of the window.
    mutating func start(_ operation: OperationIndex, on executor: ExecutorIndex, holding needs: [Need]) {
        executors.enter(executor)
        // A full window reserves no positions in categories.
        reservations.requestReview()
        let index = begin(operation, holding: needs, slot: nil, on: executor, at: now)
        submit(index)
    }

    private mutating func submit(_ index: ExecutionIndex) {
        let priority = table[executions[index].operation].effective
        emit(.submit(registry.attemptID(index), job: executions[index].job, priority: priority), for: index)
    }

    /// Passes the priority of an operation on to the engine in which its job waits. A repeated submission changes nothing else.
    mutating func rankJob(of operation: OperationIndex) {
        guard let index = execution(of: operation), executions[index].isInFlight, executions[index].process == nil,
            !executions[index].isCancelling
        else { return }
        submit(index)
    }

    /// Removes a submission of this turn that has not been sent yet.
    mutating func dropSubmission(_ index: ExecutionIndex) {
        guard let executor = executions[index].executor else { return }
        let attempt = registry.attemptID(index)
        let name = executors[executor].name
        output.withdraw { effect in
            guard case .external(name, .submit(attempt, _, _)) = effect else { return false }
            return true
        }
    }

    /// Emits an effect for the executor of an attempt.
    mutating func emit(_ effect: Effect, for index: ExecutionIndex) {
        guard let executor = executions[index].executor else { return emit(effect) }
        emit(.external(executors[executor].name, effect))
    }

    /// Restores an attempt that is in flight.
    mutating func restoreOnExecutor(_ index: ExecutionIndex, job: String?) {
        guard let executor = findExecutor(of: executions[index].operation) else { return }
        executions[index].executor = executor
        executions[index].isInFlight = true
        executions[index].job = job
        executors.enter(executor)
    }

    /// Frees the part of the window that an attempt takes.
    mutating func leaveExecutor(_ index: ExecutionIndex) {
        guard executions[index].isInFlight, let executor = executions[index].executor else { return }
        executions[index].isInFlight = false
        executors.leave(executor)
        reservations.requestReview()
        wake(.executor(executor))
    }

    /// Wakes the lanes that wait for an executor, as far as it has room.
    private mutating func wakeAll(_ executor: ExecutorIndex) {
        guard executors[executor].hasRoom else { return }
        while let lane = lanes.popBest(from: &executors[executor].parked, at: .executor(executor)) {
            makeCandidate(lane)
        }
    }

    // MARK: Reports

    /// Handles a report of an executor.
    mutating func handleReport(_ report: Event, from name: String) {
        let executor = executors.find(name)
        switch report {
        case .runnerConnected(let inventory): return connected(executor, inventory)
        case .runnerLost:
            executors.setConnected(executor, false)
            return reservations.requestReview()
        default: break
        }
        guard let attempt = report.attempt else { return }
        guard let index = registry.execution(of: attempt), executions[index].executor == executor else {
            if report.endsAttempt { emit(.external(name, .acknowledge(attempt))) }
            return
        }
        handleReport(report, of: index)
    }

    private mutating func handleReport(_ report: Event, of index: ExecutionIndex) {
        let attempt = registry.attemptID(index)
        switch report.plausible(since: executions[index].startedAt, now: now) {
        case .accepted(_, let job): accepted(index, job)
        case .launched(_, let process): jobStarted(index, process)
        case .refused(_, let cause):
            end(index, Resolution(outcome: .failed, cause: .refused(cause)), at: now.wall)
        case .ended(_, let end): ended(index, end)
        case .launchFailed(_, let step, let errno): launchFailed(attempt, step: step, errno: errno)
        case .exited(_, let exit, let treeIsGone):
            startJob(of: index, before: exit)
            exited(attempt, exit, treeIsGone: treeIsGone)
        case .gone:
            let lost = Resolution(outcome: .interrupted, cause: .engine("the executor reports no end of the attempt"))
            if executions[index].resolution == nil, executions[index].exit == nil {
                executions[index].resolution = lost
            }
            gone(attempt)
        case .updated(_, let update): jobUpdated(index, update)
        default: break
        }
    }

    /// Keeps the state of a job for `why`. A new estimate of its start alone is not stored.
    private mutating func jobUpdated(_ index: ExecutionIndex, _ update: OperationUpdate) {
        let before = executions[index].jobState?.text
        if let status = update.status {
            executions[index].jobState = EngineState(status, expectedStart: update.expectedStart)
        }
        guard before == nil || update != OperationUpdate(status: before, expectedStart: update.expectedStart) else {
            return
        }
        updated(registry.attemptID(index), update)
    }

    /// Stores the job of an attempt; the commit of this turn comes before its release.
    private mutating func accepted(_ index: ExecutionIndex, _ job: String) {
        let attempt = registry.attemptID(index)
        if executions[index].job != job {
            executions[index].job = job
            record(.accepted(attempt, job: job))
        }
        guard !executions[index].isCancelling else { return terminate(index) }
        emit(.release(attempt), for: index)
    }

    /// Counts the time of an attempt from the start of its job.
    private mutating func jobStarted(_ index: ExecutionIndex, _ process: LaunchedProcess) {
        // An executor that lost its state reports the start again, and knows nothing of the freeze.
        guard executions[index].process == nil else { return repeatFreeze(index) }
        let operation = executions[index].operation
        let attempt = registry.attemptID(index)
        executions[index].startedAt = process.at
        record(.jobStarted(attempt, at: process.at))
        launched(attempt, process)
        publish(.started, operation, old: .ready, new: .executing, detail: String(attempt.number))
        table[operation].traits.insert(.hasStarted)
        meetStartEdges(of: operation)
        if executions[index].resolution == nil { armTimeout(index) }
        if !table[operation].traits.isDisjoint(with: .frozen) { stopTimeout(index) }
        if table[operation].traits.contains(.hasObservers), policy(of: operation)?.observers.contains(.start) == true {
            emit(.observeStart(table[operation].operationID))
        }
    }

    /// Assumes that a job of which only the exit is known started when it ended. Its start may have been reported while
    /// opsd was away.
    private mutating func startJob(of index: ExecutionIndex, before exit: ProcessExit) {
        guard executions[index].process == nil else { return }
        jobStarted(index, LaunchedProcess(pid: 0, startTicks: 0, at: exit.at))
    }

    private mutating func ended(_ index: ExecutionIndex, _ external: ExternalEnd) {
        if let exit = external.exit, executions[index].exit == nil {
            startJob(of: index, before: exit)
            executions[index].exit = exit
            record(.exited(registry.attemptID(index), exit))
        }
        end(index, Resolution(outcome: Outcome(external.outcome), cause: .engine(external.cause)), at: external.at.wall)
    }

    /// Ends an attempt of which no process is left; an outcome that was decided before remains.
    private mutating func end(_ index: ExecutionIndex, _ end: Resolution, at instant: WallInstant) {
        executions[index].endedAt = instant
        if executions[index].resolution == nil {
            executions[index].resolution = end
            disarmTimeout(index)
        }
        endAttempt(index)
    }

    // MARK: Connections

    /// Compares the attempts that an executor knows with those that should be in flight there.
    private mutating func connected(_ executor: ExecutorIndex, _ inventory: Inventory) {
        executors.setConnected(executor, !inventory.isEnding)
        reservations.requestReview()
        let name = executors[executor].name
        for index in executions.indices.filter({ executions[$0].executor == executor && needsReconciliation($0) }) {
            reconcile(index, inventory)
        }
        for (attempt, entry) in inventory.entries.sorted(by: {
            ($0.key.operation, $0.key.number) < ($1.key.operation, $1.key.number)
        })
        where registry.execution(of: attempt) == nil {
            switch entry {
            case .running, .exited, .accepted: emit(.external(name, .terminate(attempt, grace: Policy().grace)))
            case .gone, .failed, .refused, .ended: emit(.external(name, .acknowledge(attempt)))
            }
        }
        recordFinishes()
        wakeAll(executor)
    }

    private mutating func reconcile(_ index: ExecutionIndex, _ inventory: Inventory) {
        let attempt = registry.attemptID(index)
        moveStart(of: index, toBoot: inventory.boot)
        confirm(index)
        guard let entry = inventory.entries[attempt] else {
            // Unknown to the executor: it looks for the attempt in its engine before it submits or cancels a job.
            if executions[index].isCancelling { return terminate(index) }
            return inventory.isEnding ? () : submit(index)
        }
        if case .running(let process) = entry, executions[index].process == nil {
            handleReport(.launched(attempt, process), of: index)
        }
        // The updates that it sent come before its end.
        if let update = inventory.updates[attempt] { handleReport(.updated(attempt, update), of: index) }
        switch entry {
        case .running: return repeatCommands(index)
        case .accepted(let job): return handleReport(.accepted(attempt, job: job), of: index)
        case .exited(let exit): handleReport(.exited(attempt, exit, treeIsGone: false), of: index)
        case .gone(let exit): handleReport(.exited(attempt, exit, treeIsGone: true), of: index)
        case .failed(let step, let errno): handleReport(.launchFailed(attempt, step: step, errno: errno), of: index)
        case .refused(let cause): handleReport(.refused(attempt, cause), of: index)
        case .ended(let end): handleReport(.ended(attempt, end), of: index)
        }
        if registry.execution(of: attempt) == index, executions[index].isCancelling { terminate(index) }
    }

    /// Moves the start of an attempt of an earlier boot, and its timeout, to the monotonic clock of this one. Only the
    /// wall clock says how long ago it started.
    private mutating func moveStart(of index: ExecutionIndex, toBoot boot: String) {
        guard !executions[index].boot.isEmpty, !boot.isEmpty, executions[index].boot != boot else { return }
        executions[index].boot = boot
        let old = executions[index].startedAt
        let start = now.monotonic - max(.zero, now.wall - old.wall)
        executions[index].startedAt.monotonic = start
        executions[index].timeoutDue = executions[index].timeoutDue.map { start + ($0 - old.monotonic) }
    }

    // MARK: Explanations

    /// Returns what keeps a ready operation from its executor.
    func whyNotOn(_ executor: ExecutorIndex, _ operation: OperationIndex, position: Int) -> Reason? {
        let present = executors[executor]
        if !present.isConnected { return Reason(kind: .executor, detail: .executorAway(name: present.name)) }
        guard present.inFlight >= present.window else { return nil }
        let ids = executions.indices.filter { executions[$0].executor == executor && executions[$0].isInFlight }
            .map { table[executions[$0].operation].operationID }.sorted()
        let detail = Reason.Detail.executorWindow(name: present.name, window: present.window, position: position)
        return Reason(kind: .executor, ids: ids, detail: detail)
    }

    /// Returns what an executing operation waits for in the engine of its executor.
    func whyInFlight(_ index: ExecutionIndex, _ executor: ExecutorIndex) -> Reason {
        let ids = [table[executions[index].operation].operationID]
        let present = executors[executor]
        if !present.isConnected { return Reason(kind: .executor, ids: ids, detail: .executorAway(name: present.name)) }
        if executions[index].isCancelling { return Reason(kind: .dependency, detail: .ending) }
        let (name, execution) = (present.name, executions[index])
        if execution.process != nil {
            let detail = Reason.Detail.startedJob(executor: name, id: execution.job, state: execution.jobState)
            return Reason(kind: .dependency, detail: detail)
        }
        let detail = Reason.Detail.job(executor: name, id: execution.job, state: execution.jobState)
        return Reason(kind: .executor, ids: ids, detail: detail)
    }

    func executionsInFlight() -> [ExecutorIndex: Int32] {
        var counts: [ExecutorIndex: Int32] = [:]
        for index in executions.indices where executions[index].isInFlight {
            if let executor = executions[index].executor { counts[executor, default: 0] += 1 }
        }
        return counts
    }
}

extension Event {
    /// Attempt that a report is about.
    var attempt: AttemptID? {
        switch self {
        case .launched(let attempt, _), .launchFailed(let attempt, _, _), .exited(let attempt, _, _),
            .gone(let attempt), .updated(let attempt, _), .stagedStarted(let attempt, _), .accepted(let attempt, _),
            .refused(let attempt, _), .ended(let attempt, _):
            attempt
        default: nil
        }
    }

    /// True if no process of the attempt is left after this report.
    fileprivate var endsAttempt: Bool {
        switch self {
        case .launchFailed, .exited(_, _, treeIsGone: true), .gone, .refused, .ended: true
        default: false
        }
    }
}

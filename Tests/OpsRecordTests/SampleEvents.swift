import OpsCore

/// One event of each kind, with as many of its optional parts as possible.
enum SampleEvents {
    private static let attempt = AttemptID(OperationID(3), 2)
    private static let at = Moment(monotonic: .zero + .nanoseconds(7), wall: .zero + .nanoseconds(9))
    private static let id = OperationID(3)

    /// Returns the sample that follows an event, from nil on. The compiler requires a line for each kind.
    static func next(after event: Event?) -> Event? {
        switch event {
        case nil: .submit(submission)
        case .submit: .cancel([id], by: "me", reason: "why", force: true)
        case .cancel: .suspend(.queue("default"), freeze: true)
        case .suspend: .resume(.operations([id, OperationID(4)]))
        case .resume: .retry([id], revived: revival)
        case .retry: .finish(id, failed: true, message: "said", by: "me")
        case .finish: .edit([EditedTogether([id], Edit(priority: 2, queue: "q", policy: policy, categories: [use]))])
        case .edit: .note(id, graph: GraphID(2), text: "note")
        case .note: .addDependency(id, on: OperationID(1), when: .failed, finished: fact)
        case .addDependency: .removeDependency(id, on: OperationID(1), isMet: true)
        case .removeDependency: .setQueue("q", queueEdit)
        case .setQueue: .removeQueue("q")
        case .removeQueue: .setCategory("c", categoryEdit)
        case .setCategory: .setWorkers(3, insteadOf: 4)
        case .setWorkers: .setDraining(to: true)
        case .setDraining: .setOperationsPerUser(.max)
        case .setOperationsPerUser: .setObserversOfAll([.finish, .failed])
        case .setObserversOfAll: .setExecutors([ExecutorSettings(name: "slurm", window: 9)])
        case .setExecutors: .launched(attempt, process)
        case .launched: .launchFailed(attempt, step: "exec", errno: 2)
        case .launchFailed: .exited(attempt, exit, treeIsGone: true)
        case .exited: .gone(attempt)
        case .gone: .updated(attempt, update)
        case .updated: .stagedStarted(attempt, SlotStart(slot: 4, at: at))
        case .stagedStarted: .stagingRevoked(started: 2)
        case .stagingRevoked: .revocationConfirmed
        case .revocationConfirmed: .runnerConnected(inventory)
        case .runnerConnected: .runnerLost
        case .runnerLost: .conditionsAnswered(id, token: 8, .isFalse(index: 1, detail: "no"))
        case .conditionsAnswered: .observed(id, run: 2)
        case .observed: .external("slurm", .gone(attempt))
        case .external: .accepted(attempt, job: "77")
        case .accepted: .refused(attempt, "never")
        case .refused: .ended(attempt, ExternalEnd(outcome: .timedOut, cause: "limit", exit: exit, at: at))
        case .ended: .instantDecided(.missed, graph: GraphID(1), detail: "daily")
        case .instantDecided: .tick
        case .tick: nil
        }
    }

    private static let use = CategoryUse(name: "gpu", mode: .exclusive, units: 2)
    private static let process = LaunchedProcess(pid: 5, startTicks: .max, at: at)
    private static let fact = FinishedFact(
        outcome: .skipped, root: OperationID(1), hasStarted: true, rootOutcome: .failed)
    private static let exit = ProcessExit(
        status: .signal(9), outOfMemory: true,
        usage: ProcessUsage(userMicroseconds: 1, systemMicroseconds: 2, maxResidentBytes: 3), at: at)
    private static let update = OperationUpdate(
        status: "going", progressDone: 1, progressTotal: 2, result: "{}", finished: 0, extendTimeout: .nanoseconds(4),
        hasOutputs: true)

    private static var policy: Policy {
        var policy = Policy()
        policy.timeout = .nanoseconds(1)
        policy.deadline = .distantFuture
        policy.notBefore = .zero - .nanoseconds(1)
        policy.retry = RetryPolicy(limit: 2, exitCodes: [75], scale: scale)
        policy.successCodes = [0, 3]
        policy.completion = .notify
        policy.leftovers = .wait
        policy.conditions = [ConditionPolicy(otherwise: .succeed, every: .seconds(5))]
        policy.childLimit = 3
        policy.observers = [.start]
        policy.executor = "slurm"
        return policy
    }

    private static var scale: RetryScale {
        var scale = RetryScale()
        scale[.memory] = 1500
        return scale
    }

    private static var submission: Submission {
        var submission = Submission()
        submission.user = 1000
        submission.queues = ["default", "q"]
        submission.categorySets = [[use]]
        submission.policies = [policy]
        submission.operations = [
            Draft(flags: .group),
            Draft(
                group: 0, queue: 1, categories: 0, policy: 0, priority: -3, flags: [.held, .barrier],
                path: EstimatedPath(milliseconds: 900)),
        ]
        submission.edges = [
            DraftEdge(from: 1, on: .local(0)), DraftEdge(from: 1, on: .existing(OperationID(1)), when: .started),
        ]
        submission.finished = [OperationID(1): fact]
        submission.producer = id
        submission.asChildren = true
        return submission
    }

    private static var revival: Revival {
        var revival = Revival()
        revival.queues = ["default"]
        revival.categorySets = [[use]]
        revival.policies = [policy]
        revival.operations = [
            Snapshot.Row(id: id, graph: GraphID(1), user: 7, categories: 0, policy: 0, state: .finished, attempt: 2)
        ]
        revival.edges = [Snapshot.Edge(from: id, on: OperationID(1), when: .finished)]
        revival.finished = [OperationID(1): fact]
        revival.endedChildren = [
            Snapshot.EndedChildren(parent: id, unsuccessful: 1, firstUnsuccessful: OperationID(4))
        ]
        return revival
    }

    private static var queueEdit: QueueEdit {
        var edit = QueueEdit(limit: .set(3), aging: .clear, order: .longestPath, target: .existing)
        edit.executor = .set("slurm")
        edit.isFair = true
        return edit
    }

    private static let categoryEdit = CategoryEdit(
        capacity: 2, units: ["a", "b"], share: 2, export: .set("GPUS"),
        rate: .set(Rate(count: 3, interval: .seconds(60))))

    private static let inventory = Inventory(
        runner: "r", boot: "b", entries: [attempt: .failed(step: "fork", errno: 11)], updates: [attempt: update],
        isEnding: true, slotStarts: [attempt: SlotStart(slot: 1, at: at)], acceptsStaging: true, acceptsWaiting: true)
}

import OpsCore
import OpsStore
import OpsTesting
import TestSupport

/// A scheduler whose turns are also stored in SQLite, and that always starts from what SQLite loads. The simulation has
/// its own disk in memory; if the two differ, one of them is wrong.
struct MirroredScheduler: TestedScheduler {
    private var core: Scheduler
    private let mirror: Mirror

    init(_ snapshot: Snapshot, workers: Int32, at now: Moment) {
        guard let mirror = Mirror.current else { fatalError("a mirror is set before the simulation is made") }
        self.mirror = mirror
        core = Scheduler(mirror.restart(expecting: snapshot), workers: workers, at: now)
    }

    mutating func handle(_ event: Event, at now: Moment) -> Result<Acceptance, Rejection> {
        mirror.confirm()
        let result = core.handle(event, at: now)
        if case .submit(let submission) = event, case .success = result { mirror.submissions.append(submission) }
        if case .runnerConnected(let inventory) = event { mirror.boot = inventory.boot }
        return result
    }

    mutating func endTurn(at now: Moment, upTo limit: Int) -> Transition {
        mirror.confirm()
        let transition = core.endTurn(at: now, upTo: limit)
        mirror.pending = transition
        return transition
    }

    var hasPutOff: Bool { core.hasPutOff }
    var nextDeadline: Deadlines { core.nextDeadline }
    var stagedCount: Int { core.stagedCount }
    func mustRevokeStaged(at now: Moment) -> Bool { core.mustRevokeStaged(at: now) }
    func why(_ operation: OperationID, at now: Moment) -> [Reason] { core.why(operation, at: now) }
    func brokenInvariant() -> String? { mirror.problem ?? core.brokenInvariant() }
    var comparable: Scheduler? { core }
}

/// The store beside the simulation's own. Only later events show whether a turn was committed: the next turn of the
/// same scheduler, or the snapshot from which the next one starts.
final class Mirror {
    /// The mirror of the one simulation that runs.
    nonisolated(unsafe) static var current: Mirror?

    private let directory = TemporaryDirectory(inMemory: true)
    private var store: Store?
    private(set) var problem: String?
    private(set) var commits = 0
    var pending: Transition?
    var submissions: [Submission] = []
    var boot = "boot1"
    private var storedBoot = ""

    func confirm() {
        guard let turn = pending else { return }
        pending = nil
        let texts = submissions.map { submission in
            SubmissionTexts(
                submission, particulars: submission.operations.map { _ in .init(command: #"["true"]"#) })
        }
        submissions = []
        attempt {
            if store == nil || storedBoot != boot { try reopen() }
            try store?.commit(turn, submissions: texts)
            commits += 1
        }
    }

    func restart(expecting expected: Snapshot) -> Snapshot {
        var loaded = load()
        if pending != nil, lines(loaded) != lines(expected) {
            // The commit succeeded before the scheduler ended.
            confirm()
            loaded = load()
        }
        pending = nil
        submissions = []
        if boot != expected.boot {
            // The machine has restarted since the last commit.
            boot = expected.boot
            loaded = load()
        }
        let difference = Set(lines(loaded)).symmetricDifference(lines(expected))
        if !difference.isEmpty { problem = problem ?? "stored otherwise: \(difference.sorted())" }
        return loaded
    }

    func check() {
        attempt {
            guard let store else { return }
            let problems = try History.open(path: store.path).check()
            if !problems.isEmpty { problem = problem ?? "\(problems)" }
        }
    }

    private func load() -> Snapshot {
        var snapshot = Snapshot()
        attempt {
            try reopen()
            snapshot = try store?.load() ?? Snapshot()
        }
        return snapshot
    }

    private func reopen() throws {
        store = nil
        store = try Store.open(directory: directory.path, boot: boot)
        storedBoot = boot
    }

    private func attempt(_ body: () throws -> Void) {
        do { try body() } catch { problem = problem ?? "\(error)" }
    }

    /// Returns a snapshot as lines, without details that depend only on the order.
    private func lines(_ snapshot: Snapshot) -> [String] {
        var lines = [
            "next \(snapshot.nextOperation) \(snapshot.nextGraph) \(snapshot.lastSequence)",
            "suspended \(snapshot.isSuspended) \(snapshot.suspendedGraphs.map(\.rawValue).sorted())",
        ]
        lines += snapshot.queues.map {
            "queue \($0.name) \($0.limit ?? -1) \($0.aging ?? .zero) \($0.isSuspended) \($0.order) \($0.isFair)"
        }
        lines += snapshot.categorySettings.map { "\($0)" }
        lines += snapshot.assigned.map { "units \($0.key) \($0.value)" }.sorted()
        lines += snapshot.operations.map { line($0, snapshot) }
        lines += snapshot.edges.map { "edge \($0.from.rawValue) \($0.on.rawValue) \($0.when)" }
        lines += snapshot.finished.map { "finished \($0.key.rawValue) \($0.value)" }
        lines += snapshot.running.map { running in
            let ending = running.resolution.map { "\($0.outcome) \($0.cause)" } ?? "none"
            return """
                running \(running.attempt) \(running.slot ?? -1) \(running.runner) \(running.boot) \(running.startedAt) \
                \(String(describing: running.process)) \(String(describing: running.exit)) \(ending) \
                \(running.timeoutRemaining ?? .nanoseconds(-1)) \(running.isOver)
                """
        }
        lines += snapshot.staged.map { "staged \($0.attempt) \($0.runner) \($0.boot) \($0.hasStarted)" }
        lines += snapshot.endedChildren.map { "children \($0.parent.rawValue) \($0.unsuccessful)" }
        lines += snapshot.owedObservers.map { "owed \($0.operation.rawValue) \($0.run)" }
        return lines.sorted()
    }

    private func line(_ row: Snapshot.Row, _ snapshot: Snapshot) -> String {
        let policy = row.policy.map { snapshot.policies[Int($0)] } ?? Policy()
        let uses = row.categories.map { snapshot.categorySets[Int($0)] } ?? []
        return """
            operation \(row.id.rawValue) \(row.graph.rawValue) \(row.user) \(row.parent.rawValue) \
            \(snapshot.queues[Int(row.queue)].name) \(uses) \(policy) \(row.priority) \(row.state) \
            \(row.flags.rawValue) \(row.frozenBy.rawValue) \
            \(row.attempt) \(row.run) \(row.attemptsInRun) \(row.hasStarted) \(row.submittedAt) \
            \(row.state == .pending ? .zero : row.readyAt) \(row.notBefore)
            """
    }
}

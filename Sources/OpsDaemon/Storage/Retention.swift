internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// Removes old finished operations and old logs as the configuration says, and the logs of all pruned operations.
final class Retention {
    private let turns: Turns
    private let store: Store
    private let logs: Logs
    private let loop: EventLoop
    private let log: DaemonLog
    private let configuration: () -> Configuration
    private(set) lazy var alarm = Alarm(loop, log, accuracy: 60_000_000) { [unowned self] in self.begin() }
    private var pruning: Pruning?
    /// True if the present pruning is the hourly one.
    private var isHourly = false
    /// Graphs that are removed before others of their age: those of old scheduled runs.
    private var unwanted: [GraphID] = []
    /// Unwanted graphs that the present pruning removes.
    private var beingRemoved: [GraphID] = []
    /// Number of unwanted graphs whose removal has begun since unused texts were last looked for.
    private var removedAlone = 0
    private lazy var work = DeferredWork(loop) { [unowned self] in self.goOn() }

    private static let hour = TimeSpan.seconds(3600)
    private static let removalsForATextSearch = 200

    /// `configuration`: the present one.
    init(
        turns: Turns, store: Store, logs: Logs, loop: EventLoop, log: DaemonLog,
        configuration: @escaping () -> Configuration
    ) {
        self.turns = turns
        self.store = store
        self.logs = logs
        self.loop = loop
        self.log = log
        self.configuration = configuration
    }

    /// Number of operations that have been removed since the start.
    private(set) var removed = 0

    var isPruning: Bool { pruning != nil }

    private var isWanted: Bool { keepsLess || configuration().logTotal > 0 }
    /// True if the configuration limits the finished operations that are kept.
    private var keepsLess: Bool { configuration().keepFor != nil || configuration().keepAtMost != nil }
    private lazy var beside = SideWork(loop: loop, log: log)
    private lazy var threads = UserThreads(loop)

    /// Starts a pruning soon after the start and then each hour, unless everything is kept.
    func schedule() {
        scheduleNext(after: Self.hour / 60)
    }

    private func scheduleNext(after pause: TimeSpan) {
        if isWanted || !unwanted.isEmpty { alarm.set(after: pause) } else { alarm.set(at: nil) }
    }

    /// Begins the hourly pruning. Unwanted graphs that an earlier one could not remove follow it.
    func begin() {
        guard isWanted || !unwanted.isEmpty else { return }
        // While the store is busy or fails, the pruning is put off, not left out.
        guard pruning == nil, turns.outage == nil else { return scheduleNext(after: Self.hour / 60) }
        guard keepsLess else {
            if !unwanted.isEmpty { work.schedule() }
            return trimLogs()
        }
        isHourly = true
        let instant = configuration().keepFor.map { Moment.now().wall - $0 }
        pruning = store.prune(olderThan: instant, keeping: configuration().keepAtMost.map { Int($0) })
        goOn()
    }

    /// Removes graphs soon, whatever the configuration keeps.
    func remove(_ graphs: [GraphID]) {
        unwanted += graphs
        work.schedule()
    }

    private func removeUnwanted() {
        guard pruning == nil, !unwanted.isEmpty, turns.outage == nil else { return }
        removedAlone += unwanted.count
        // A search for unused texts reads every graph.
        let isThorough = removedAlone >= Self.removalsForATextSearch
        if isThorough { removedAlone = 0 }
        beingRemoved = unwanted.sorted()
        unwanted = []
        pruning = store.prune(olderThan: .distantFuture, only: beingRemoved, keepsTexts: !isThorough)
    }

    /// Sets the alarm for unwanted graphs that cannot be removed now. The next removal of other graphs tries them too.
    private func removeUnwantedLater() {
        if !unwanted.isEmpty, alarm.instant == nil { scheduleNext(after: Self.hour) }
    }

    private func goOn() {
        removeUnwanted()
        guard let pruning else { return removeUnwantedLater() }
        guard !turns.putOff({ [unowned self] in self.goOn() }) else { return }
        var failed: [GraphID] = []
        do {
            try step(pruning)
            guard pruning.isComplete else { return work.schedule() }
            if pruning.removed > 0 { log.info("removed \(pruning.removed) old operations") }
        } catch {
            log.warning("cannot remove old operations: \(error)")
            failed = beingRemoved
        }
        self.pruning = nil
        beingRemoved = []
        if !unwanted.isEmpty { work.schedule() }
        if !failed.isEmpty {
            unwanted += failed
            removeUnwantedLater()
        }
        guard isHourly else { return }
        if turns.outage == nil { return trimLogs() }
        isHourly = false
        scheduleNext(after: Self.hour / 60)
    }

    /// Removes the oldest logs beyond the total that is kept, and again in an hour.
    private func trimLogs() {
        isHourly = false
        scheduleNext(after: Self.hour)
        guard configuration().logTotal > 0 else { return }
        let total = LogTotal(
            logs: logs.directory, outputs: logs.outputs, limit: configuration().logTotal)
        let database = store.path
        let find: @Sendable () -> Result<LogTotal.Excess, any Error> = {
            Result {
                let history = try History.open(path: database)
                return try total.excess {
                    try history.owner(of: OperationID($0))
                } isFinished: {
                    (try history.brief(of: OperationID($0))?.state ?? .finished) == .finished
                }
            }
        }
        beside.run(find) { [unowned self] result in
            do {
                let excess = try result.get()
                if let failure = excess.failure {
                    log.warning("cannot measure all logs and outputs for log-total: \(failure)")
                }
                // Retries may have begun meanwhile.
                let logs = excess.logs.filter { log in
                    turns.ask { $0.contains(OperationID(log.operation)) } == false
                }
                self.remove(logs)
            } catch {
                log.warning("cannot remove logs beyond log-total: \(error)")
            }
        }
    }

    private func remove(_ logs: [LogTotal.Log]) {
        // Nobody writes to the logs of operations that are not stored any more.
        for (user, logs) in Dictionary(grouping: logs, by: { $0.user ?? .max }) {
            remove(logs, of: user, "cannot remove logs beyond log-total") { (log) throws(SystemError) in
                try log.remove()
            }
        }
    }

    /// Removes things of a user outside the loop, since the user can delay that, and logs the first error.
    private func remove<Thing: Sendable>(
        _ things: [Thing], of user: UInt32, _ trouble: String,
        _ remove: @escaping @Sendable (Thing) throws(SystemError) -> Void
    ) {
        let job: @Sendable () -> SystemError? = {
            var failure: SystemError?
            for thing in things {
                do throws(SystemError) {
                    try remove(thing)
                } catch {
                    failure = failure ?? error
                }
            }
            return failure
        }
        do throws(SystemError) {
            try threads.run(job, for: user, ownedBy: self) { [unowned self] failure in
                if let failure { log.warning("\(trouble): \(failure)") }
            }
        } catch {
            log.warning("\(trouble): \(error)")
        }
    }

    /// Makes one step of a pruning, and removes the logs of the removed operations. Does nothing if a long turn begins.
    func step(_ pruning: Pruning) throws {
        // This turn may have reopened operations that are still finished in the store.
        turns.commitBeforeReading()
        if turns.longTurn != nil { return }
        if let outage = turns.outage { throw outage.error }
        let before = pruning.removed
        let attempts: [UInt32: [AttemptID]]
        do {
            attempts = try pruning.step()
        } catch {
            turns.finished.forget()
            throw error
        }
        removed += pruning.removed - before
        turns.finished.remove(pruning.removed - before)
        // `logs` belongs to the loop.
        let state = logs.state
        for (user, attempts) in attempts {
            remove(attempts, of: user, "cannot remove logs and outputs of removed operations") {
                (attempt) throws(SystemError) in
                try Logs(state: state).remove(attempt)
            }
        }
    }
}

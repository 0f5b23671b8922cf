internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// Follows the runs of schedules to their ends, stores their outcomes, and removes graphs of old runs.
final class RunFinish {
    private unowned let schedules: Schedules
    private let turns: Turns
    private let store: Store
    private let history: History
    private let loop: EventLoop
    private let log: DaemonLog
    private let removeGraphs: ([GraphID]) -> Void
    private var watched: [GraphID: Watched] = [:]
    /// Runs whose outcome, or the lack of one, is not stored yet.
    private var ended: [ScheduleInstant] = []
    /// Graphs whose operations seem to have all finished.
    private var touched: Set<GraphID> = []
    /// Graphs with operations that were retried. Some may be finished runs.
    private var reopened: Set<GraphID> = []
    private lazy var check = DeferredWork(loop) { [unowned self] in
        self.checkTouched(until: Clock.read().monotonic + DaemonLimits.observing)
    }
    private lazy var alarm = Alarm(loop, log) { [unowned self] in self.storeOutcomes() }

    private struct Watched {
        var schedule: Schedule
        let run: ScheduleInstant
        /// Number of unfinished operations: the last count, minus those that have finished since.
        var left: Int
    }

    /// Time for which outcomes are collected before they are stored. After a crash they are determined again.
    private static let gathering = TimeSpan.milliseconds(200)
    /// Number of records after which the oldest are removed.
    static let recordsBetweenRemovals = 1000

    init(of schedules: Schedules, removeGraphs: @escaping ([GraphID]) -> Void) {
        self.schedules = schedules
        turns = schedules.turns
        store = schedules.store
        history = schedules.history
        loop = schedules.loop
        log = schedules.log
        self.removeGraphs = removeGraphs
    }

    /// Finds the runs that have not finished, when the daemon starts.
    func load() throws {
        let known = Dictionary(schedules.all.map { ($0.id, $0) }) { first, _ in first }
        for run in try history.runsWithoutOutcome() {
            if let schedule = known[run.schedule] { watch(run, of: schedule) }
        }
        checkTouched()
    }

    /// Follows a run that has been stored.
    func watch(_ run: ScheduleInstant, of schedule: Schedule) {
        guard let graph = run.graph.map({ GraphID($0) }) else { return }
        schedule.unfinished.append(run)
        watched[graph] = Watched(schedule: schedule, run: run, left: 0)
        schedule.recordsSinceRemoval += 1
        // The run may have finished in the commit of its submission, whose reports were received before.
        touched.insert(graph)
        check.schedule()
    }

    /// Handles a changed definition of a schedule.
    func replace(_ schedule: Schedule, _ changed: Schedule) {
        for (graph, run) in watched where run.schedule === schedule { watched[graph]?.schedule = changed }
    }

    func forget(_ schedule: Schedule) {
        watched = watched.filter { $0.value.schedule !== schedule }
        ended.removeAll { $0.schedule == schedule.id }
    }

    /// Handles ends and retries of operations, after their commit.
    func receive(_ reports: [Report]) {
        guard !schedules.isEmpty else { return }
        for report in reports where report.kind == .finished || report.kind == .retrying {
            guard let graph = report.graph else { continue }
            if watched[graph] == nil {
                if report.kind == .retrying, report.old == .finished { reopened.insert(graph) }
            } else if report.kind == .finished {
                watched[graph]?.left -= 1
                if watched[graph]?.left ?? 1 <= 0 { touched.insert(graph) }
            }
        }
        if !touched.isEmpty || !reopened.isEmpty { check.schedule() }
    }

    /// Determines which of the touched runs have finished. After `end`, another turn continues.
    func checkTouched(until end: MonotonicInstant? = nil) {
        do throws(StoreError) {
            try watchReopened()
            while let graph = touched.first {
                try checkProgress(of: graph)
                touched.remove(graph)
                if let end, Clock.read().monotonic >= end { break }
            }
            if !touched.isEmpty { check.schedule() }
        } catch {
            turns.enterOutage(error)
        }
        // A read that failed is repeated after the outage.
        let isIncomplete = !ended.isEmpty || !touched.isEmpty || !reopened.isEmpty
        if isIncomplete, alarm.instant == nil { alarm.set(after: Self.gathering) }
    }

    /// Follows a finished run again whose operations were retried. Each turn looks for one, among all records of a
    /// schedule.
    private func watchReopened() throws(StoreError) {
        // While schedules are loaded, that of the run may be missing.
        guard let graph = reopened.first, schedules.loading?.rest.isEmpty ?? true else { return }
        if watched[graph] == nil, var run = try history.instant(of: graph),
            let schedule = schedules.all.first(where: { $0.id == run.schedule })
        {
            run.outcome = nil
            if schedule.latest?.graph == run.graph { schedule.latest = run }
            schedule.keptGraphs?.removeAll { $0 == graph }
            // Without an outcome, the run is also followed after a restart.
            ended.append(run)
            watch(run, of: schedule)
        }
        reopened.remove(graph)
        if !reopened.isEmpty { check.schedule() }
    }

    private func checkProgress(of graph: GraphID) throws(StoreError) {
        guard let run = watched[graph] else { return }
        let state = try history.run(of: run.run)
        if state.isUnfinished {
            watched[graph]?.left = state.unfinished
        } else {
            end(run, state)
        }
    }

    private func end(_ watched: Watched, _ state: ScheduleRun) {
        guard let graph = watched.run.graph.map({ GraphID($0) }) else { return }
        self.watched[graph] = nil
        var run = watched.run
        run.outcome = state.outcome
        if watched.schedule.latest?.graph == run.graph { watched.schedule.latest = run }
        watched.schedule.unfinished.removeAll { $0.graph == run.graph }
        watched.schedule.keptGraphs?.append(graph)
        ended.append(run)
        schedules.runEnded(run, of: watched.schedule, at: state.finishedAt)
    }

    /// Stores outcomes, and removes graphs beyond those that are kept.
    private func storeOutcomes() {
        alarm.set(at: nil)
        if turns.putOff({ [unowned self] in self.storeOutcomes() }) { return }
        guard turns.outage == nil else {
            alarm.set(after: Self.gathering)
            return
        }
        if !touched.isEmpty || !reopened.isEmpty { check.schedule() }
        do {
            try store.storeOutcomes(of: ended)
            let touched = Set(ended.map(\.schedule))
            ended = []
            for schedule in schedules.all where touched.contains(schedule.id) { try removeOld(schedule) }
        } catch let error as StoreError {
            turns.enterOutage(error)
        } catch {
            log.error("schedules: \(error)")
        }
    }

    private func removeOld(_ schedule: Schedule) throws {
        var graphs = try schedule.keptGraphs ?? history.keptGraphs(of: schedule.id)
        let excess = graphs.count - schedule.definition.keep
        if excess > 0 {
            removeGraphs(Array(graphs.prefix(excess)))
            graphs.removeFirst(excess)
        }
        schedule.keptGraphs = graphs
        guard schedule.recordsSinceRemoval >= Self.recordsBetweenRemovals else { return }
        schedule.recordsSinceRemoval = 0
        let own = schedules.all.count { $0.stored.uid == schedule.stored.uid }
        try store.removeRecords(of: schedule.id, beyond: ScheduleLimits.records(ofEach: own))
    }
}

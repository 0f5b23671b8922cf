internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// Follows graphs that have observers, and lets each observer run once: at the first failure, and at the end. After a
/// retry of a finished graph they run again.
final class GraphObservation {
    private let turns: Turns
    private let store: Store
    private let history: History
    private let observers: ObserverRunner
    private let loop: EventLoop
    private let log: DaemonLog
    private var watched: [GraphID: Watched] = [:]
    /// Graphs that may have reached an occasion.
    private var touched: Set<GraphID> = []
    /// Observers that have run, whose run is not stored yet.
    private var ran: [GraphID: Set<GraphObservers.Occasion>] = [:]
    private lazy var check = DeferredWork(loop) { [unowned self] in self.processChanges() }
    private lazy var alarm = Alarm(loop, log) { [unowned self] in self.processChanges() }

    private struct Watched {
        var graph: ObservedGraph
        /// Number of operations that had not finished when they were last counted, without those that have since.
        var left: Int
        /// Observers that wait or run.
        var requested: Set<GraphObservers.Occasion> = []

        /// Returns whether there is an observer that neither has run nor waits to run.
        func owes(_ occasion: GraphObservers.Occasion) -> Bool {
            graph.observers.command(occasion) != nil && !graph.ran.contains(occasion) && !requested.contains(occasion)
        }
    }

    /// Time until the next attempt while the storage is unavailable.
    private static let patience = TimeSpan.seconds(1)

    init(
        turns: Turns, store: Store, history: History, observers: ObserverRunner, loop: EventLoop, log: DaemonLog
    ) {
        self.turns = turns
        self.store = store
        self.history = history
        self.observers = observers
        self.loop = loop
        self.log = log
    }

    /// Finds the graphs whose observers have not all run, when the daemon starts.
    func load() throws {
        for graph in try history.graphsWithOwedObservers() {
            try watch(graph)
            touched.insert(graph)
        }
        processChanges()
    }

    private func watch(_ graph: GraphID) throws(StoreError) {
        guard let row = try history.observedGraph(graph), !row.ran.contains(.finish) else { return }
        // After a retry the operations that are left are counted at the next end.
        watched[graph] = Watched(graph: row, left: row.since == .zero ? row.count : 0)
    }

    /// Handles finishes of operations, after their commit.
    func receive(_ reports: [Report]) {
        // Answers are also published during a long turn, whose graphs can only be read after it.
        guard !turns.isLent else { return }
        do throws(StoreError) {
            for graph in store.popObservedGraphs() where watched[graph] == nil { try watch(graph) }
        } catch { return turns.enterOutage(error) }
        guard !watched.isEmpty else { return }
        for report in reports where report.kind == .finished {
            guard let graph = report.graph, var entry = watched[graph] else { continue }
            entry.left -= 1
            watched[graph] = entry
            let isFailure = report.outcome?.isFailure == true && entry.owes(.failure)
            if entry.left <= 0 || isFailure { touched.insert(graph) }
        }
        if !touched.isEmpty { check.schedule() }
    }

    /// Notes that an observer has run, or that there is none to run.
    func ended(_ occasion: GraphObservers.Occasion, of graph: GraphID) {
        ran[graph, default: []].insert(occasion)
        check.schedule()
    }

    /// Stores which observers have run, and checks the graphs that may have reached an occasion.
    private func processChanges() {
        if turns.putOff({ [unowned self] in self.processChanges() }) { return }
        guard turns.outage == nil else {
            if alarm.instant == nil { alarm.set(after: Self.patience) }
            return
        }
        let end = Clock.read().monotonic + DaemonLimits.observing
        do throws(StoreError) {
            while Clock.read().monotonic < end, let (graph, occasions) = ran.first {
                try recordRun(of: occasions, of: graph)
                ran[graph] = nil
            }
            while Clock.read().monotonic < end, let graph = touched.first {
                try checkProgress(of: graph)
                touched.remove(graph)
            }
            if !ran.isEmpty || !touched.isEmpty { check.schedule() }
        } catch {
            turns.enterOutage(error)
            if alarm.instant == nil { alarm.set(after: Self.patience) }
        }
    }

    private func checkProgress(of graph: GraphID) throws(StoreError) {
        guard var entry = watched[graph] else { return }
        guard let first = try history.firstOperation(of: graph) else {
            watched[graph] = nil
            return
        }
        entry.left = try history.unfinishedCount(of: graph)
        if entry.owes(.failure), let failed = try history.firstFailure(of: graph, since: entry.graph.since) {
            request(.failure, &entry, failed)
        }
        let isOver = entry.left == 0
        if isOver, entry.owes(.finish) {
            // The outcome of the graph includes failures that were not retried.
            request(.finish, &entry, try history.firstFailure(of: graph, since: .zero) ?? first)
        }
        watched[graph] = entry
        // Without an observer of the end, nothing more is to be done once that of the failure has run.
        if isOver, entry.requested.isEmpty, entry.graph.observers.finish == nil {
            try store.setRan([.finish], of: graph)
            watched[graph] = nil
        }
    }

    private func request(_ occasion: GraphObservers.Occasion, _ entry: inout Watched, _ operation: OperationID) {
        entry.requested.insert(occasion)
        observers.observe(.graph(entry.graph.graph, occasion), of: operation)
    }

    private func recordRun(of occasions: Set<GraphObservers.Occasion>, of graph: GraphID) throws(StoreError) {
        if occasions.contains(.finish), try history.unfinishedCount(of: graph) > 0 {
            // The graph was retried while the observer of its end waited or ran.
            try store.restartObservers(of: graph, at: Moment.now().wall)
            try watch(graph)
            return
        }
        try store.setRan(occasions, of: graph)
        guard var entry = watched[graph] else { return }
        entry.requested.subtract(occasions)
        entry.graph.ran.formUnion(occasions)
        watched[graph] = entry.graph.ran.contains(.finish) && entry.requested.isEmpty ? nil : entry
        if watched[graph] != nil, entry.left <= 0 { touched.insert(graph) }
    }
}

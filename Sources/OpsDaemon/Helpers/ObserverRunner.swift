internal import OpsCore
internal import OpsExecutor
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Runs observers after their change is durable: outside the pool, a few at once, each for a bounded time. They never
/// change an outcome. A `finish` observer that a crash has prevented runs after the restart.
final class ObserverRunner {
    enum Occasion: Hashable {
        case start
        case produce(OperationID)
        case finish(run: Int32)
        /// An occasion of the operation's graph.
        case graph(GraphID, GraphObservers.Occasion)
    }

    /// Occasion of an operation, for which all commands run in one process.
    private struct Observer: Hashable {
        let operation: OperationID
        let occasion: Occasion

        var kind: Report.Kind {
            switch occasion {
            case .start: .started
            case .produce: .produced
            case .finish, .graph: .finished
            }
        }

        /// The thing that is observed, for messages.
        var subject: String {
            if case .graph(let graph, _) = occasion {
                "graph g\(graph.rawValue)"
            } else {
                "operation \(operation.rawValue)"
            }
        }

        var product: OperationID? {
            if case .produce(let product) = occasion { product } else { nil }
        }
    }

    private let turns: Turns
    private let history: History
    private let composer: LaunchComposer
    private let runner: RunnerLink
    private let loop: EventLoop
    private let log: DaemonLog
    private let configuration: () -> Configuration
    private let graphObserverEnded: (GraphObservers.Occasion, GraphID) -> Void
    /// Observers whose owners are not known yet.
    private var requested = Backlog<Observer>()
    private var waiting = FairBacklog<Observer>(slots: DaemonLimits.observersAtOnce)
    /// Observers that wait or run, and that are requested again after an outage.
    private var owed: Set<Observer> = []
    private lazy var admission = DeferredWork(loop) { [unowned self] in self.admitRequested() }

    /// Number of owners that are looked up in one turn: one commit may request an observer for each of its operations.
    private static let ownersInATurn = 1000

    /// `configuration`: returns the present one. `graphObserverEnded` is called when an observer of a graph has run, or
    /// if there is none to run.
    init(
        turns: Turns, history: History, composer: LaunchComposer, runner: RunnerLink, loop: EventLoop, log: DaemonLog,
        configuration: @escaping () -> Configuration,
        graphObserverEnded: @escaping (GraphObservers.Occasion, GraphID) -> Void
    ) {
        self.turns = turns
        self.history = history
        self.composer = composer
        self.runner = runner
        self.loop = loop
        self.log = log
        self.configuration = configuration
        self.graphObserverEnded = graphObserverEnded
    }

    var isIdle: Bool { requested.isEmpty && waiting.running == 0 && waiting.isEmpty }

    func observe(_ occasion: Occasion, of operation: OperationID) {
        let observer = Observer(operation: operation, occasion: occasion)
        if observer.kind == .finished, !owed.insert(observer).inserted { return }
        requested.append(observer)
        admission.schedule()
    }

    /// Looks up the owners of requested observers, since users take turns, and starts the first.
    private func admitRequested() {
        for observer in requested.removeFirst(atMost: Self.ownersInATurn) {
            do throws(StoreError) {
                // An operation that was removed has no observer: see `begin`.
                waiting.append(observer, of: try history.owner(of: observer.operation) ?? 0)
            } catch {
                waiting.append(observer, of: 0)
                turns.enterOutage(error)
            }
        }
        if !requested.isEmpty { admission.schedule() }
        startNext()
    }

    /// Starts waiting observers if there are free slots and a runner.
    func startNext() {
        let end = Clock.read().monotonic + DaemonLimits.observing
        while runner.isConnected, let (observer, user) = waiting.start() {
            do {
                if try begin(observer, of: user) { continue }
                complete(observer)
            } catch let error as StoreError {
                waiting.end(of: user)
                waiting.append(observer, of: user)
                return turns.enterOutage(error)
            } catch {
                log.warning("observer of \(observer.subject): \(error)")
                complete(observer)
            }
            waiting.end(of: user)
            // Very many may have no command, if opsd.conf has changed.
            if Clock.read().monotonic >= end { return admission.schedule() }
        }
    }

    /// Starts the observer, which frees its slot at its end. Returns false if there is none to start.
    private func begin(_ observer: Observer, of user: UInt32) throws -> Bool {
        guard let texts = try history.texts(of: observer.operation),
            let record = try history.recordAlone(of: observer.operation)
        else { return false }
        if case .graph(let graph, let occasion) = observer.occasion {
            return try begin(observer, graph, occasion, record, of: user)
        }
        let own = try composer.details(of: texts).observers(observer.occasion, record.outcome)
        let commands = own + configured(observer, record)
        guard !commands.isEmpty else { return false }
        let arguments = Self.arguments(commands)
        let event = try self.event(observer, record)
        guard
            let request = try composer.helper(
                of: observer.operation, arguments, adding: ["OPS_EVENT=\(event)"])
        else { return false }
        try run(request, observer, of: user)
        return true
    }

    private func run(_ request: LaunchRequest, _ observer: Observer, of user: UInt32) throws {
        let attempt = try runner.helpers.start(request, timeout: DaemonLimits.longestObserver) {
            [unowned self] result in
            self.waiting.end(of: user)
            self.ended(observer, of: user, result)
            self.startNext()
        }
        if attempt == nil {
            waiting.end(of: user)
            waiting.append(observer, of: user)
        }
    }

    /// Starts an observer of a graph.
    private func begin(
        _ observer: Observer, _ graph: GraphID, _ occasion: GraphObservers.Occasion, _ record: OperationRecord,
        of user: UInt32
    ) throws -> Bool {
        guard let observed = try history.observedGraph(graph), let command = observed.observers.command(occasion)
        else { return false }
        let event = try GraphEvent(observed, occasion, record, history.progress(of: graph))
        guard
            let request = try composer.helper(
                of: observer.operation, Self.arguments([try stringArray(command)]), adding: event.variables,
                asSubmitter: true)
        else { return false }
        try run(request, observer, of: user)
        return true
    }

    /// Returns the commands of opsd.conf for this finish.
    private func configured(_ observer: Observer, _ record: OperationRecord) -> [[String]] {
        guard observer.kind == .finished, !record.isGroup else { return [] }
        let configuration = configuration()
        let commands = [configuration.onFinish, record.outcome?.isFailure == true ? configuration.onFailure : ""]
        return commands.filter { !$0.isEmpty }.map { ["/bin/sh", "-c", $0] }
    }

    /// Returns the arguments of a shell that runs the commands one after the other, each with the event on standard
    /// input. The shell has the event in its environment, so that neither a file nor a second process is needed.
    private static func arguments(_ commands: [[String]]) -> [String] {
        let feed = "printf '%s\\n' \"$OPS_EVENT\" | "
        if commands.count == 1 { return ["/bin/sh", "-c", feed + "\"$@\"", "opsd-observer"] + commands[0] }
        let script = "status=0; for each; do \(feed)/bin/sh -c \"$each\" || status=$?; done; exit $status"
        return ["/bin/sh", "-c", script, "opsd-observer"] + commands.map(shellText)
    }

    /// Returns a command as a shell reads it.
    private static func shellText(_ command: [String]) -> String {
        command.map(ShellWord.quoted).joined(separator: " ")
    }

    private func ended(_ observer: Observer, of user: UInt32, _ result: HelperResult) {
        switch result {
        case .code(0): break
        // The runner was lost, so the observer may not have run, and runs again.
        case .lost: return waiting.append(observer, of: user)
        case .code, .signal, .timedOut, .cannotStart:
            log.warning("observer of \(observer.subject) \(result.text)")
        }
        complete(observer)
    }

    private func complete(_ observer: Observer) {
        owed.remove(observer)
        switch observer.occasion {
        case .finish(let run): turns.record(.observed(observer.operation, run: run))
        case .graph(let graph, let occasion): graphObserverEnded(occasion, graph)
        case .start, .produce: break
        }
    }

    /// Returns the event as `watch --json` prints it. The event of an end also has the cause.
    private func event(_ observer: Observer, _ record: OperationRecord) throws -> String {
        var row =
            try history.newestEvent(
                observer.kind, of: observer.operation, product: observer.product, amongLast: DaemonLimits.eventsSearched
            ).map(EventTranslation().row) ?? bare(observer, record)
        if observer.kind == .finished { row.detail = record.cause }
        var writer = JSONWriter()
        row.write(to: &writer)
        return writer.text
    }

    /// Returns the row of an event that is too old to be found, or was pruned.
    private func bare(_ observer: Observer, _ record: OperationRecord) -> EventRow {
        .with { row in
            row.seq = turns.core?.lastSequence ?? 0
            row.at = InstantText.format(record.finishedAt ?? Moment.now().wall)
            row.id = observer.operation.rawValue
            row.graph = record.graph.reference
            row.type = EventType(observer.kind)
            row.product = observer.product?.rawValue
            if observer.kind == .started { row.attempt = Int(record.attempt) }
            guard observer.kind == .finished else { return }
            row.new = .finished
            row.outcome = record.outcome.map { OutcomeName($0) }
            row.notNeeded = record.outcome == .notNeeded
        }
    }
}

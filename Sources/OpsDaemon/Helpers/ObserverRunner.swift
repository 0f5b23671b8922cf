internal import OpsCore
internal import OpsExecutor
internal import OpsStore
internal import OpsSystem
internal import OpsWire

/// Runs observers after their change is durable: outside the pool, a few at once, each for a bounded time. They never
/// change an outcome. A `finish` observer that a crash has prevented runs after the restart.
final class ObserverRunner {
    enum Occasion: Hashable {
        case start
        case produce(OperationID)
        case finish(run: Int32)
        /// A moment of the operation's graph.
        case graph(GraphID, GraphObservers.Moment)
    }

    private struct Order: Hashable {
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
    private let log: DaemonLog
    private let configuration: () -> Configuration
    private let graphObserverEnded: (GraphObservers.Moment, GraphID) -> Void
    private var orders = FairBacklog<Order>(slots: DaemonLimits.observersAtOnce)
    /// Observers that wait or run, and that are requested again after an outage.
    private var owed: Set<Order> = []

    /// `configuration`: returns the present one. `graphObserverEnded` is called when an observer of a graph has run, or
    /// if there is none to run.
    init(
        turns: Turns, history: History, composer: LaunchComposer, runner: RunnerLink, log: DaemonLog,
        configuration: @escaping () -> Configuration,
        graphObserverEnded: @escaping (GraphObservers.Moment, GraphID) -> Void
    ) {
        self.turns = turns
        self.history = history
        self.composer = composer
        self.runner = runner
        self.log = log
        self.configuration = configuration
        self.graphObserverEnded = graphObserverEnded
    }

    var isIdle: Bool { orders.running == 0 && orders.isEmpty }

    func observe(_ occasion: Occasion, of operation: OperationID) {
        let order = Order(operation: operation, occasion: occasion)
        if order.kind == .finished, !owed.insert(order).inserted { return }
        do throws(StoreError) {
            // An operation that was removed has no observer: see `begin`.
            let owner = try history.owners(of: [order.operation])[order.operation]
            orders.append(order, of: owner ?? 0)
        } catch {
            orders.append(order, of: 0)
            return turns.enterOutage(error)
        }
        startNext()
    }

    /// Starts waiting observers if there are free slots and a runner.
    func startNext() {
        while runner.isConnected, let (order, user) = orders.start() {
            do {
                if try begin(order, of: user) { continue }
                complete(order)
            } catch let error as StoreError {
                orders.end(of: user)
                orders.append(order, of: user)
                return turns.enterOutage(error)
            } catch {
                log.warning("observer of \(order.subject): \(error)")
                complete(order)
            }
            orders.end(of: user)
        }
    }

    /// Starts the observer, which frees its slot at its end. Returns false if there is none to start.
    private func begin(_ order: Order, of user: UInt32) throws -> Bool {
        guard let texts = try history.texts(of: order.operation),
            let record = try history.recordAlone(of: order.operation)
        else { return false }
        if case .graph(let graph, let moment) = order.occasion {
            return try begin(order, graph, moment, record, of: user)
        }
        let own = try composer.details(of: texts).observers(order.occasion, record.outcome)
        let commands = own + configured(order, record)
        guard !commands.isEmpty else { return false }
        let arguments = Self.arguments(commands)
        let event = try self.event(order)
        guard
            let request = try composer.helper(
                of: order.operation, arguments, adding: ["OPS_EVENT=\(event)"])
        else { return false }
        try run(request, order, of: user)
        return true
    }

    private func run(_ request: LaunchRequest, _ order: Order, of user: UInt32) throws {
        let attempt = try runner.helpers.start(request, timeout: DaemonLimits.observer) {
            [unowned self] result in
            self.orders.end(of: user)
            self.ended(order, of: user, result)
            self.startNext()
        }
        if attempt == nil {
            orders.end(of: user)
            orders.append(order, of: user)
        }
    }

    /// Starts an observer of a graph.
    private func begin(
        _ order: Order, _ graph: GraphID, _ moment: GraphObservers.Moment, _ record: OperationRecord, of user: UInt32
    ) throws -> Bool {
        guard let observed = try history.observedGraph(graph), let command = observed.observers.command(moment)
        else { return false }
        let event = try GraphEvent(observed, moment, record, history.progress(of: graph, since: observed.since))
        guard
            let request = try composer.helper(
                of: order.operation, Self.arguments([try stringArray(command)]), adding: event.variables,
                asSubmitter: true)
        else { return false }
        try run(request, order, of: user)
        return true
    }

    /// Returns the commands of opsd.conf for this finish.
    private func configured(_ order: Order, _ record: OperationRecord) -> [[String]] {
        guard order.kind == .finished, !record.isGroup else { return [] }
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
        command.map { word in
            "'" + word.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
        }.joined(separator: " ")
    }

    private func ended(_ order: Order, of user: UInt32, _ result: HelperResult) {
        switch result {
        case .code(0): break
        // The runner was lost, so the observer may not have run, and runs again.
        case .lost: return orders.append(order, of: user)
        case .code, .signal, .timedOut, .cannotStart:
            log.warning("observer of \(order.subject) ended with \(result)")
        }
        complete(order)
    }

    private func complete(_ order: Order) {
        owed.remove(order)
        switch order.occasion {
        case .finish(let run): turns.record(.observed(order.operation, run: run))
        case .graph(let graph, let moment): graphObserverEnded(moment, graph)
        case .start, .produce: break
        }
    }

    /// Returns the event as `watch --json` prints it, with the present values of the operation.
    private func event(_ order: Order) throws -> String {
        guard let record = try history.recordAlone(of: order.operation) else { return "{}" }
        var row =
            try history.newestEvent(
                order.kind, of: order.operation, product: order.product, amongLast: DaemonLimits.eventsSearched
            ).map(EventTranslation().row) ?? bare(order, record)
        row.attempt = Int(record.attempt)
        row.queue = record.queue
        if order.kind == .finished { row.detail = record.cause }
        var writer = JSONWriter()
        row.write(to: &writer)
        return writer.text
    }

    /// Returns the row of an event that is too old to be found, or was pruned.
    private func bare(_ order: Order, _ record: OperationRecord) -> EventRow {
        .with { row in
            row.seq = turns.core?.lastSequence ?? 0
            row.at = InstantText.format(record.finishedAt ?? Moment.now().wall)
            row.id = order.operation.rawValue
            row.graph = record.graph.reference
            row.type = EventType(order.kind)
            row.product = order.product?.rawValue
            guard order.kind == .finished else { return }
            row.new = .finished
            row.outcome = record.outcome.map { OutcomeName($0) }
            row.notNeeded = record.outcome == .notNeeded
        }
    }
}

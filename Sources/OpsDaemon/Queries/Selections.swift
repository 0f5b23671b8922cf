internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Operations that a request named.
struct Selected: Sendable {
    var ids: [OperationID]
    /// True if one operation was named by its id or its name: then it is an error if it cannot be changed.
    var isSingle: Bool
    /// States and queue of the selection, if it names any. Those of an operation may have changed since.
    var states: Set<OperationState>?
    var queue: String?

    /// Bytes of the ids, and of the request that is made of them.
    var heldBytes: Int { 2 * ids.count * MemoryLayout<OperationID>.stride }

    init(ids: [OperationID], isSingle: Bool) {
        self.ids = ids
        self.isSingle = isSingle
    }

    /// Returns the operations that are unfinished and still match the selection. An operation that was named stays, and
    /// is refused by itself.
    func present(in core: Scheduler) -> [OperationID] {
        if isSingle { return ids }
        return ids.filter { id in
            guard let current = core.state(of: id) else { return false }
            return (states?.contains(current) ?? true) && (queue == nil || core.queue(of: id) == queue)
        }
    }
}

/// Finds in the store what clients name: operations by id, range or name, graphs, and whole selections. The scheduler
/// knows the queues: `Turns.requireQueue` has checked them before.
///
/// A name means the newest operation or graph of the caller with that name, and the newest of all users only if the
/// caller has none: no user can take the name of another user's operation.
struct Selections {
    let history: History
    private let user: UInt32

    init(_ history: History, for caller: Caller) {
        self.history = history
        user = caller.user
    }

    // MARK: One thing

    /// Returns the operation that a reference names: `12`, `build`, `build@g3`, `build@nightly`.
    func operation(_ ref: String) throws -> OperationID {
        // A name may begin with a hyphen.
        if !ref.hasPrefix("-"), let number = Int64(ref) {
            let id = OperationID(number)
            guard try history.owner(of: id) != nil else {
                throw ControlError.notFound(kind: "operation", name: ref, nearest: nil)
            }
            return id
        }
        let parts = ref.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        let id =
            try parts.count == 2
            ? history.newest(named: parts[0], in: graph(parts[1])) : history.newest(named: parts[0], for: user)
        guard let id else {
            throw ControlError.notFound(kind: "operation", name: ref, nearest: try nearestOperation(to: parts[0]))
        }
        return id
    }

    /// Returns everything that is stored of an operation.
    func record(_ ref: String) throws -> OperationRecord {
        guard let record = try history.record(of: operation(ref)) else {
            throw ControlError.notFound(kind: "operation", name: ref, nearest: nil)
        }
        return record
    }

    /// Returns an operation; a name without a graph means an operation of `graph`.
    func operation(_ ref: String, inOrOutside graph: GraphID?) throws -> OperationID {
        guard let graph, Int64(ref) == nil, !ref.utf8.contains(UInt8(ascii: "@")) else { return try operation(ref) }
        return try operation("\(ref)@g\(graph.rawValue)")
    }

    /// Returns the graph that a reference names: `g7`, `7` or a name.
    func graph(_ ref: String) throws -> GraphID {
        if let id = GraphID(reference: ref), try history.firstOperation(of: id) != nil { return id }
        guard let id = try history.newestGraph(named: ref, for: user) else {
            throw ControlError.notFound(kind: "graph", name: ref, nearest: try nearestGraph(to: ref))
        }
        return id
    }

    private func nearestOperation(to name: String) throws -> String? {
        let known = try Self.beginnings(of: name).flatMap {
            try history.operationNames(prefix: $0, limit: Self.candidates, looked: Self.candidates)
        }
        return Nearest.name(to: name, among: known)
    }

    private func nearestGraph(to name: String) throws -> String? {
        let known = try Self.beginnings(of: name).flatMap {
            try history.graphNames(prefix: $0, limit: Self.candidates, looked: Self.candidates)
        }
        return Nearest.name(to: name, among: known)
    }

    /// Returns the beginnings of the names to which a mistyped name is compared.
    private static func beginnings(of name: String) -> [String] { [String(name.prefix(2)), String(name.prefix(1))] }
    /// Number of candidates for each beginning.
    private static let candidates = 500

    // MARK: Many

    /// Translates a selection for the store; nil if it selects nothing at all.
    func query(_ selection: OpsWire.Selection?) throws -> OpsStore.Selection? {
        guard let selection else { return nil }
        try selection.checkBounds()
        var query = OpsStore.Selection()
        var isEmpty = !(selection.all ?? false)
        if let refs = selection.refs {
            isEmpty = false
            query.ids = try refs.map(range)
        }
        if let graph = selection.graph {
            isEmpty = false
            query.graph = try self.graph(graph)
        }
        if let queue = selection.queue {
            isEmpty = false
            query.queue = queue
        }
        if let state = selection.state {
            isEmpty = false
            let standings = try state.split(separator: ",", omittingEmptySubsequences: false).flatMap {
                try Self.standings(String($0))
            }
            // A single state is found by its index, and checked again when the operations are changed.
            if standings.count == 1, case .state(let state)? = standings.first {
                query.state = state
            } else {
                query.standings = Set(standings)
            }
        }
        if let outcome = selection.outcome {
            isEmpty = false
            let outcomes = try outcome.split(separator: ",", omittingEmptySubsequences: false).map {
                try Self.outcome(String($0))
            }
            if outcomes.count == 1 { query.outcome = outcomes[0] } else { query.outcomes = Set(outcomes) }
        }
        if let user = selection.user {
            isEmpty = false
            query.user = user
        }
        for label in selection.labels?.entries ?? [] {
            isEmpty = false
            query.labels[label.name] = label.value
        }
        return isEmpty ? nil : query
    }

    /// Returns the ids that a reference or a range such as `10-20` names.
    private func range(_ ref: String) throws -> ClosedRange<Int64> {
        let ends = ref.split(separator: "-", omittingEmptySubsequences: false)
        if ends.count == 2, let first = Int64(ends[0]), let last = Int64(ends[1]) {
            guard first <= last else {
                throw ControlError.notFound(kind: "range", name: ref, nearest: "\(last)-\(first)")
            }
            return first...last
        }
        let id = try operation(ref).rawValue
        return id...id
    }

    /// Returns the standings that a word means: a state, an outcome, or a word that `opsctl` displays.
    private static func standings(_ word: String) throws -> [Standing] {
        switch word {
        case "held": return [.held]
        case "scheduled": return [.scheduled]
        case "cancelling": return [.cancelling]
        case "frozen": return [.frozen]
        case "waiting": return [.state(.pending), .state(.ready)]
        case "active": return [.state(.pending), .state(.ready), .state(.executing)]
        default: break
        }
        if let state = OperationState.allCases.first(where: { StateName($0).rawValue == word }) {
            return [.state(state)]
        }
        if let outcome = outcomes[word] { return [.outcome(outcome)] }
        let known =
            OperationState.allCases.map { StateName($0).rawValue }
            + ["held", "scheduled", "cancelling", "frozen", "waiting", "active"] + outcomes.keys.sorted()
        throw ControlError.notFound(kind: "state", name: word, nearest: Nearest.name(to: word, among: known))
    }

    private static func outcome(_ word: String) throws -> Outcome {
        if let outcome = outcomes[word] { return outcome }
        throw ControlError.notFound(
            kind: "outcome", name: word, nearest: Nearest.name(to: word, among: outcomes.keys.sorted()))
    }

    /// Outcomes by their names. `skipped` includes operations that were not needed.
    private static let outcomes: [String: Outcome] = {
        var words: [String: Outcome] = ["not needed": .notNeeded, "notNeeded": .notNeeded]
        for outcome in Outcome.allCases where outcome != .notNeeded { words[OutcomeName(outcome).rawValue] = outcome }
        return words
    }()

    /// The level that a selection of only a graph or only a queue names; nil: it names operations.
    func level(_ selection: OpsWire.Selection?) throws -> Level? {
        guard let selection, selection != OpsWire.Selection() else { return .daemon }
        var rest = selection
        rest.graph = nil
        rest.queue = nil
        guard rest == OpsWire.Selection() else { return nil }
        switch (selection.graph, selection.queue) {
        case (let graph?, nil): return .graph(try self.graph(graph))
        case (nil, let queue?): return .queue(queue)
        default: return nil
        }
    }
}

extension OpsWire.Selection {
    /// True if it has references and nothing that narrows them.
    var isOnlyRefs: Bool {
        graph == nil && queue == nil && state == nil && outcome == nil && (labels?.entries ?? []).isEmpty && user == nil
    }
}

extension Turns {
    /// Refuses a queue that does not exist.
    func requireQueue(_ name: String?) throws(ControlError) {
        guard let name, !hasQueue(name) else { return }
        throw .notFound(kind: "queue", name: name, nearest: nearestQueue(to: name))
    }

    /// Returns true if an operation is in a queue, or was when it ended.
    func isOperation(_ id: OperationID, inQueue name: String) throws(StoreError) -> Bool {
        if let queue = core?.queue(of: id) { return queue == name }
        // The operation has finished in the commit that submitted it.
        var query = OpsStore.Selection()
        query.ids = [id.rawValue...id.rawValue]
        query.queue = name
        return try !history.select(query, limit: 1).isEmpty
    }
}

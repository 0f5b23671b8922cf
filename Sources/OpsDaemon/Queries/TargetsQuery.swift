internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Reads the operations that a request is about: the selected ones and, if the request changes something, only those
/// that the caller may change. An operation of another user that was named is refused.
struct TargetsQuery: Query {
    private let selection: OpsWire.Selection
    private let wanted: Wanted
    /// Nil if the request changes nothing.
    private let authorization: Authorization?
    private let caller: Caller
    /// Cursors of the selections still to be read, the next first; nil before the first read.
    private var cursors: [SelectionCursor]?
    private var found = Selected(ids: [], isSingle: false)

    var heldBytes: Int { found.heldBytes }

    enum Wanted {
        case unfinished
        /// Finished operations; if they were not named, only those that did not succeed.
        case unsuccessful
        case all
    }

    init(_ selection: OpsWire.Selection, _ wanted: Wanted, _ authorization: Authorization?, _ caller: Caller) {
        self.selection = selection
        self.wanted = wanted
        self.authorization = authorization
        self.caller = caller
    }

    mutating func proceed(_ history: History) throws -> Selected? {
        guard cursors != nil else { return try begin(history) }
        guard var cursor = cursors?.first else {
            found.ids.sort()
            return found
        }
        let next = try cursor.next(history, limit: .max)
        cursors?[0] = cursor
        if cursor.isAtEnd { cursors?.removeFirst() }
        found.ids += try changeable(next, history)
        return nil
    }

    private mutating func begin(_ history: History) throws -> Selected? {
        guard var query = try Selections(history, for: caller).query(selection) else {
            throw ControlError.invalidOperation([
                .with { $0.message = "nothing is selected; name operations, or use all" }
            ])
        }
        if let only = query.ids, only.count == 1, let id = only.first?.lowerBound, id == only.first?.upperBound,
            selection.isOnlyRefs
        {
            let id = OperationID(id)
            try authorization?.requireChange(caller, of: id, in: history)
            return Selected(ids: [id], isSingle: true)
        }
        found.queue = query.queue
        if let state = query.state { found.states = [state] }
        if !query.standings.isEmpty { found.states = Set(query.standings.flatMap(\.states)) }
        switch wanted {
        case .unfinished:
            let states = [OperationState.pending, .ready, .executing].filter { query.state ?? $0 == $0 }
            cursors = states.map { state in
                query.state = state
                return SelectionCursor(query)
            }
        case .unsuccessful:
            query.isUnsuccessful = !selection.isOnlyRefs || selection.refs == nil
            if query.state == nil { query.state = .finished }
            cursors = query.state == .finished ? [SelectionCursor(query)] : []
        case .all: cursors = [SelectionCursor(query)]
        }
        return nil
    }

    private func changeable(_ ids: [OperationID], _ history: History) throws -> [OperationID] {
        guard let authorization, !authorization.isPrivileged(caller) else { return ids }
        let owners = try history.owners(of: ids)
        return ids.filter { authorization.mayChange(caller, ownedBy: owners[$0] ?? 0) }
    }
}

/// Reads the target of `Suspend` and `Resume`: the daemon, a queue, a graph, or operations. Refuses a target that the
/// caller may not change.
struct LevelQuery: Query {
    enum Target: Sendable {
        case level(Level)
        case selected(Selected)
    }

    private let selection: OpsWire.Selection?
    private let authorization: Authorization
    private let caller: Caller
    private var targets: TargetsQuery?

    var heldBytes: Int { targets?.heldBytes ?? 0 }

    init(_ selection: OpsWire.Selection?, _ authorization: Authorization, _ caller: Caller) {
        self.selection = selection
        self.authorization = authorization
        self.caller = caller
    }

    mutating func proceed(_ history: History) throws -> Target? {
        if targets != nil { return try targets?.proceed(history).map { .selected($0) } }
        guard let level = try Selections(history, for: caller).level(selection) else {
            targets = TargetsQuery(selection ?? OpsWire.Selection(), .unfinished, authorization, caller)
            return nil
        }
        switch level {
        case .daemon: try authorization.requirePrivilege(caller, to: "suspend and resume the daemon")
        case .queue: try authorization.requirePrivilege(caller, to: "suspend and resume queues")
        case .graph(let graph):
            if let first = try history.firstOperation(of: graph) {
                try authorization.requireChange(caller, of: first, in: history)
            }
        case .operations: break
        }
        return .level(level)
    }
}

/// Finds the selected operations that are cancelled or about to be.
struct CancelledQuery: Query {
    private let ids: [OperationID]
    private var count = 0
    private var cancelled: [OperationID] = []

    var heldBytes: Int { (ids.count + cancelled.count) * MemoryLayout<OperationID>.stride }

    init(_ ids: [OperationID]) { self.ids = ids }

    mutating func proceed(_ history: History) throws -> [OperationID]? {
        let next = Array(ids[count...].prefix(500))
        count += next.count
        cancelled += try history.nodes(of: next).filter { $0.outcome == nil || $0.outcome == .cancelled }.map(\.id)
        return count == ids.count ? cancelled : nil
    }
}

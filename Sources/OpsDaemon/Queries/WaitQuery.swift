internal import OpsCore
internal import OpsStore
internal import OpsWire

/// The beginning of a `Wait`: finished operations, unfinished ones, and the event up to which that is true.
struct WaitStart: Sendable {
    var scope: WaitScope
    var finishes: CountedFinishes
    var sequence: Int64

    /// Memory of a wait while it is unfinished, in bytes.
    var heldBytes: Int { scope.heldBytes + finishes.heldBytes }

    /// Applies later reports. `isIn` returns whether an operation is in a queue.
    mutating func apply(_ reports: [Report], isIn: (OperationID, String) throws(StoreError) -> Bool) throws {
        for report in reports {
            guard report.sequence == sequence + 1 else {
                throw ControlError.busy("events were pruned while the operations were looked up; wait again")
            }
            sequence = report.sequence
            if try scope.apply(report, isIn: isIn) { finishes.add(report) }
        }
    }
}

/// Finds the operations that a `Wait` is about, and the outcomes of finished ones.
struct WaitQuery: Query {
    private let selection: OpsWire.Selection
    private let waitsForAny: Bool
    private var targets: TargetsQuery
    private var sequence: Int64?
    private var level: Level?
    /// The unsuccessful operations of a queue that are still stored.
    private var unsuccessful: SelectionCursor?
    private var selected: [OperationID]?
    private var count = 0
    private var outcomes: [OperationID: Outcome] = [:]
    private var start: WaitStart?

    var heldBytes: Int {
        start?.heldBytes ?? (targets.heldBytes + (selected?.count ?? 0) * 8 + outcomes.count * 2 * 16)
    }

    /// Number of events that one step examines.
    static let events = 1000

    init(_ selection: OpsWire.Selection, any: Bool, _ caller: Caller) {
        self.selection = selection
        waitsForAny = any
        targets = TargetsQuery(selection, .all, nil, caller)
        self.caller = caller
    }

    private let caller: Caller

    mutating func proceed(_ history: History) throws -> WaitStart? {
        if start != nil { return try catchUp(history) }
        guard selected != nil else {
            try select(history)
            return nil
        }
        guard var cursor = unsuccessful else {
            try readOutcomes(history)
            return nil
        }
        selected? += try cursor.next(history, limit: .max)
        unsuccessful = cursor.isAtEnd ? nil : cursor
        return nil
    }

    /// Selects the operations of a graph or a queue whose finishes count, so that the answer does not depend on the
    /// time of the request. Succeeded operations of a queue are not read, since they may be very many.
    private mutating func select(_ history: History) throws {
        if sequence == nil {
            sequence = try history.lastSequence()
            level = try Selections(history, for: caller).level(selection)
            if case .queue = level { targets = TargetsQuery(selection, .unfinished, nil, caller) }
        }
        guard let found = try targets.proceed(history) else { return }
        selected = found.ids
        guard case .queue(let name) = level, !waitsForAny || found.ids.isEmpty else { return }
        var query = OpsStore.Selection()
        query.queue = name
        query.isUnsuccessful = true
        unsuccessful = SelectionCursor(query)
    }

    private mutating func readOutcomes(_ history: History) throws {
        let selected = selected ?? []
        let next = Array(selected[count...].prefix(1000))
        count += next.count
        outcomes.merge(try history.outcomes(of: next)) { $1 }
        guard count == selected.count else { return }
        let extent: WaitScope.Extent =
            switch level {
            case .graph(let graph): .graph(graph)
            case .queue(let name): .queue(name)
            case .daemon, .operations, nil: .operations(Set(selected))
            }
        let ended = selected.filter { outcomes[$0] != nil }
        let counted = waitsForAny ? Array(ended.prefix(1)) : ended
        start = WaitStart(
            scope: WaitScope(extent, unfinished: Set(selected.filter { outcomes[$0] == nil })),
            finishes: CountedFinishes(
                counted, unsuccessful: Set(counted.filter { outcomes[$0]?.isUnsuccessful ?? false }),
                waitsForAny: waitsForAny),
            sequence: sequence ?? 0)
    }

    /// Applies the events since the reading began, except for the last few, which the loop applies.
    private mutating func catchUp(_ history: History) throws -> WaitStart? {
        let events = try history.events(after: start?.sequence ?? 0, limit: Self.events)
        try start?.apply(events) { (id, queue) throws(StoreError) in
            var one = OpsStore.Selection()
            one.ids = [id.rawValue...id.rawValue]
            one.queue = queue
            return try !history.select(one, limit: 1).isEmpty
        }
        return events.count < Self.events ? start : nil
    }
}

/// Reads the finishes of operations, in the given order.
struct EndedQuery: Query {
    private let ids: [OperationID]
    private var count = 0
    private var rows: [EndedRow] = []

    /// Bytes of the rows, and of the answer that is made of them.
    var heldBytes: Int { ids.count * 8 + rows.count * 2 * MemoryLayout<EndedRow>.stride }

    init(_ ids: [OperationID]) { self.ids = ids }

    mutating func proceed(_ history: History) throws -> [EndedRow]? {
        let next = Array(ids[count...].prefix(500))
        count += next.count
        rows += try history.ends(of: next).map { EndedRow($0) }
        return count == ids.count ? rows : nil
    }
}

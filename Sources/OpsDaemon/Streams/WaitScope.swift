internal import OpsCore
internal import OpsStore

/// Operations that a `Wait` waits for, counted down by the reports of each commit.
struct WaitScope: Sendable {
    enum Extent: Equatable, Sendable {
        /// Operations that were selected at the call.
        case operations(Set<OperationID>)
        /// All operations of a graph, also those that are added meanwhile.
        case graph(GraphID)
        case queue(String)
    }

    let extent: Extent
    /// Unfinished operations of the extent.
    private(set) var unfinished: Set<OperationID>

    init(_ extent: Extent, unfinished: Set<OperationID>) {
        self.extent = extent
        self.unfinished = unfinished
    }

    var remaining: Int { unfinished.count }

    /// Bytes of the sets.
    var heldBytes: Int {
        guard case .operations(let all) = extent else { return unfinished.count * 2 * 16 }
        return (all.count + unfinished.count) * 2 * 16
    }

    /// Applies a report. Returns true if it is about a finish that this wait counts. `isIn` returns whether an
    /// operation is in a queue.
    mutating func apply(
        _ report: Report, isIn: (OperationID, String) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        guard let operation = report.operation else { return false }
        if report.new == .finished { return unfinished.remove(operation) != nil }
        switch extent {
        // A retry makes an operation unfinished again.
        case .operations(let selected):
            if report.new != nil, selected.contains(operation) { unfinished.insert(operation) }
        case .graph(let graph): if report.new != nil, report.graph == graph { unfinished.insert(operation) }
        case .queue(let name):
            let isMoved = report.kind == .edited && report.detail == "queue"
            guard isMoved || report.new != nil && !unfinished.contains(operation) else { break }
            if try isIn(operation, name) { unfinished.insert(operation) } else { unfinished.remove(operation) }
        }
        return false
    }
}

/// Finishes that a `Wait` has counted.
struct CountedFinishes: Sendable {
    private let waitsForAny: Bool
    /// Finishes that are not reported yet, in order; each operation once, even if it was retried.
    var ended: Backlog<OperationID>
    private var unreported: Set<OperationID>
    /// Operations whose last outcome was not a success.
    private(set) var unsuccessful: Set<OperationID>
    private var hasAny: Bool

    /// `ended`: the first finishes, in the order in which they are reported.
    init(_ ended: [OperationID], unsuccessful: Set<OperationID>, waitsForAny: Bool) {
        self.waitsForAny = waitsForAny
        self.ended = Backlog(ended)
        unreported = Set(ended)
        self.unsuccessful = unsuccessful
        hasAny = !ended.isEmpty
    }

    /// True if the wait ends with any of its operations, and one has finished.
    var isEnough: Bool { waitsForAny && hasAny }

    /// Bytes of the list and the sets.
    var heldBytes: Int { ended.count * 8 + (unreported.count + unsuccessful.count) * 2 * 16 }

    /// Counts the finish that a report is about, unless an earlier one is enough.
    mutating func add(_ report: Report) {
        guard let operation = report.operation, !isEnough else { return }
        hasAny = true
        if unreported.insert(operation).inserted { ended.append(operation) }
        if report.outcome?.isUnsuccessful == false {
            unsuccessful.remove(operation)
        } else {
            unsuccessful.insert(operation)
        }
    }

    /// Removes and returns the finishes to report next. Their operations are reported again if they finish again.
    mutating func popNext(atMost limit: Int) -> ArraySlice<OperationID> {
        let batch = ended.removeFirst(atMost: limit)
        unreported.subtract(batch)
        return batch
    }
}

internal import OpsCore
internal import OpsStore

/// Operations that a `Wait` waits for, counted down by the reports of each commit.
struct WaitScope: Sendable {
    enum Extent: Equatable, Sendable {
        /// Operations that were selected when the call came.
        case operations(Set<OperationID>)
        /// Until nothing in it is unfinished, what is added meanwhile too.
        case graph(GraphID)
        case queue(String)
    }

    let extent: Extent
    /// Unfinished ones among `operations`, or of a graph or queue.
    private(set) var unfinished: Set<OperationID>

    init(_ extent: Extent, unfinished: Set<OperationID>) {
        self.extent = extent
        self.unfinished = unfinished
    }

    var remaining: Int { unfinished.count }

    /// Bytes of its sets.
    var heldBytes: Int {
        guard case .operations(let all) = extent else { return unfinished.count * 2 * 16 }
        return (all.count + unfinished.count) * 2 * 16
    }

    /// Takes one report in; true: it tells of an end that this wait is about.
    /// `isIn` says whether an operation is in a queue.
    mutating func apply(
        _ report: Report, isIn: (OperationID, String) throws(StoreError) -> Bool
    ) throws(StoreError) -> Bool {
        guard let operation = report.operation else { return false }
        if report.new == .finished { return unfinished.remove(operation) != nil }
        switch extent {
        // A retry opens it again.
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

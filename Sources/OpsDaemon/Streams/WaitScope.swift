internal import OpsCore

/// What a `Wait` waits for, counted down by the reports of each commit.
struct WaitScope {
    enum Extent: Equatable {
        /// Those that were selected when the call came.
        case operations
        /// Until nothing in it is unfinished, what is added meanwhile too.
        case graph(GraphID)
        case queue(String)
    }

    let extent: Extent
    /// Of `operations`, and of a graph: what is not finished.
    private(set) var unfinished: Set<OperationID>

    init(_ extent: Extent, unfinished: Set<OperationID>) {
        self.extent = extent
        self.unfinished = unfinished
    }

    var remaining: Int { unfinished.count }

    /// Takes one report in; true: it tells of an end that this wait is about.
    /// `isIn` says whether an operation is in a queue.
    mutating func take(_ report: Report, isIn: (OperationID, String) -> Bool) -> Bool {
        guard let operation = report.operation else { return false }
        if report.new == .finished {
            return unfinished.remove(operation) != nil || joins(report, operation, isIn)
        }
        if report.new != nil, joins(report, operation, isIn) { unfinished.insert(operation) }
        return false
    }

    private func joins(_ report: Report, _ operation: OperationID, _ isIn: (OperationID, String) -> Bool) -> Bool {
        switch extent {
        case .operations: false
        case .graph(let graph): report.graph == graph
        case .queue(let name): isIn(operation, name)
        }
    }
}

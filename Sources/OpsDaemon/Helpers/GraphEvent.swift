internal import OpsCore
internal import OpsStore
internal import OpsWire

/// An occasion of a graph as JSON for its observer.
struct GraphEvent: WireRecord {
    /// The operation that failed first.
    struct Failed: WireRecord {
        var id: Int64 = 0
        var name: String?
        var outcome = ""
        var cause: String?

        mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
            try visitor.field("id", &id)
            try visitor.field("name", &name)
            try visitor.field("outcome", &outcome)
            try visitor.field("cause", &cause)
        }
    }

    private(set) var graph = ""
    private(set) var name: String?
    private(set) var type = ""
    private(set) var outcome = ""
    private(set) var at: String?
    private(set) var operations = 0
    private(set) var unfinished = 0
    private(set) var unsuccessful = 0
    private(set) var failed: Failed?

    init() {}

    /// `record`: the operation that failed first, or else one of the graph.
    init(
        _ graph: ObservedGraph, _ occasion: GraphObservers.Occasion, _ record: OperationRecord,
        _ progress: ObservedProgress
    ) {
        self.graph = graph.graph.reference
        name = graph.name
        type = occasion == .failure ? "failure" : "finish"
        // The graph may continue after its first failure.
        outcome = OutcomeName(occasion == .failure ? record.outcome ?? .failed : progress.outcome ?? .failed).rawValue
        at = (occasion == .failure ? record.finishedAt : progress.finishedAt).map(InstantText.format)
        operations = progress.count
        unfinished = progress.unfinished
        unsuccessful = progress.unsuccessful
        guard let end = record.outcome, end.isFailure else { return }
        failed = .with {
            $0.id = record.id.rawValue
            $0.name = record.name
            $0.outcome = OutcomeName(end).rawValue
            $0.cause = record.cause
        }
    }

    mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("graph", &graph)
        try visitor.field("name", &name)
        try visitor.field("type", &type)
        try visitor.field("outcome", &outcome)
        try visitor.field("at", &at)
        try visitor.field("operations", &operations)
        try visitor.field("unfinished", &unfinished)
        try visitor.field("unsuccessful", &unsuccessful)
        try visitor.field("failed", &failed)
    }

    /// The variables of the observer.
    var variables: [String] {
        var writer = JSONWriter()
        write(to: &writer)
        return ["OPS_EVENT=\(writer.text)", "OPS_GRAPH_NAME=\(name ?? "")", "OPS_GRAPH_OUTCOME=\(outcome)"]
    }
}

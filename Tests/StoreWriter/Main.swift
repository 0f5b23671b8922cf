import CSQLite
import Glibc
import OpsCore
import OpsStore

/// Commits one turn after another to the state directory in its argument until it is killed. After each commit it
/// writes the number of stored graphs to its standard output.
@main
struct StoreWriter {
    static func main() throws(StoreError) {
        guard CommandLine.arguments.count == 2 else { exit(2) }
        let store = try Store.open(directory: CommandLine.arguments[1], boot: "boot")
        let snapshot = try store.load()
        if sqlite3_memory_used() != 0 { fatalError("SQLite counts its memory: it was used before it was configured") }
        var operation = snapshot.nextOperation
        var sequence = snapshot.lastSequence
        for graph in snapshot.nextGraph... {
            let (turn, texts) = turn(graph: graph, first: operation, after: sequence)
            try store.commit(turn, submissions: [texts])
            operation += 3
            sequence += 3
            // Most files change during checkpoints.
            if graph % 7 == 0 { try store.checkpoint() }
            var number = graph
            guard write(1, &number, MemoryLayout<Int64>.size) == MemoryLayout<Int64>.size else { exit(1) }
        }
    }

    /// Returns three operations in a row, the first of which has run.
    private static func turn(graph: Int64, first: Int64, after sequence: Int64) -> (Transition, SubmissionTexts) {
        let id = OperationID(first)
        let at = Moment(monotonic: .zero, wall: .zero + .seconds(1_700_000_000)) + .nanoseconds(graph)
        var submission = Submission()
        submission.operations = [Draft(), Draft(), Draft()]
        submission.edges = [DraftEdge(from: 1, on: .local(0)), DraftEdge(from: 2, on: .local(1))]
        let texts = SubmissionTexts(
            submission, environments: [String(repeating: "e", count: Int(graph % 3000))],
            particulars: ((0 as Int64)..<3).map { .init(name: "n\(first + $0)", command: "[\"c\(graph)\"]") })
        var turn = Transition()
        turn.changes = [
            .submitted(
                submission: 0, graph: GraphID(graph), isNewGraph: true, firstOperation: id,
                states: [.ready, .pending, .pending], parent: nil, producer: nil),
            .started(id, attempt: 1, run: 1, slot: 0, runner: "r", at: at),
            .attemptEnded(AttemptID(id, 1), .failed, .exitStatus(1), at: at.wall),
            .finished(id, .failed, .exitStatus(1), at: at.wall),
        ]
        turn.reports = ((1 as Int64)...3).map {
            Report(sequence: sequence + $0, kind: .submitted, operation: id, graph: GraphID(graph), at: at.wall)
        }
        return (turn, texts)
    }
}

import CSQLite
import OpsCore
import OpsStore
import Testing

/// The same few turns for every fault: all kinds of changes, small and large, with a checkpoint among them.
struct Script {
    struct Turn {
        var transition: Transition
        var submissions: [SubmissionTexts]
        var checkpointsAfter = false
    }
    private(set) var turns: [Turn] = []
    private let builder = TurnBuilder()

    init() {
        let first = builder.submit(CommitTests.graph())
        end()
        builder.start(first)
        end()
        builder.change(.launched(AttemptID(first, 1), LaunchedProcess(pid: 7, startTicks: 8, at: builder.moment)))
        builder.change(
            .updated(AttemptID(first, 1), OperationUpdate(status: "half", result: String(repeating: "r", count: 4000))))
        end(checkpointsAfter: true)
        settings()
        builder.end(first, code: 2)
        end()
        cancelled()
        var large = Submission()
        large.operations = (0..<40).map { _ in Draft() }
        large.edges = (1..<40).map { DraftEdge(from: $0, on: .local($0 - 1)) }
        let texts = SubmissionTexts(
            large, graphName: "large", environments: [String(repeating: "e", count: 9000)],
            particulars: large.operations.indices.map { .init(name: "task-\($0)", command: "[\"run\",\"\($0)\"]") })
        let start = builder.submit(texts)
        end()
        builder.change(.edgeAdded(start, on: OperationID(3), .finished), .held(start, isHeld: true))
        builder.change(.finished(OperationID(2), .skipped, .dependency(root: first, .failed), at: builder.now))
        end(checkpointsAfter: true)
        builder.change(.reopened(first, run: 2, .ready), .reopened(OperationID(2), run: 2, .pending))
        end()
    }

    private mutating func end(checkpointsAfter: Bool = false) {
        builder.report(.progress)
        turns.append(
            Turn(
                transition: builder.turn, submissions: builder.submissions, checkpointsAfter: checkpointsAfter))
        builder.turn = Transition()
        builder.submissions = []
        builder.now += .seconds(1)
    }

    /// Adds an operation that is retried, and then cancelled while it executes, so that all of its graph is finished
    /// and old.
    private mutating func cancelled() {
        var one = Submission()
        one.operations = [Draft()]
        let doomed = builder.submit(SubmissionTexts(one, particulars: [.init(command: #"["sleep"]"#)]))
        builder.start(doomed)
        end()
        builder.change(
            .exited(AttemptID(doomed, 1), ProcessExit(status: .signal(9), at: builder.moment)),
            .attemptEnded(AttemptID(doomed, 1), .failed, .signal(9), at: builder.now),
            .retrying(doomed, notBefore: .zero, counts: true))
        builder.start(doomed, attempt: 2)
        builder.change(
            .cancelling(
                doomed, by: "ada", reason: "enough", outcome: .cancelled, .cancelledBy("ada", reason: "enough")))
        end()
        builder.change(
            .exited(AttemptID(doomed, 2), ProcessExit(status: .signal(15), at: builder.moment)),
            .attemptEnded(
                AttemptID(doomed, 2), .cancelled, .cancelledBy("ada", reason: "enough"), at: builder.now),
            .finished(doomed, .cancelled, .cancelledBy("ada", reason: "enough"), at: builder.now))
        end()
    }

    private func settings() {
        builder.change(
            .queueSet("wide", limit: 9, aging: nil, suspended: true, order: .longestPath),
            .queueFairnessSet("wide", isFair: true),
            .slotTimeUsed(queue: "wide", user: 1001, used: .nanoseconds(5), at: .zero + .nanoseconds(7)),
            .slotTimeUsed(queue: "wide", user: 1001, used: .seconds(90), at: .zero + .nanoseconds(1_000)),
            .categorySet(CategorySettings(name: "gpu", capacity: 3)),
            .categorySet(
                CategorySettings(
                    name: "api", capacity: Limits.noCapacity, rate: Rate(count: 60, interval: .seconds(60)))),
            .rateStarted("api", at: .zero + .seconds(70), expired: .zero + .seconds(10)),
            .rateStarted("api", at: .zero + .seconds(70), expired: .zero + .seconds(10)),
            .categorySet(CategorySettings(name: "card", capacity: 4, units: ["0", "1"], share: 2, export: "CARDS")),
            .graphSuspended(GraphID(1), isSuspended: true), .daemonSuspended(isSuspended: true),
            .workersSet(7, insteadOf: 4),
            .observerOwed(OperationID(1), run: 1),
            .noted(OperationID(3), text: "ask Ann"), .noted(OperationID(1), text: "again"),
            .noted(OperationID(1), text: nil),
            .edited(OperationID(3), Edit(priority: 5, queue: "wide", categories: [CategoryUse(name: "x")])))
    }
}

/// Returns all rows of all tables as text; two stores with the same turns have the same text.
func contents(_ path: String) throws -> [String] {
    let raw = try Raw(path)
    let tables = try raw.texts("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
    var lines: [String] = []
    for table in tables.sorted() {
        // The key of the hashes differs between databases.
        let own: Set = ["probes", "textKeyLow", "textKeyHigh", "hash", "instance"]
        let columns = try raw.texts("SELECT name FROM pragma_table_info('\(table)')").filter { !own.contains($0) }
        let list = columns.map { "\"\($0)\"" }.joined(separator: ", ")
        lines += try raw.texts("SELECT json_array('\(table)', \(list)) FROM \(table)")
    }
    return lines
}

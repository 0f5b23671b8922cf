import OpsCore
import OpsStore
import OpsWire
import TestSupport
import Testing

@testable import OpsDaemon

/// References by name to operations and graphs of several users.
@Suite struct OwnReferencesTests {
    private let ann = Caller(user: 20_001, group: 20_001, account: nil)
    private let bob = Caller(user: 20_002, group: 20_002, account: nil)

    /// Stores the operation `build` of a user, in a graph `nightly` with the same number.
    private func submit(_ number: Int64, as caller: Caller, to store: Store) throws {
        let (id, graph) = (OperationID(number), GraphID(number))
        var submission = Submission()
        submission.user = caller.user
        submission.operations = [Draft()]
        let at = WallInstant.zero + .seconds(1_700_000_000 + number)
        var turn = Transition()
        turn.changes = [
            .submitted(
                submission: 0, graph: graph, isNewGraph: true, firstOperation: id, states: [.ready], parent: nil,
                producer: nil)
        ]
        turn.reports = [
            Report(sequence: number, kind: .submitted, operation: id, graph: graph, new: .ready, at: at)
        ]
        let texts = SubmissionTexts(
            submission, graphName: "nightly", particulars: [.init(name: "build", command: #"["true"]"#)])
        try store.commit(turn, submissions: [texts])
    }

    @Test func `references by name mean the caller's own operations`() throws {
        let directory = TemporaryDirectory(inMemory: true)
        let store = try Store.open(directory: directory.path, boot: "boot")
        try submit(1, as: ann, to: store)
        try submit(2, as: bob, to: store)
        let history = try History.open(path: store.path)
        let root = Caller(user: 0, group: 0, account: nil)
        for (caller, number) in [(ann, 1), (bob, 2), (root, 2)] as [(Caller, Int64)] {
            let selections = Selections(history, for: caller)
            #expect(try selections.operation("build") == OperationID(number))
            #expect(try selections.operation("build@nightly") == OperationID(number))
            #expect(try selections.operation("build@g1") == OperationID(1))
            #expect(try selections.operation("1") == OperationID(1))
            #expect(try selections.graph("nightly") == GraphID(number))
            #expect(try selections.query(OpsWire.Selection.with { $0.refs = ["build"] })?.ids == [number...number])
            #expect(try selections.query(OpsWire.Selection.with { $0.graph = "nightly" })?.graph == GraphID(number))
            var references = ReferencesQuery(["build", "build@g2"], of: caller)
            let found = try references.proceed(history)
            #expect(try found?.map { try $0.get() } == [OperationID(number), OperationID(2)])
            var wait = WaitQuery(.with { $0.graph = "nightly" }, any: false, caller)
            var start: WaitStart?
            while start == nil { start = try wait.proceed(history) }
            #expect(start?.scope.remaining == 1 && start?.finishes.ended.isEmpty == true)
            var targets = TargetsQuery(
                .with { $0.refs = ["build"] }, .unfinished, Authorization(daemonUser: 0), caller)
            #expect(try targets.proceed(history)?.ids == [OperationID(number)])
        }
    }
}

import OpsCore
import OpsStore
import Testing

@testable import OpsDaemon

@Suite struct WaitScopeTests {
    private func report(
        _ kind: Report.Kind, _ id: Int64, graph: Int64 = 1, old: OperationState? = nil, new: OperationState? = nil
    ) -> Report {
        Report(
            sequence: 1, kind: kind, operation: OperationID(id), graph: GraphID(graph), old: old, new: new,
            outcome: new == .finished ? .succeeded : nil, at: .zero)
    }

    private func expect(
        _ isAnEnd: Bool, _ scope: inout WaitScope, _ report: Report,
        isIn: (OperationID, String) -> Bool = { _, _ in false }, at location: SourceLocation = #_sourceLocation
    ) {
        #expect(throws: Never.self, sourceLocation: location) {
            let answer = try scope.apply(report, isIn: isIn)
            #expect(answer == isAnEnd, sourceLocation: location)
        }
    }

    @Test func `a wait for chosen operations ends with the last of them`() {
        let selected: Set = [OperationID(1), OperationID(2)]
        var scope = WaitScope(.operations(selected), unfinished: selected)
        expect(false, &scope, report(.started, 1, new: .executing))
        expect(false, &scope, report(.finished, 9, new: .finished))
        expect(true, &scope, report(.finished, 1, new: .finished))
        #expect(scope.remaining == 1)
        expect(true, &scope, report(.finished, 2, new: .finished))
        #expect(scope.remaining == 0)
    }

    @Test func `a chosen operation that is retried is waited for again`() {
        var scope = WaitScope(.operations([OperationID(1), OperationID(2)]), unfinished: [OperationID(1)])
        expect(false, &scope, report(.ready, 2, old: .finished, new: .ready))
        #expect(scope.remaining == 2)
        expect(false, &scope, report(.started, 2, old: .ready, new: .executing))
        expect(true, &scope, report(.finished, 1, new: .finished))
        expect(true, &scope, report(.finished, 2, new: .finished))
        #expect(scope.remaining == 0)
    }

    @Test func `waiting for a graph includes operations that are added to it`() {
        var scope = WaitScope(.graph(GraphID(1)), unfinished: [OperationID(1)])
        expect(false, &scope, report(.submitted, 5, new: .pending))
        expect(false, &scope, report(.submitted, 6, graph: 2, new: .pending))
        #expect(scope.remaining == 2)
        expect(true, &scope, report(.finished, 1, new: .finished))
        expect(true, &scope, report(.finished, 5, new: .finished))
        #expect(scope.remaining == 0)
    }

    @Test func `an operation submitted and finished in one commit counts as finished`() {
        // Submitted and skipped in one step: the wait never sees it unfinished, but has to report its end.
        var scope = WaitScope(.queue("q"), unfinished: [])
        let isIn: (OperationID, String) -> Bool = { $0 == OperationID(7) && $1 == "q" }
        for id in [Int64(7), 8] { expect(false, &scope, report(.submitted, id, new: .pending), isIn: isIn) }
        expect(true, &scope, report(.finished, 7, new: .finished), isIn: isIn)
        expect(false, &scope, report(.finished, 8, new: .finished), isIn: isIn)
    }

    @Test func `a moved operation counts for its new queue only`() {
        var old = WaitScope(.queue("old"), unfinished: [OperationID(7)])
        var new = WaitScope(.queue("new"), unfinished: [])
        var moved = report(.edited, 7)
        moved.detail = "queue"
        let isIn: (OperationID, String) -> Bool = { $1 == "new" }
        expect(false, &old, moved, isIn: isIn)
        expect(false, &new, moved, isIn: isIn)
        #expect(old.remaining == 0)
        #expect(new.remaining == 1)
        // A note on a finished operation does not reopen it.
        expect(true, &new, report(.finished, 7, new: .finished), isIn: isIn)
        var noted = report(.edited, 7)
        noted.detail = "note"
        expect(false, &new, noted, isIn: isIn)
        #expect(new.remaining == 0)
    }

    @Test func `an error in reading the queue of an operation is passed on`() {
        var scope = WaitScope(.queue("q"), unfinished: [])
        #expect(throws: StoreError.self) {
            try scope.apply(report(.submitted, 7, new: .pending)) { _, _ throws(StoreError) in
                throw StoreError(.ioError, "no answer", file: "opsd.db")
            }
        }
    }
}

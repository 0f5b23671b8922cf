import OpsCore
import Testing

@testable import OpsDaemon

@Suite struct WaitScopeTests {
    private func report(
        _ kind: Report.Kind, _ id: Int64, graph: Int64 = 1, old: OperationState? = nil, new: OperationState? = nil
    ) -> Report {
        Report(
            sequence: 1, kind: kind, operation: OperationID(id), graph: GraphID(graph), old: old, new: new,
            outcome: new == .finished ? .succeeded : nil, at: 0)
    }

    private func expect(
        _ isAnEnd: Bool, _ scope: inout WaitScope, _ report: Report,
        isIn: (OperationID, String) -> Bool = { _, _ in false }, at location: SourceLocation = #_sourceLocation
    ) {
        let answer = scope.take(report, isIn: isIn)
        #expect(answer == isAnEnd, sourceLocation: location)
    }

    @Test func chosenOperationsAreCountedDown() {
        var scope = WaitScope(.operations, unfinished: [OperationID(1), OperationID(2)])
        expect(false, &scope, report(.started, 1, new: .executing))
        expect(false, &scope, report(.finished, 9, new: .finished))
        expect(true, &scope, report(.finished, 1, new: .finished))
        #expect(scope.remaining == 1)
        expect(true, &scope, report(.finished, 2, new: .finished))
        #expect(scope.remaining == 0)
    }

    @Test func whatIsAddedToAGraphIsWaitedForToo() {
        var scope = WaitScope(.graph(GraphID(1)), unfinished: [OperationID(1)])
        expect(false, &scope, report(.submitted, 5, new: .pending))
        expect(false, &scope, report(.submitted, 6, graph: 2, new: .pending))
        #expect(scope.remaining == 2)
        expect(true, &scope, report(.finished, 1, new: .finished))
        expect(true, &scope, report(.finished, 5, new: .finished))
        #expect(scope.remaining == 0)
    }

    @Test func anEndAndABeginningInOneCommitCountAsEnded() {
        // Submitted and skipped in one step: never unfinished when the wait looks, but an end it is about.
        var scope = WaitScope(.queue("q"), unfinished: [])
        let isIn: (OperationID, String) -> Bool = { $0 == OperationID(7) && $1 == "q" }
        expect(true, &scope, report(.finished, 7, new: .finished), isIn: isIn)
        expect(false, &scope, report(.finished, 8, new: .finished), isIn: isIn)
    }
}

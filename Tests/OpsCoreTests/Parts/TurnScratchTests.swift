import Testing

@testable import OpsCore

@Suite("Turn scratch")
struct TurnScratchTests {
    private func finish(_ number: Int32) -> PendingFinish {
        PendingFinish(
            operation: OperationIndex(rawValue: number), outcome: .succeeded, cause: nil, root: nil,
            rootOutcome: .succeeded
        )
    }

    @Test func `finishes are recorded in order, with those that follow from them`() {
        var scratch = TurnScratch()
        scratch.addPending(finish(1))
        scratch.addPending(finish(2))
        #expect(scratch.popPending() == finish(1))
        scratch.addPending(finish(3))
        #expect(scratch.popPending() == finish(2) && scratch.hasPending)
        #expect(scratch.popPending() == finish(3) && !scratch.hasPending)
        #expect(scratch.checkInvariants().count == 1)
        scratch.forgetRecorded()
        #expect(scratch == TurnScratch())
    }

    @Test func `finished operations are found by their index until the turn is over`() {
        var scratch = TurnScratch()
        let finished = FinishedOperation(
            operation: OperationIndex(rawValue: 4), outcome: .failed, root: OperationID(9), rootOutcome: .failed,
            hasStarted: true)
        let index = scratch.add(finished)
        #expect(scratch[index] == finished)
        scratch.removeFinished()
        #expect(scratch == TurnScratch())
    }

    @Test func `submissions are numbered from zero in every turn`() {
        var scratch = TurnScratch()
        #expect([scratch.numberSubmission(), scratch.numberSubmission()] == [0, 1])
        scratch.sawShortRun = true
        scratch.sawOnlyRunnerReports = false
        scratch.endTurn()
        scratch.forgetReports()
        #expect(scratch == TurnScratch() && scratch.numberSubmission() == 0)
    }

    @Test func `the buffer of edges comes back empty`() {
        var scratch = TurnScratch()
        var edges = scratch.borrowEdges()
        edges.append(EdgeIndex(rawValue: 1))
        scratch.returnEdges(edges)
        #expect(scratch == TurnScratch())
    }
}

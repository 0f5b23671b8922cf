import Testing

@testable import OpsCore

@Suite("Turn scratch")
struct TurnScratchTests {
    private func decision(_ number: Int32) -> PendingFinish {
        PendingFinish(
            operation: OperationIndex(rawValue: number), outcome: .succeeded, cause: nil, root: nil,
            rootOutcome: .succeeded
        )
    }

    @Test func `decisions are recorded in order, those that follow from them included`() {
        var scratch = TurnScratch()
        scratch.decide(decision(1))
        scratch.decide(decision(2))
        #expect(scratch.nextDecision() == decision(1))
        scratch.decide(decision(3))
        #expect(scratch.nextDecision() == decision(2) && scratch.hasDecision)
        #expect(scratch.nextDecision() == decision(3) && !scratch.hasDecision)
        #expect(scratch.checkInvariants().count == 1)
        scratch.forgetDecisions()
        #expect(scratch == TurnScratch())
    }

    @Test func `ends are found by their index until the turn is over`() {
        var scratch = TurnScratch()
        let finished = FinishedOperation(
            operation: OperationIndex(rawValue: 4), outcome: .failed, root: OperationID(9), rootOutcome: .failed,
            hasStarted: true)
        let index = scratch.add(finished)
        #expect(scratch[index] == finished)
        scratch.forgetFinished()
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

import Testing

@testable import OpsCore

@Suite("Condition queue")
struct ConditionQueueTests {
    private func operation(_ number: Int) -> OperationIndex { OperationIndex(rawValue: Int32(number)) }

    @Test func `no more evaluations run at once than the limit`() {
        var queue = ConditionQueue()
        for number in 0..<Limits.evaluationsAtOnce {
            #expect(queue.hasFreeEvaluation)
            _ = queue.ask(operation(number))
        }
        #expect(!queue.hasFreeEvaluation)
        _ = queue.remove(operation(0))
        #expect(queue.hasFreeEvaluation && queue.checkInvariants().isEmpty)
    }

    @Test func `an answer to an earlier question counts for nothing`() {
        var queue = ConditionQueue()
        let early = queue.ask(operation(1))
        _ = queue.remove(operation(1))
        let late = queue.ask(operation(1))
        #expect(queue.answer(operation(1), token: early) == false)
        #expect(queue.evaluating == 1)
        #expect(queue.answer(operation(1), token: late) == true)
        #expect(queue.answer(operation(1), token: late) == false, "it is answered already")
        #expect(queue.evaluating == 0 && queue.asking.isEmpty)
    }

    @Test func `an answer stands or rests until its instant`() {
        var queue = ConditionQueue()
        let token = queue.ask(operation(1))
        #expect(queue.asking == [operation(1)])
        #expect(queue.answer(operation(1), token: token) == true)
        queue.hold(operation(1), until: 70)
        #expect(queue[operation(1)]?.standsUntil == 70)
        queue.noteFalse(operation(1), index: 2)
        queue.rest(operation(1), until: 80)
        #expect(queue[operation(1)]?.askAgainAt == 80 && queue[operation(1)]?.falseIndex == 2)
        #expect(queue.remove(operation(1))?.askAgainAt == 80 && queue[operation(1)] == nil)
    }
}

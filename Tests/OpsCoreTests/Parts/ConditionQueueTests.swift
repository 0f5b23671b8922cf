import Testing

@testable import OpsCore

@Suite("Condition queue")
struct ConditionQueueTests {
    private func operation(_ number: Int) -> OperationIndex { OperationIndex(rawValue: Int32(number)) }

    @Test func `no more evaluations run at once than the limit`() {
        var queue = ConditionQueue()
        for number in 0..<Limits.evaluationsAtOnce {
            #expect(queue.hasFreeEvaluation(for: nil))
            _ = queue.start(operation(number), of: nil)
        }
        #expect(!queue.hasFreeEvaluation(for: nil))
        _ = queue.remove(operation(0))
        #expect(queue.hasFreeEvaluation(for: nil) && queue.checkInvariants().isEmpty)
    }

    @Test func `users who were there first leave an evaluation for another, and the last one for privileged users`() {
        var queue = ConditionQueue()
        var number = 0
        func startAll(of user: UInt32) -> Int {
            var count = 0
            while queue.hasFreeEvaluation(for: user) {
                _ = queue.start(operation(number), of: user)
                (number, count) = (number + 1, count + 1)
            }
            return count
        }
        #expect([1000, 1001, 1002, 1003].map(startAll) == [4, 2, 1, 0])
        #expect(queue.isTurn(of: nil))
        _ = queue.remove(operation(0))
        #expect(queue.hasFreeEvaluation(for: 1003) && !queue.hasFreeEvaluation(for: 1000))
        #expect(queue.checkInvariants().isEmpty)
    }

    @Test func `a free evaluation goes to the waiting user with the fewest`() {
        var queue = ConditionQueue()
        for number in 0..<4 { _ = queue.start(operation(number), of: 1000) }
        for number in 4..<6 { _ = queue.start(operation(number), of: 1001) }
        _ = queue.start(operation(6), of: 1002)
        for user: UInt32 in [1000, 1001, 1002, 1003] { queue.enterLine(user) }
        #expect(queue.next == .none, "none is free")
        for number in 0..<3 { _ = queue.remove(operation(number)) }
        #expect(queue.next == .some(1003))
        #expect(!queue.isTurn(of: 1000) && !queue.isTurn(of: 1002) && queue.isTurn(of: 1003))
        #expect(queue.isTurn(of: 1004) == false, "as few, and those who wait come first")
        queue.leaveLine(1003)
        #expect(queue.next == .some(1000) && queue.isTurn(of: 1004), "fewer than any who waits")
    }

    @Test func `users with equally many evaluations take turns`() {
        var queue = ConditionQueue()
        for user: UInt32 in [1000, 1001, 1002] { queue.enterLine(user) }
        queue.enterLine(1000)
        var served: [UInt32] = []
        for number in 0..<6 {
            guard case .some(.some(let user)) = queue.next else { break }
            served.append(user)
            _ = queue.start(operation(number), of: user)
            _ = queue.remove(operation(number))
        }
        #expect(served == [1000, 1001, 1002, 1000, 1001, 1002])
        #expect(queue.checkInvariants().isEmpty)
    }

    @Test func `an answer to an earlier question counts for nothing`() {
        var queue = ConditionQueue()
        let early = queue.start(operation(1), of: nil)
        _ = queue.remove(operation(1))
        let late = queue.start(operation(1), of: nil)
        #expect(queue.end(operation(1), token: early) == false)
        #expect(queue.evaluating == 1)
        #expect(queue.end(operation(1), token: late) == true)
        #expect(queue.end(operation(1), token: late) == false, "it is answered already")
        #expect(queue.evaluating == 0 && queue.evaluated.isEmpty)
    }

    @Test func `an answer stands or rests until its instant`() {
        var queue = ConditionQueue()
        let token = queue.start(operation(1), of: nil)
        #expect(queue.evaluated == [operation(1)])
        #expect(queue.end(operation(1), token: token) == true)
        queue.setValid(operation(1), until: 70)
        #expect(queue[operation(1)]?.validUntil == 70)
        queue.setFalse(operation(1), index: 2)
        queue.repeatEvaluation(of: operation(1), at: 80)
        #expect(queue[operation(1)]?.nextEvaluationAt == 80 && queue[operation(1)]?.falseIndex == 2)
        #expect(queue.remove(operation(1))?.nextEvaluationAt == 80 && queue[operation(1)] == nil)
    }
}

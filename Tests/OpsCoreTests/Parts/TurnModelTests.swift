import OpsTesting
import Testing

@testable import OpsCore

/// Parts that give users their turns, beside plain models of them.
@Suite("Turn models")
struct TurnModelTests {
    private struct Evaluation {
        var operation: Int32
        var user: UInt32?
        var token: Int64
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `evaluations go to the waiting user with the fewest`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var queue = ConditionQueue()
        let users: [UInt32?] = [nil, 1001, 1002, 1003]
        var (running, line) = ([Evaluation](), [UInt32?]())
        func load(_ user: UInt32?) -> Int { running.count { $0.user == user } }
        func isFree(_ user: UInt32?) -> Bool { user == nil ? running.count < 8 : running.count + load(user) < 7 }
        for step in 1...300 as ClosedRange<Int32> {
            let user = random.pick(users)
            switch random.below(10) {
            case 0..<5:
                guard queue.isTurn(of: user) else { continue }
                let token = queue.start(OperationIndex(rawValue: step), of: user)
                #expect(!running.contains { $0.token == token })
                running.append(Evaluation(operation: step, user: user, token: token))
                if line.contains(user) { line = line.filter { $0 != user } + [user] }
            case 5:
                queue.enterLine(user)
                if !line.contains(user) { line.append(user) }
            case 6:
                queue.leaveLine(user)
                line.removeAll { $0 == user }
            default:
                guard !running.isEmpty else { continue }
                let ended = running.remove(at: random.below(running.count))
                let operation = OperationIndex(rawValue: ended.operation)
                #expect(queue.end(operation, token: ended.token + 1) == false)
                if random.chance(50) {
                    #expect(queue.end(operation, token: ended.token) == true)
                    #expect(queue[operation]?.isEvaluating == false)
                    #expect(queue.end(operation, token: ended.token) == false)
                }
                let removed = queue.remove(operation)
                #expect(removed?.user == ended.user && queue[operation] == nil)
            }
            let free = line.filter { isFree($0) }
            let fewest = free.map { load($0) }.min()
            let next = free.first { load($0) == fewest }
            #expect(queue.next == next && queue.evaluating == running.count && queue.checkInvariants().isEmpty)
            #expect(Set(queue.evaluated.map(\.rawValue)) == Set(running.map(\.operation)))
            for user in users {
                #expect(queue.hasFreeEvaluation(for: user) == isFree(user))
                let isFirst = next.map { $0 == user || load($0) > load(user) } ?? true
                #expect(queue.isTurn(of: user) == (isFree(user) && isFirst))
            }
        }
    }

    @Test func `slot time belongs to a user in a queue, until the queue is forgotten`() {
        let queues = [QueueIndex(rawValue: 0), QueueIndex(rawValue: 1)]
        let users: [UInt32?] = [nil, 0, 1001]
        var times = SlotTimes()
        var expected: [SlotTimes.Key: Int32] = [:]
        for queue in queues {
            for user in users {
                #expect(times.find(queue, user) == nil)
                let account = times.account(queue, user, at: 0)
                #expect(times.find(queue, user) == account && times.account(queue, user, at: 5) == account)
                times.resume(account)
                expected[SlotTimes.Key(queue: queue, user: user)] = 1
            }
        }
        #expect(times.checkInvariants(running: expected).isEmpty)
        let accounts = queues.flatMap { queue in users.compactMap { times.find(queue, $0) } }
        #expect(Set(accounts).count == 6)
        for account in accounts { #expect(times.used(account, at: .seconds(30)) == .seconds(30)) }
        times.restore(queues[0], 1001, used: 7, at: .seconds(40))
        times.restore(queues[1], 1001, used: -7, at: .seconds(40))
        #expect(accounts.map { times.reading($0, at: .seconds(40)).seconds } == [40, 40, 0, 40, 40, 0])
        #expect(times.reading(accounts[2], at: .seconds(40)) == 7)
        times.forget(queues[0])
        for user in users { #expect(times.find(queues[0], user) == nil && times.find(queues[1], user) != nil) }
        expected = expected.filter { $0.key.queue == queues[1] }
        #expect(times.checkInvariants(running: expected).isEmpty)
        let again = times.account(queues[0], 1001, at: .seconds(50))
        #expect(times.reading(again, at: .seconds(55)) == 0, "it begins again")
    }
}

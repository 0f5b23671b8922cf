import Testing

@testable import OpsDaemon

@Suite struct FairBacklogTests {
    @Test func `a free slot goes to the user with the fewest`() {
        var backlog = FairBacklog<String>(slots: 4)
        for name in ["a1", "a2", "a3"] { backlog.append(name, of: 1) }
        #expect(backlog.start()?.element == "a1")
        #expect(backlog.start()?.element == "a2")
        backlog.append("b1", of: 2)
        backlog.end(of: 1)
        #expect(backlog.start()?.element == "b1")
        backlog.end(of: 2)
        #expect(backlog.start()?.element == "a3")
        #expect(backlog.isEmpty)
        #expect(backlog.running == 2)
    }

    @Test func `users who were there first leave a slot for another`() {
        var backlog = FairBacklog<String>(slots: 4)
        for name in ["1", "2", "3", "4"] { for user in [1, 2, 3] as [UInt32] { backlog.append(name, of: user) } }
        var served: [UInt32] = []
        while let next = backlog.start() { served.append(next.user) }
        #expect(served == [1, 2, 3])
        backlog.append("first", of: 4)
        #expect(backlog.start()?.element == "first")
        #expect(backlog.start() == nil)
    }

    @Test func `one user alone has half of the slots`() {
        var backlog = FairBacklog<String>(slots: 4)
        for name in ["1", "2", "3"] { backlog.append(name, of: 1) }
        #expect(backlog.start() != nil && backlog.start() != nil && backlog.start() == nil)
        backlog.append("other", of: 2)
        #expect(backlog.start()?.element == "other")
        #expect(backlog.start() == nil)
    }

    @Test func `a user who has just been served comes last`() {
        var backlog = FairBacklog<String>(slots: 1)
        backlog.append("a", of: 1)
        backlog.append("b", of: 2)
        backlog.serveLast(1)
        backlog.serveLast(3)
        #expect(backlog.start()?.element == "b")
    }

    @Test func `equal users take turns`() {
        var backlog = FairBacklog<String>(slots: 1)
        for name in ["1", "2"] { for user in [1, 2, 3] as [UInt32] { backlog.append("\(user).\(name)", of: user) } }
        var order: [String] = []
        while let (name, user) = backlog.start() {
            order.append(name)
            backlog.end(of: user)
        }
        #expect(order == ["1.1", "2.1", "3.1", "1.2", "2.2", "3.2"])
    }
}

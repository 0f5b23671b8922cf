import OpsCore
import OpsStore
import Testing

@testable import OpsDaemon

/// Events that followers get of large commits.
@Suite struct PublisherTests {
    private final class Listener: Follower {
        private(set) var told: [Int64] = []
        func receive(_ reports: [Report]) { told += reports.map(\.sequence) }
    }

    private func reports(_ sequences: ClosedRange<Int64>) -> [Report] {
        sequences.map {
            Report(
                sequence: $0, kind: .submitted, operation: OperationID($0), graph: GraphID(1), old: nil, new: .ready,
                outcome: nil, at: .zero)
        }
    }

    @Test func `followers are told a little in each turn and all of it in order`() throws {
        let fixture = try Fixture()
        let publisher = Publisher(
            loop: fixture.loop, log: fixture.daemon.log, history: fixture.daemon.history, inATurn: .zero)
        let early = [Listener(), Listener()]
        for listener in early { publisher.add(listener) }
        publisher.publish(reports(1...600), before: publisher.nextNumber)
        #expect(early.map(\.told.count) == [256, 0], "others have their turn")
        let late = Listener()
        publisher.add(late)
        publisher.publish(reports(601...602), before: publisher.nextNumber)
        try fixture.turn { early.allSatisfy { $0.told.count == 602 } && late.told.count == 2 }
        for listener in early { #expect(listener.told == Array(1...602)) }
        #expect(late.told == [601, 602], "it had read what came before it")
    }

    @Test func `a follower that leaves is told nothing more`() throws {
        let fixture = try Fixture()
        let publisher = Publisher(
            loop: fixture.loop, log: fixture.daemon.log, history: fixture.daemon.history, inATurn: .zero)
        let listeners = [Listener(), Listener()]
        for listener in listeners { publisher.add(listener) }
        publisher.publish(reports(1...600), before: publisher.nextNumber)
        publisher.remove(listeners[1])
        publisher.finish()
        #expect(listeners.map(\.told.count) == [600, 0])
    }
}

import OpsCore
import Testing

@Suite struct LaneTests {
    /// A cancelled operation was the only member of its lane; what came next in the lane started the operation that
    /// had got the cancelled one's place, although that one was held.
    @Test func whoHasLeftALaneIsNotStartedUnderANewName() {
        var world = World(workers: 2)
        world.after(.suspend(.daemon, freeze: false))
        world.add(priority: 5)
        world.turn()
        world.after(.cancel([1], by: "root", reason: nil, force: false))
        world.add(flags: .held)
        world.add()
        world.turn()
        world.after(.resume(.daemon))
        #expect(world.executing == [3])
    }

    @Test func goingBackToPendingIsTold() {
        var world = World(workers: 0)
        world.add()
        world.add()
        world.turn()
        world.after(.depend(2, on: 1, when: .succeeded, finished: nil))
        #expect(world.last.reports.contains { $0.operation == 2 && $0.old == .ready && $0.new == .pending })
    }
}

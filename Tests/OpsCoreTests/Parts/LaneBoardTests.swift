import Testing

@testable import OpsCore

@Suite("Lane board")
struct LaneBoardTests {
    private func lane(queue: Int32, isGroup: Bool = false) -> Lane {
        Lane(
            key: Lane.Key(
                queue: QueueIndex(rawValue: queue), parent: 0, categories: nil, isGroup: isGroup, only: 0),
            group: nil, needs: [], tickets: [])
    }

    /// Adds a lane with one member with this key.
    private func add(_ board: inout LaneBoard, queue: Int32, key: UInt64, isGroup: Bool = false) -> LaneIndex {
        let index = board.add(lane(queue: queue, isGroup: isGroup))
        board[index].live = 1
        board[index].top = key
        return index
    }

    @Test func `a lane is found by its key until it is removed`() {
        var board = LaneBoard()
        let index = board.add(lane(queue: 3))
        #expect(board.find(lane(queue: 3).key) == index && board.find(lane(queue: 4).key) == nil)
        board.remove(index)
        #expect(board.find(lane(queue: 3).key) == nil && !board.contains(index))
    }

    @Test func `the best candidate comes first`() {
        var board = LaneBoard()
        let low = add(&board, queue: 1, key: 20)
        let high = add(&board, queue: 2, key: 10)
        board.makeCandidate(low)
        board.makeCandidate(high)
        #expect(board.checkInvariants().isEmpty)
        #expect(board.popCandidate(hasFreeSlot: true)?.lane == high)
        #expect(board.popCandidate(hasFreeSlot: true)?.lane == low)
        #expect(board.popCandidate(hasFreeSlot: true) == nil)
    }

    @Test func `without a free slot only groups are candidates`() {
        var board = LaneBoard()
        board.makeCandidate(add(&board, queue: 1, key: 10))
        #expect(!board.hasCandidate(hasFreeSlot: false) && board.hasCandidate(hasFreeSlot: true))
        let group = add(&board, queue: 2, key: 20, isGroup: true)
        board.makeCandidate(group)
        #expect(board.popCandidate(hasFreeSlot: false)?.lane == group)
    }

    @Test func `only the newest entry of a lane counts`() {
        var board = LaneBoard()
        let index = add(&board, queue: 1, key: 20)
        board.makeCandidate(index)
        board[index].top = 10
        board.makeCandidate(index)
        #expect(board.popCandidate(hasFreeSlot: true)?.key == 10)
        #expect(board.popCandidate(hasFreeSlot: true) == nil)
    }

    @Test func `an empty lane is no candidate`() {
        var board = LaneBoard()
        let index = add(&board, queue: 1, key: 20)
        board.makeCandidate(index)
        board[index].live = 0
        board[index].top = .max
        #expect(!board.hasCandidate(hasFreeSlot: true) && !board.hasProcess)
    }

    @Test func `the best of the lanes parked at a resource is popped by its present first member`() {
        var board = LaneBoard()
        let resource = Resource.queue(QueueIndex(rawValue: 9))
        var heap = LaneHeap()
        let first = add(&board, queue: 1, key: 10)
        let second = add(&board, queue: 2, key: 20)
        for lane in [first, second] {
            board[lane].status = .parked(resource)
            board.add(board.newEntry(lane), to: &heap)
        }
        // The first member of the first lane has left.
        board[first].top = 30
        #expect(board.firstKey(of: &heap, at: resource) == 20)
        #expect(board.popBest(from: &heap, at: resource) == second)
        #expect(board.popBest(from: &heap, at: resource) == first)
        #expect(board.popBest(from: &heap, at: resource) == nil)
    }

    @Test func `a blocked lane is given back once, unless it has moved on`() {
        var board = LaneBoard()
        let stays = add(&board, queue: 1, key: 10)
        let moves = add(&board, queue: 2, key: 20)
        for lane in [stays, moves] {
            board[lane].status = .parked(.yielding)
            board.block(board.newEntry(lane))
        }
        #expect(board.checkInvariants().isEmpty)
        board.makeCandidate(moves)
        #expect(board.popAllBlocked().map(\.lane) == [stays])
        #expect(!board.hasBlocked)
    }
}

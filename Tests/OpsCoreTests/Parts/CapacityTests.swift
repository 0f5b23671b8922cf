import Testing

@testable import OpsCore

@Suite("Capacity")
struct CapacityTests {
    @Test func `the lowest free slot is allocated first`() {
        var capacity = Capacity(workers: 3)
        #expect([capacity.allocate(), capacity.allocate(), capacity.allocate()] == [0, 1, 2])
        #expect(!capacity.hasFreeSlot && capacity.isExactlyFull)
        capacity.release(1)
        #expect(capacity.hasFreeSlot && capacity.allocate() == 1)
        #expect(capacity.checkInvariants().isEmpty)
    }

    @Test func `slots beyond a word of bits are allocated in order`() {
        var capacity = Capacity(workers: 200)
        #expect((0..<130).map { _ in capacity.allocate() } == Array(0..<130))
        capacity.release(64)
        #expect(capacity.allocate() == 64 && capacity.used == 130)
    }

    @Test func `a slot that is taken is given to nobody else`() {
        var capacity = Capacity(workers: 4)
        #expect(capacity.occupy(2) == 2)
        #expect(capacity.occupy(2) == 0)
        capacity.restore(3)
        #expect(capacity.used == 3 && capacity.checkInvariants().isEmpty)
    }

    @Test func `nothing starts without a runner, while suspended or while draining`() {
        var capacity = Capacity(workers: 1)
        #expect(!capacity.mayStart)
        capacity.runner = "r1"
        #expect(capacity.mayStart)
        capacity.isSuspended = true
        #expect(!capacity.mayStart)
        capacity.isSuspended = false
        capacity.isDraining = true
        #expect(!capacity.mayStart)
    }
}

import Testing

@testable import OpsCore

@Suite("Timers")
struct TimersTests {
    private let noon = Moment(monotonic: 100, wall: 1_000)

    @Test func `each kind of timer runs on its own clock`() {
        var timers = Timers()
        timers.set(.timeout, of: 1, at: 150)
        timers.set(.deadline, of: 2, at: 1_200)
        #expect(timers.next == Deadlines(monotonic: 150, wall: 1_200))
        #expect(!timers.isDue(at: noon))
        #expect(timers.isDue(at: Moment(monotonic: 150, wall: 0)))
        #expect(timers.isDue(at: Moment(monotonic: 0, wall: 1_200)))
        #expect(timers.checkInvariants().isEmpty)
    }

    @Test func `due timers come soonest first and later ones stay`() {
        var timers = Timers()
        for (id, at) in [(1, 90), (2, 10), (3, 101), (4, 50)] as [(Int64, MonotonicInstant)] {
            timers.set(.backoff, of: id, at: at)
        }
        timers.set(.aging, of: 5, at: 999)
        var ids: [Int64] = []
        while let entry = timers.firstDue(at: noon) {
            ids.append(entry.id)
            timers.removeFirst(entry)
        }
        #expect(ids == [2, 4, 1, 5])
        #expect(timers.next == Deadlines(monotonic: 101, wall: nil))
    }

    @Test func `stale timers do not wake`() {
        var timers = Timers()
        timers.set(.timeout, of: 1, at: 10)
        timers.set(.timeout, of: 2, at: 20)
        timers.dropStaleFirst { $0.id == 2 }
        #expect(timers.next.monotonic == 20)
        timers.dropStaleFirst { _ in false }
        #expect(timers.isEmpty)
    }

    @Test func `stale timers are swept out once they are the most part`() {
        var timers = Timers()
        for id in 1...100 as ClosedRange<Int64> {
            timers.set(.timeout, of: id, at: MonotonicInstant(nanoseconds: 200 - id))
        }
        var isTime = false
        var marked = 0
        while !isTime {
            isTime = timers.noteStale(.timeout)
            marked += 1
        }
        #expect(marked == 65)
        timers.sweepMonotonic { $0.id > 65 }
        #expect(timers.next.monotonic == 100)
        #expect(timers.checkInvariants().isEmpty)
        var count = 0
        while let entry = timers.firstDue(at: Moment(monotonic: .distantFuture, wall: 0)) {
            timers.removeFirst(entry)
            count += 1
        }
        #expect(count == 35)
    }

    @Test func `a timer that was set twice is kept once`() {
        var timers = Timers()
        for _ in 0..<3 { timers.set(.notBefore, of: 1, at: 100) }
        timers.sweepWall { _ in true }
        #expect(timers.wallEntries.count == 1)
    }
}

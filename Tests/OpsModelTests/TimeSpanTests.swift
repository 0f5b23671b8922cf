import OpsModel
import Testing

@Suite struct TimeSpanTests {
    @Test func `the units of spans are multiples of each other`() {
        #expect(TimeSpan.seconds(2) == .milliseconds(2000))
        #expect(TimeSpan.milliseconds(3) == .nanoseconds(3_000_000))
        #expect(TimeSpan.seconds(1) * 3 - .seconds(1) == .milliseconds(4000) / 2)
        #expect(TimeSpan.zero < .nanoseconds(1))
        #expect(TimeSpan.days(1) / .minutes(7) == 205)
        #expect(TimeSpan.milliseconds(1999).seconds == 1 && TimeSpan.seconds(1).milliseconds == 1000)
    }

    @Test func `the difference of two instants is the span between them`() {
        let start = WallInstant(nanoseconds: 5)
        #expect(start + .seconds(1) - start == .seconds(1))
        #expect(start + .seconds(1) - .seconds(1) == start)
        #expect(MonotonicInstant(nanoseconds: 1) < MonotonicInstant(nanoseconds: 2))
    }

    @Test func `a sum that does not fit is clamped on request`() {
        let now = MonotonicInstant(nanoseconds: 5)
        #expect(now.clampedSum(.seconds(1)) == now + .seconds(1))
        #expect(now.clampedSum(.max) == .distantFuture)
        #expect(MonotonicInstant.distantPast.clampedSum(.nanoseconds(-1)) == .distantPast)
    }

    @Test func `the wall clock at a monotonic instant is that far from the present one`() {
        let now = Moment(monotonic: .zero + .seconds(10), wall: .zero + .seconds(1_000))
        #expect(now.wall(at: .zero + .seconds(4)) == .zero + .seconds(994))
        #expect(now + .seconds(2) - .seconds(2) == now)
    }

    @Test func `spans and instants are described as their numbers`() {
        #expect("\(TimeSpan.seconds(-1)) \(WallInstant(nanoseconds: 7))" == "-1000000000 7")
    }

    @Test func `spans and instants take the eight bytes of their number`() {
        #expect(MemoryLayout<TimeSpan>.size == 8 && MemoryLayout<WallInstant>.size == 8)
        #expect(MemoryLayout<MonotonicInstant?>.stride == MemoryLayout<Int64?>.stride)
    }
}

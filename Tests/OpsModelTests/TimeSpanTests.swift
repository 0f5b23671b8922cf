import OpsModel
import Testing

@Suite struct TimeSpanTests {
    @Test func `the units of spans are multiples of each other`() {
        #expect(TimeSpan.seconds(2) == .milliseconds(2000))
        #expect(TimeSpan.milliseconds(3) == .nanoseconds(3_000_000))
        #expect(TimeSpan.seconds(1) * 3 - .seconds(1) == .milliseconds(4000) / 2)
        #expect(TimeSpan.zero < .nanoseconds(1))
    }

    @Test func `the difference of two instants is the span between them`() {
        let start = WallInstant(nanoseconds: 5)
        #expect(start + .seconds(1) - start == .seconds(1))
        #expect(start + .seconds(1) - .seconds(1) == start)
        #expect(MonotonicInstant(nanoseconds: 1) < MonotonicInstant(nanoseconds: 2))
    }

    @Test func `spans and instants take the eight bytes of their number`() {
        #expect(MemoryLayout<TimeSpan>.size == 8 && MemoryLayout<WallInstant>.size == 8)
        #expect(MemoryLayout<MonotonicInstant?>.stride == MemoryLayout<Int64?>.stride)
    }
}

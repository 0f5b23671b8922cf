import OpsCore
import OpsWire
import Testing

@testable import OpsDaemon

@Suite struct EventTailTests {
    private func reports(_ numbers: ClosedRange<Int64>, detail: String? = nil) -> [Report] {
        numbers.map { Report(sequence: $0, kind: .edited, operation: OperationID($0), at: .zero, detail: detail) }
    }

    private func sequences(of bytes: [UInt8]) throws -> [Int64] {
        var decoder = FrameDecoder()
        decoder.append(bytes)
        var found: [Int64] = []
        while let frame = try decoder.next() {
            found.append(try ReceivedReply(frame: frame).result(WatchReply.self).event.seq)
        }
        return found
    }

    @Test func `events of several commits are read as one block`() throws {
        var tail = EventTail()
        tail.append(reports(5...6))
        tail.append(reports(7...7))
        tail.append(reports(8...20))
        #expect(!tail.reaches(3))
        #expect(tail.reaches(4))
        let all = try #require(tail.block(after: 4))
        #expect(try sequences(of: all.bytes) == Array(5...20))
        let some = try #require(tail.block(after: 7))
        #expect(try sequences(of: some.bytes) == Array(8...20))
        #expect(try sequences(of: some.bytes { $0.sequence % 5 == 0 }) == [10, 15, 20])
        #expect(tail.block(after: 20) == nil)
        #expect(tail.block(after: 40) == nil)
    }

    @Test func `the size of one block of events is limited`() throws {
        var tail = EventTail()
        tail.append(reports(1...1000))
        var seen: [Int64] = []
        while let block = tail.block(after: seen.last ?? 0) {
            #expect(block.reports.count <= DaemonLimits.eventsInABatch)
            #expect(block.bytes.count <= DaemonLimits.eventBytesInABatch)
            #expect(block.first == (seen.last ?? 0) + 1)
            seen += try sequences(of: block.bytes)
            #expect(block.last == seen.last)
        }
        #expect(seen == Array(1...1000))
    }

    @Test func `a single event above the limit is a block of its own`() throws {
        var tail = EventTail()
        let long = String(repeating: "x", count: DaemonLimits.eventBytesInABatch)
        tail.append(reports(1...2, detail: long))
        #expect(tail.block(after: 0)?.last == 1)
        #expect(tail.block(after: 1)?.last == 2)
    }

    @Test func `the oldest events are dropped`() throws {
        var tail = EventTail()
        let long = String(repeating: "x", count: 4096)
        var last: Int64 = 0
        while tail.reaches(0) || last == 0 {
            tail.append(reports(last + 1...last + 100, detail: long))
            last += 100
            try #require(last < 10_000)
        }
        #expect(tail.last == last)
        let middle = last - 5
        #expect(try sequences(of: try #require(tail.block(after: middle)).bytes) == Array(middle + 1...last))
    }

    @Test func `neither the events of a huge commit nor those before a gap are kept`() {
        var tail = EventTail()
        tail.append(reports(1...3))
        tail.append(reports(4...Int64(DaemonLimits.largestKeptCommit + 4)))
        #expect(tail.last == nil)
        tail.append(reports(20_000...20_001))
        tail.append(reports(30_000...30_001))
        #expect(!tail.reaches(20_000))
        #expect(tail.reaches(29_999))
    }
}

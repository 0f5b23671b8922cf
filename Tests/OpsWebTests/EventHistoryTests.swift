import OpsWire
import Testing

@testable import OpsWeb

@Suite struct EventHistoryTests {
    private struct Summary: Equatable {
        var from: Int64 = 0
        var to: Int64 = 0
        /// Operations of the events; nil if any may have changed.
        var operations: [Int64]?
    }

    private func event(_ seq: Int64, _ id: Int64) -> EventRow {
        .with {
            $0.seq = seq
            $0.id = id
            $0.graph = "g1"
        }
    }

    private func summary(_ history: EventHistory, after cursor: Int64) throws -> Summary {
        let text = String(decoding: history.summary(after: cursor), as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        try #require(lines.count == 4 && lines[0] == "id: \(history.head)" && lines[1].hasPrefix("data: "))
        guard case .object(let members) = try JSONValue(Array(lines[1].dropFirst(6).utf8)) else { return Summary() }
        var summary = Summary()
        for member in members {
            switch (member.key, member.value) {
            case ("from", .integer(let value)): summary.from = value
            case ("to", .integer(let value)): summary.to = value
            case ("operations", .array(let list)):
                summary.operations = list.compactMap { if case .integer(let id) = $0 { id } else { nil } }
            default: break
            }
        }
        return summary
    }

    @Test func `summaries of one reader join without a gap`() throws {
        var history = EventHistory(after: 10)
        var cursor: Int64 = 10
        for round in 0..<50 {
            let first = history.head
            for step in 1...Int64(1 + round % 3) { history.add(event(first + step, first + step)) }
            let found = try summary(history, after: cursor)
            #expect(found.from == cursor + 1)
            #expect(found.operations == Array((cursor + 1)...found.to))
            cursor = found.to
        }
        #expect(cursor == history.head)
    }

    @Test func `a reader that comes back gets everything after its last number`() throws {
        var history = EventHistory(after: 0)
        for seq in Int64(1)...100 { history.add(event(seq, seq * 2)) }
        #expect(try summary(history, after: 97) == Summary(from: 98, to: 100, operations: [196, 198, 200]))
        #expect(try summary(history, after: 100) == Summary(from: 101, to: 100, operations: []))
    }

    @Test func `a reader from before the history has to read everything again`() throws {
        var history = EventHistory(after: 50)
        history.add(event(51, 7))
        #expect(try summary(history, after: 49) == Summary(from: 50, to: 51, operations: nil))
        #expect(try summary(history, after: 50) == Summary(from: 51, to: 51, operations: [7]))
    }

    @Test func `a reader of another database has to read everything again`() throws {
        let history = EventHistory(after: 5)
        #expect(try summary(history, after: 900) == Summary(from: 6, to: 5, operations: nil))
    }

    @Test func `a history is bounded`() throws {
        var history = EventHistory(after: 0)
        let count = Int64(3 * EventHistory.limit)
        for seq in 1...count { history.add(event(seq, 1)) }
        #expect(try summary(history, after: count - Int64(EventHistory.limit) - 1).operations == nil)
        #expect(try summary(history, after: count - Int64(EventHistory.limit)).operations == [1])
    }

    @Test func `a summary names no more operations than a page reads again`() throws {
        var history = EventHistory(after: 0)
        for seq in 1...Int64(EventHistory.named + 1) { history.add(event(seq, seq)) }
        #expect(try summary(history, after: 0).operations == nil)
        #expect(try summary(history, after: 1).operations?.count == EventHistory.named)
    }
}

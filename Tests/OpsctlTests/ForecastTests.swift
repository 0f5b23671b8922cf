import Testing

@testable import opsctl

@Suite struct ForecastTests {
    /// `1 -> 2 -> 4` and `3`, as opsd tells it; seconds since an instant.
    private func picture() throws -> GraphPicture {
        let nodes = (1...4).map { #"{"id":\#($0),"state":"ready"}"# }.joined(separator: ",")
        let text = #"{"graph":"g1","nodes":[\#(nodes)],"edges":[{"from":2,"on":1},{"from":4,"on":2}]}"#
        return GraphPicture(try JSONView(Array(text.utf8)))
    }

    private func row(
        _ id: Int, _ state: String, from start: Int64? = nil, to end: Int64? = nil, _ command: String
    ) throws -> OperationRow {
        var row = OperationRow(try JSONView(Array("{}".utf8)))
        row.id = id
        row.state = state
        row.command = [command]
        row.startedAt = start.map { Instant(nanoseconds: $0 * 1_000_000_000) }
        row.finishedAt = end.map { Instant(nanoseconds: $0 * 1_000_000_000) }
        row.outcome = end == nil ? nil : "succeeded"
        return row
    }

    private func left(_ rows: [OperationRow], earlier: [OperationRow] = [], at now: Int64) throws -> Int64? {
        let forecast = try #require(Forecast(try picture(), earlier: earlier))
        let known = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
        return forecast.left(known, now: Instant(nanoseconds: now * 1_000_000_000)).map {
            $0.nanoseconds / 1_000_000_000
        }
    }

    @Test func nothingIsKnownBeforeSomethingHasFinished() throws {
        #expect(try left([row(1, "executing", from: 0, "a"), row(2, "pending", "a")], at: 3) == nil)
    }

    @Test func theLongestChainCounts() throws {
        // 1 took 4 s. 2 runs for 1 s and needs 3 more, then 4 takes 4: 7 s. 3 needs 3: 10 s of work on two slots.
        let rows = [
            try row(1, "finished", from: 0, to: 4, "a"), try row(2, "executing", from: 4, "a"),
            try row(3, "executing", from: 4, "a"), try row(4, "pending", "a"),
        ]
        #expect(try left(rows, at: 5) == 7)
    }

    @Test func allThatIsLeftCountsWhereSlotsAreFew() throws {
        // Nothing runs: 4 + 4 + 4 s one after the other.
        let rows = [
            try row(1, "finished", from: 0, to: 4, "a"), try row(2, "ready", "a"), try row(3, "ready", "a"),
            try row(4, "pending", "a"),
        ]
        #expect(try left(rows, at: 5) == 12)
    }

    @Test func aCommandTakesAsLongAsItDid() throws {
        // a took 4 s, b took 10 s; one slot is in use.
        let rows = [
            try row(1, "finished", from: 0, to: 4, "a"), try row(2, "finished", from: 4, to: 14, "b"),
            try row(3, "executing", from: 14, "b"), try row(4, "pending", "a"),
        ]
        #expect(try left(rows, at: 16) == 12, "8 of the 10 s that b took, and 4 for a")
    }

    @Test func aCommandTakesAsLongAsItDidInEarlierGraphs() throws {
        // Nothing has finished here. Before, a took 6 s and b 2 s: 1 needs 5 more, 2 and 3 need 6, 4 needs 2.
        let rows = [
            try row(1, "executing", from: 0, "a"), try row(2, "pending", "a"), try row(3, "ready", "a"),
            try row(4, "pending", "b"),
        ]
        let earlier = [try row(-1, "finished", from: 0, to: 6, "a"), try row(-2, "finished", from: 0, to: 2, "b")]
        #expect(try left(rows, earlier: earlier, at: 1) == 19)
    }

    @Test func whatIsUnknownTakesAsLongAsWhatWasSeenHere() throws {
        // a took 2 s here and 6 s before: 4 s. c is new: as long as what finished here.
        let rows = [
            try row(1, "finished", from: 0, to: 2, "a"), try row(2, "executing", from: 2, "a"),
            try row(4, "pending", "c"),
        ]
        let earlier = [try row(-1, "finished", from: 0, to: 6, "a")]
        #expect(try left(rows, earlier: earlier, at: 2) == 6)
    }
}

import OpsWire
import Testing

@testable import opsctl

@Suite struct ForecastTests {
    /// The graph `1 -> 2 -> 4` and `3` as opsd reports it, in seconds since an instant.
    private var picture: GraphPicture {
        GraphPicture(
            .with {
                $0.nodes = [1, 2, 3, 4].map { (id: Int64) in .with { $0.id = id } }
                $0.edges = [(2, 1), (4, 2)].map { (from: Int64, on: Int64) in
                    .with {
                        $0.from = from
                        $0.on = on
                    }
                }
            })
    }

    private func row(
        _ id: Int64, _ state: StateName, from start: Int64? = nil, to end: Int64? = nil, _ command: String
    ) -> OperationRow {
        .with {
            $0.id = id
            $0.state = state
            $0.command = [command]
            $0.startedAt = start.map { InstantText.format(.zero + .seconds($0)) }
            $0.finishedAt = end.map { InstantText.format(.zero + .seconds($0)) }
            $0.outcome = end == nil ? nil : .succeeded
        }
    }

    private func left(_ rows: [OperationRow], earlier: [OperationRow] = [], at now: Int64) throws -> Int64? {
        let forecast = try #require(Forecast(picture, earlier: earlier))
        let known = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0) })
        return forecast.left(known, now: Instant(nanoseconds: now * 1_000_000_000)).map {
            $0.nanoseconds / 1_000_000_000
        }
    }

    @Test func `there is no estimate before an operation has finished`() throws {
        #expect(try left([row(1, .executing, from: 0, "a"), row(2, .pending, "a")], at: 3) == nil)
    }

    @Test func `the estimate is at least the duration of the longest chain`() throws {
        // 1 took 4 s. 2 has run for 1 s and needs 3 more; then 4 takes 4: 7 s. 3 needs 3: 10 s of work on two slots.
        let rows = [
            row(1, .finished, from: 0, to: 4, "a"), row(2, .executing, from: 4, "a"),
            row(3, .executing, from: 4, "a"), row(4, .pending, "a"),
        ]
        #expect(try left(rows, at: 5) == 7)
    }

    @Test func `the estimate includes all remaining work when slots are few`() throws {
        // Nothing runs: 4 + 4 + 4 s, one after the other.
        let rows = [
            row(1, .finished, from: 0, to: 4, "a"), row(2, .ready, "a"), row(3, .ready, "a"),
            row(4, .pending, "a"),
        ]
        #expect(try left(rows, at: 5) == 12)
    }

    @Test func `the estimate of very long work is a hundred years`() throws {
        let century: Int64 = 3_150_000_000
        let rows = [
            row(1, .finished, from: 0, to: century, "a"), row(2, .ready, "a"), row(3, .ready, "a"),
            row(4, .pending, "a"),
        ]
        #expect(try left(rows, at: century) == 36_525 * 86_400)
    }

    @Test func `a command is estimated by its earlier duration`() throws {
        // a took 4 s, b took 10 s; one slot is in use.
        let rows = [
            row(1, .finished, from: 0, to: 4, "a"), row(2, .finished, from: 4, to: 14, "b"),
            row(3, .executing, from: 14, "b"), row(4, .pending, "a"),
        ]
        #expect(try left(rows, at: 16) == 12, "8 of the 10 s that b took, and 4 for a")
    }

    @Test func `a command is estimated by its duration in earlier graphs`() throws {
        // Nothing has finished in this graph. Earlier, a took 6 s and b 2 s: 1 needs 5 more, 2 and 3 need 6, 4 needs 2.
        let rows = [
            row(1, .executing, from: 0, "a"), row(2, .pending, "a"), row(3, .ready, "a"),
            row(4, .pending, "b"),
        ]
        let earlier = [row(-1, .finished, from: 0, to: 6, "a"), row(-2, .finished, from: 0, to: 2, "b")]
        #expect(try left(rows, earlier: earlier, at: 1) == 19)
    }

    @Test func `an unknown operation is estimated from the durations seen in this graph`() throws {
        // a took 2 s in this graph and 6 s earlier: 4 s. c is new: it gets the average of this graph.
        let rows = [
            row(1, .finished, from: 0, to: 2, "a"), row(2, .executing, from: 2, "a"),
            row(4, .pending, "c"),
        ]
        let earlier = [row(-1, .finished, from: 0, to: 6, "a")]
        #expect(try left(rows, earlier: earlier, at: 2) == 6)
    }
}

import OpsCalendar
import OpsCore
import OpsStore
import OpsSystem
import Testing

@testable import OpsDaemon

/// Events that a selection admits although they are about no operation.
@Suite struct EventFilterTests {
    private let fixture: Fixture

    init() throws { fixture = try Fixture() }

    /// Returns the events that a selection admits.
    private func admitted(_ change: (inout OpsStore.Selection) -> Void) -> [String] {
        let instant = DecidedInstants("nightly", from: UnixTime(seconds: 0), count: 1).detail
        let events: [(name: String, report: Report)] = [
            ("daemon", Report(sequence: 1, kind: .suspended, at: .zero)),
            ("queue", Report(sequence: 2, kind: .suspended, at: .zero, detail: "big")),
            ("graph", Report(sequence: 3, kind: .suspended, graph: GraphID(3), at: .zero)),
            ("fired", Report(sequence: 4, kind: .fired, graph: GraphID(4), at: .zero, detail: instant)),
            ("skipped", Report(sequence: 5, kind: .skipped, at: .zero, detail: instant)),
        ]
        var query = OpsStore.Selection()
        change(&query)
        let filter = EventFilter(query, fixture.daemon.history)
        return events.filter { filter.admits($0.report) }.map(\.name)
    }

    @Test func `events without an operation pass only if the selection names nothing but their graph or queue`() {
        #expect(admitted { _ in } == ["daemon", "queue", "graph", "fired", "skipped"])
        #expect(admitted { $0.queue = "big" } == ["queue"])
        #expect(admitted { $0.queue = "other" } == [])
        #expect(admitted { $0.graph = GraphID(3) } == ["graph"])
        #expect(admitted { $0.graph = GraphID(4) } == ["fired"])
        #expect(admitted { ($0.graph, $0.user) = (GraphID(4), "alice") } == [])
        #expect(admitted { $0.user = "nosuch" } == [])
        #expect(admitted { $0.outcome = .failed } == [])
        #expect(admitted { $0.standings = [.held] } == [])
        #expect(admitted { $0.labels = ["a": "b"] } == [])
        #expect(admitted { $0.ids = [1...9] } == [])
    }
}

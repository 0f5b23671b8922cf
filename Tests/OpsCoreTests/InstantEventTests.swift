import Testing

@testable import OpsCore

/// Events about instants of schedules, which the scheduler only numbers and passes on.
@Suite struct InstantEventTests {
    @Test func `an instant that did not run is told, and nothing else happens`() {
        var world = World(workers: 1)
        world.after(.instantDecided(.skipped, graph: nil, detail: "2026-01-01T00:00:00.000Z 3 nightly"))
        let turn = world.last
        #expect(turn.reports.map(\.kind) == [.skipped])
        #expect(turn.reports.map(\.sequence) == [1])
        #expect(turn.reports.first?.detail == "2026-01-01T00:00:00.000Z 3 nightly")
        #expect(turn.reports.first?.operation == nil)
        #expect(turn.changes.isEmpty)
        #expect(turn.effects.isEmpty)
    }

    @Test func `an instant that ran is told with its graph`() {
        var world = World(workers: 1)
        world.after(.instantDecided(.fired, graph: GraphID(7), detail: "2026-01-01T00:00:00.000Z 1 nightly"))
        #expect(world.last.reports.map(\.graph) == [GraphID(7)])
    }
}

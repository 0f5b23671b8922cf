import OpsWire
import Testing

@testable import opsctl

@Suite struct WatchLineTests {
    /// Returns the part of the line of an event after its time.
    private func line(host: String? = nil, _ fill: (inout EventRow) -> Void) throws -> String {
        var parser = Parser(["watch", "--color", "never"])
        let event = EventRow.with { event in
            event.seq = 123_456
            fill(&event)
        }
        let line = WatchVerb.line(event, .init(), try Session(try parser.parse()), host: host)
        try #require(line.hasPrefix("123456    "), "\(line)")
        return String(line.dropFirst("123456    ".count))
    }

    @Test func `an attempt is printed once, and the first one not at all`() throws {
        let started = try line {
            ($0.id, $0.graph, $0.type, $0.attempt, $0.detail) = (3, "g1", .started, 1, "1")
            ($0.old, $0.new) = (.ready, .executing)
        }
        #expect(started == "3@g1  started  ready→executing")
        let retrying = try line { ($0.id, $0.type, $0.attempt, $0.detail) = (3, .retrying, 2, "2") }
        #expect(retrying == "3  retrying  attempt 2")
    }

    @Test func `a suspension names the queue, the graph or the daemon`() throws {
        func lines(_ fill: (inout EventRow) -> Void) throws -> [String] {
            try [nil, "one"].map { host in
                try line(host: host) {
                    $0.type = .suspended
                    fill(&$0)
                }
            }
        }
        #expect(
            try lines { ($0.queue, $0.detail) = ("nightly", "nightly") }
                == ["suspended  queue nightly", "suspended  queue one:nightly"])
        #expect(try lines { $0.graph = "g57" } == ["suspended  graph g57", "suspended  graph one:g57"])
        #expect(try lines { _ in } == ["suspended  the daemon", "suspended  the daemon of one"])
    }

    @Test func `the detail of any other event is printed`() throws {
        #expect(try line { ($0.id, $0.type, $0.detail) = (3, .edited, "priority") } == "3  edited  priority")
    }
}

import OpsCore
import OpsWire
import Testing

@testable import OpsDaemon

/// What the daemon does with starts that its runner may make by itself.
@Suite struct HandTests {
    /// In the copy something short succeeds while the pool is full, and so it has a hand of its own.
    @Test func whatWouldBeIsAskedInSeveralSentences() throws {
        let fixture = try Fixture()
        let runner = StandInRunner(fixture)
        try runner.greet()
        let operations = Array(repeating: #"{"command":["true"]}"#, count: 5).joined(separator: ",")
        #expect(try fixture.connect().submit("[\(operations)]").count == 5)
        let core = try WhatIf(daemon: fixture.daemon).answer("finish 1; cancel 5; finish 2", from: fixture.daemon.core)
        #expect(core?.executing.map(\.id.rawValue).sorted() == [3, 4])
        #expect(core?.counts.ready == 0, "5 is cancelled")
    }
}

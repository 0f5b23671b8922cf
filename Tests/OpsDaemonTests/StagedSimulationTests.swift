import OpsCore
import OpsExecutor
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon

/// The daemon with staged launches that its runner may start by itself.
@Suite struct StagedSimulationTests {
    /// A short operation succeeds in the copy while the pool is full, so the copy stages launches of its own.
    @Test func `a what-if of several commands is simulated on a copy`() throws {
        let fixture = try Fixture()
        let runner = StandInRunner(fixture)
        try runner.greet()
        let operations = Array(repeating: #"{"command":["true"]}"#, count: 5).joined(separator: ",")
        #expect(try fixture.connect().submit("[\(operations)]").count == 5)
        let found = Dictionary(uniqueKeysWithValues: [1, 2, 5].map { ("\($0)", OperationID($0)) })
        #expect(WhatIf.references("finish 1; cancel 5; finish 2; workers 3") == ["1", "2", "5"])
        let events = try WhatIf(turns: fixture.daemon.turns, found: found).events("finish 1; cancel 5; finish 2")
        let answer = try WhatIf.simulate(events, #require(fixture.daemon.turns.core), for: OperationID(5))
        #expect(answer.outcome == .cancelled)
        let core = answer.core
        #expect(core.executing.map(\.id.rawValue).sorted() == [3, 4])
        #expect(core.counts.ready == 0, "5 is cancelled")
    }

    /// Operations that the runner does not start are started by opsd.
    @Test func `an operation of a chain is staged before its predecessor has ended`() throws {
        let fixture = try Fixture()
        let runner = StandInRunner(fixture)
        try runner.greet()
        // Sent before the starts, so that each attempt counts as short.
        let exit = ProcessExit(status: .code(0), at: Clock.read())
        let chain = """
            [{"name":"a","command":["true"]},{"name":"b","command":["true"],"after":["a"]},
            {"name":"c","command":["true"],"after":["b"]}]
            """
        #expect(try fixture.connect().submit(chain).count == 3)
        try runner.listen()
        let attempts = (1...3).map { AttemptID(OperationID($0), 1) }
        #expect(runner.launches.map(\.attempt) == [attempts[0]])
        try runner.tell(.exited(attempts[0], exit, treeIsGone: true))
        try runner.listen()
        #expect(runner.launches.map(\.attempt) == [attempts[0], attempts[1]])
        let given = runner.orders.compactMap { order -> (AttemptID, [AttemptID])? in
            if case .stage(let request, let after) = order { (request.attempt, after) } else { nil }
        }
        #expect(given.map(\.0) == [attempts[2]])
        #expect(given.map(\.1) == [[attempts[1]]])
        try runner.tell(.exited(attempts[1], exit, treeIsGone: true))
        try runner.listen()
        #expect(runner.orders.contains(.revokeStaged))
        #expect(runner.launches.map(\.attempt) == attempts)
    }
}

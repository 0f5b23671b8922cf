import OpsCore
import OpsExecutor
import OpsStore
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

    /// The start of 4 is assumed when the tick is handled before the revocation. Only the confirmation begins another
    /// turn.
    @Test func `a launch that is revoked beside a large fact starts once the runner has confirmed that`() throws {
        let fixture = try Fixture()
        let turns = fixture.daemon.turns
        let runner = StandInRunner(fixture)
        try runner.greet()
        // Sent before the starts, so that the attempt counts as short.
        let exit = ProcessExit(status: .code(0), at: Clock.read())
        let first = """
            {"command":["true"]},{"command":["true"]},{"name":"a","command":["true"]},{"command":["true"]},
            {"name":"x","command":["true"],"after":["a"]}
            """
        let count = DaemonLimits.operationsInTheLoop + 100
        let skipped = Array(repeating: #"{"command":["true"],"after":["x"]}"#, count: count).joined(separator: ",")
        #expect(try fixture.connect().submit("[\(first),\(skipped)]").count == count + 5)
        try runner.listen()
        let attempts = (1...4).map { AttemptID(OperationID($0), 1) }
        try runner.tell(.exited(attempts[1], exit, treeIsGone: true))
        try runner.listen()
        #expect(turns.core?.isStaged(attempts[3]) == true)
        turns.record(.exited(attempts[2], ProcessExit(status: .code(1), at: Clock.read()), treeIsGone: true))
        turns.record(.tick)
        #expect(turns.longTurn?.isGathering == true)
        try fixture.turn { turns.longTurn == nil }
        #expect(turns.core?.state(of: OperationID(4)) == .executing)
        #expect(try fixture.daemon.store.load().staged.map(\.attempt) == [attempts[3]])
        try runner.tell(.stagingRevoked)
        try runner.listen()
        #expect(runner.launches.map(\.attempt) == attempts)
        #expect(try fixture.daemon.store.load().staged.isEmpty)
    }
}

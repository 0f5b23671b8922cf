import LaunchRecording
import OpsCore
import OpsExecutor
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon

/// opsd with a runner of protocol version 3, whose reports were recorded.
@Suite struct OlderRunnerTests {
    private let fixture: Fixture
    private let runner: StandInRunner
    private let frames: [(report: ExecutorReport, bytes: [UInt8])]

    init() throws {
        fixture = try Fixture()
        runner = StandInRunner(fixture)
        frames = try LaunchRecording.version3.frames.filter { $0.kind == .report }.map { frame in
            var reader = FrameReader<ExecutorReport>()
            reader.append(frame.bytes)
            return (try #require(try reader.next()), frame.bytes)
        }
    }

    /// Sends the first or second recorded greeting.
    private func greet(_ number: Int) throws {
        let greetings = frames.compactMap { frame -> (ExecutorGreeting, [UInt8])? in
            if case .hello(let greeting) = frame.report { (greeting, frame.bytes) } else { nil }
        }
        try #require(greetings.count == 2)
        let (greeting, bytes) = greetings[number]
        #expect(greeting.version == 3)
        try runner.greet(bytes, pid: greeting.pid)
    }

    /// Sends recorded reports, and receives the commands that follow.
    private func play(_ isWanted: (ExecutorReport) -> Bool) throws {
        let wanted = frames.filter { isWanted($0.report) }
        try #require(!wanted.isEmpty)
        for frame in wanted { try runner.tell(frame.bytes) }
        try runner.listen()
    }

    private func attempt(_ operation: Int64) -> AttemptID { AttemptID(OperationID(operation), 1) }

    private func launches(_ operation: Int64) -> Bool { runner.launches.contains { $0.attempt == attempt(operation) } }

    @Test func `its processes are adopted`() throws {
        try greet(0)
        let operations = Array(repeating: #"{"command":["true"]}"#, count: 3).joined(separator: ",")
        #expect(try fixture.connect().submit("[\(operations)]").count == 3)
        try runner.listen()
        #expect(launches(1) && launches(2) && !launches(3), "there are two slots")
        try play { if case .launched(attempt(1), _) = $0 { true } else { false } }
        try play { if case .failed(attempt(2), _, _) = $0 { true } else { false } }
        #expect(launches(3))
        try play { if case .launched(attempt(3), _) = $0 { true } else { false } }
        try play { if case .exited(attempt(1), _, _) = $0 { true } else { false } }
        try fixture.turn { fixture.daemon.turns.core?.counts.executing == 1 }
        try runner.hangUp()
        try greet(1)
        #expect(fixture.daemon.turns.core?.executing.map(\.id.rawValue) == [3])
        #expect(runner.launches.isEmpty)
        try play { if case .exited(attempt(3), _, _) = $0 { true } else { false } }
        try fixture.turn { fixture.daemon.turns.core?.counts.executing == 0 }
        try runner.listen()
        #expect(runner.orders.contains(.acknowledge(attempt(3))))
        try expectVersion3()
    }

    @Test func `launches are staged for it in its own layout`() throws {
        try greet(0)
        // Sent before the starts, so that the attempt counts as short.
        let exit = ProcessExit(status: .code(0), at: Clock.read())
        let chain = """
            [{"name":"a","command":["true"]},{"name":"b","command":["true"],"after":["a"]},
            {"name":"c","command":["true"],"after":["b"]}]
            """
        #expect(try fixture.connect().submit(chain).count == 3)
        try runner.listen()
        var bytes: [UInt8] = []
        ExecutorReport.exited(attempt(1), exit, treeIsGone: true).append(to: &bytes, for: 3)
        try runner.tell(bytes)
        try runner.listen()
        let staged = runner.orders.compactMap { command -> (AttemptID, [AttemptID])? in
            if case .stage(let request, let after) = command { (request.attempt, after) } else { nil }
        }
        #expect(staged.map(\.0) == [attempt(3)])
        #expect(staged.map(\.1) == [[attempt(2)]])
        try expectVersion3()
    }

    /// Checks that a program of version 3 can read all commands: they can be decoded, and no frame has the mark of
    /// record lengths.
    private func expectVersion3() throws {
        let kinds = LaunchRecording.frames(runner.received).map { $0[4] }
        #expect(!kinds.isEmpty)
        #expect(kinds.allSatisfy { $0 < 0x80 })
        var bytes: [UInt8] = []
        for command in runner.orders { command.append(to: &bytes, for: 3) }
        #expect(bytes == runner.received)
    }
}

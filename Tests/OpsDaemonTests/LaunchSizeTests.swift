import OpsCore
import OpsExecutor
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

/// Launches with more data than a process can be given.
@Suite struct LaunchSizeTests {
    /// A daemon with finished operations that have published 4 KiB each, and its runner.
    private struct Scene {
        let fixture: Fixture
        let runner: StandInRunner
        let client: Client

        init(results: Int) throws {
            fixture = try Fixture()
            client = try fixture.connect()
            let operations = Array(repeating: #"{"command":["true"],"held":true}"#, count: results)
            _ = try client.submit("[" + operations.joined(separator: ",") + "]")
            _ = try client.call(.with { $0.selection.all = true } as CancelRequest)
            try fixture.daemon.store.database.execute(
                """
                INSERT INTO runner VALUES (1000, 'earlier', 'boot');
                INSERT INTO attempt (operation, number, run, runner, slot, startedMonotonic, startedAt, result)
                SELECT id, 1, 1, 1000, 0, 0, 0, printf('%.4096c', 'x') FROM operation;
                UPDATE operation SET attempt = 1;
                """)
            runner = StandInRunner(fixture)
            try runner.greet()
        }

        /// Submits an operation that depends on this many of them.
        func submit(after count: Int) throws -> Int64 {
            let edges = (1...count).map { #"{"op":"\#($0)","when":"finished"}"# }.joined(separator: ",")
            return try client.submit(#"[{"command":["true"],"after":[\#(edges)]}]"#).first
        }

        func operation(_ id: Int64) throws -> OperationRow {
            try client.call(.with { $0.ref = "\(id)" } as ShowRequest).operation
        }

        /// Receives the runner's commands until an operation has ended, because its results may be read outside the
        /// loop.
        func listen(untilEnd id: Int64) throws {
            try runner.listen()
            for _ in 0..<Fixture.mostTurns {
                if try operation(id).outcome != nil { return }
                try runner.listen()
            }
        }
    }

    @Test func `an operation with too many results fails and the others start`() throws {
        let scene = try Scene(results: 1600)
        let large = try scene.submit(after: 1600)
        let other = try scene.submit(after: 3)
        try scene.listen(untilEnd: large)
        #expect(scene.runner.launches.map(\.attempt.operation.rawValue) == [other])
        #expect(scene.runner.launches.first?.environment.value(of: "OPS_RESULT_3")?.utf8.count == 4096)
        let row = try scene.operation(large)
        #expect(row.outcome == .failed)
        #expect(row.cause?.hasPrefix("cannot start: the results of its dependencies (more than 6M") == true)
        #expect(row.cause?.hasSuffix("argument list too long") == true)
    }

    @Test func `results that fit alone and not with all else are named too`() throws {
        let scene = try Scene(results: 1400)
        let edges = (1...1400).map { #"{"op":"\#($0)","when":"finished"}"# }.joined(separator: ",")
        let argument = String(repeating: "x", count: 1_000_000)
        let id = try scene.client.submit(#"[{"command":["true","\#(argument)"],"after":[\#(edges)]}]"#).first
        try scene.listen(untilEnd: id)
        #expect(scene.runner.launches.isEmpty)
        let cause = try scene.operation(id).cause
        #expect(cause?.contains("the results of its dependencies (56") == true, "\(cause ?? "")")
    }

    /// The composer limits every launch. This second limit, of the connection, is for launches that may be composed
    /// differently in the future.
    @Test func `an order above the limit of the line is not sent and the line stays`() throws {
        let fixture = try Fixture()
        let runner = StandInRunner(fixture)
        try runner.greet()
        var request = LaunchRequest(attempt: AttemptID(OperationID(1), 1), arguments: ["true"])
        request.arguments += Array(repeating: String(repeating: "x", count: 1 << 20), count: 65)
        #expect(throws: SystemError.self) { try fixture.daemon.runner.send(launch: request) }
        request.arguments = ["false"]
        try fixture.daemon.runner.send(launch: request)
        try runner.listen()
        #expect(runner.launches.map(\.arguments) == [["false"]])
        #expect(fixture.daemon.runner.isConnected)
    }

    @Test func `a condition with a long command has a short cause`() throws {
        let fixture = try Fixture()
        let runner = StandInRunner(fixture)
        try runner.greet()
        let client = try fixture.connect()
        let argument = String(repeating: "x", count: 60_000)
        let id = try client.submit(#"[{"command":["true"],"conditions":[{"exec":["false","\#(argument)"]}]}]"#).first
        try runner.listen()
        let helper = try #require(runner.launches.first?.attempt)
        try runner.tell(.exited(helper, ProcessExit(status: .code(1), at: Clock.read()), treeIsGone: true))
        try runner.listen()
        let row = try client.call(.with { $0.ref = "\(id)" } as ShowRequest).operation
        #expect(row.outcome == .failed)
        let cause = try #require(row.cause)
        #expect(cause.contains(#""false","xxx"#) && cause.utf8.count < 2000, "\(cause.utf8.count) bytes")
    }
}

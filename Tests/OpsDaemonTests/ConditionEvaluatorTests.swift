import OpsCore
import OpsExecutor
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

@Suite struct ConditionEvaluatorTests {
    /// Returns a daemon with its client and its runner.
    private func scene() throws -> (Fixture, Client, StandInRunner) {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let runner = StandInRunner(fixture)
        try runner.greet()
        return (fixture, client, runner)
    }

    /// Returns the launch with this number, from 1, as soon as the runner has received it.
    private func launch(_ number: Int, _ runner: StandInRunner) throws -> LaunchRequest {
        for _ in 0..<Fixture.mostTurns where runner.launches.count < number { try runner.listen() }
        return try #require(runner.launches.last)
    }

    private func end(_ helper: LaunchRequest, _ status: ProcessExit.Status, _ runner: StandInRunner) throws {
        try #require(helper.attempt.isHelper)
        let exit = ProcessExit(status: status, at: Clock.read())
        try runner.tell(.exited(helper.attempt, exit, treeIsGone: true))
    }

    /// Returns an operation as soon as it has finished.
    private func finished(_ id: Int64, _ client: Client, _ runner: StandInRunner) throws -> OperationRow {
        for _ in 0..<Fixture.mostTurns {
            let row = try client.call(.with { $0.ref = "\(id)" } as ShowRequest).operation
            if row.outcome != nil { return row }
            try runner.listen()
        }
        throw SystemError("wait for operation \(id)", errno: SystemError.invalid)
    }

    @Test func `the command of a condition has the results of dependencies and the secrets`() throws {
        let (fixture, client, runner) = try scene()
        _ = try client.submit(#"[{"command":["true"],"held":true}]"#)
        _ = try client.call(CancelRequest.with { $0.selection.all = true })
        try fixture.daemon.store.database.execute(
            """
            INSERT INTO runner VALUES (1000, 'earlier', 'boot');
            INSERT INTO attempt (operation, number, run, runner, slot, startedMonotonic, startedAt, result)
            VALUES (1, 1, 1, 1000, 0, 0, 0, 'yes');
            UPDATE operation SET attempt = 1;
            """)
        _ = try client.submit(
            """
            [{"command":["true"],"after":[{"op":"1","when":"finished"}],"secrets":{"TOKEN":{"file":"/t"}},
              "environment":{"TOKEN":"own"},"conditions":[{"pathExists":"/t"},{"exec":["true"]}]}]
            """)
        // The tests of opsd's own do not need them: a missing secret would hide their results.
        let first = try launch(1, runner)
        #expect(first.secrets.isEmpty && first.environment.value(of: "OPS_RESULT_1") == nil)
        try end(first, .code(0), runner)
        let command = try launch(2, runner)
        #expect(command.arguments == ["true"])
        #expect(command.environment.value(of: "OPS_RESULT_1") == "yes")
        #expect(command.secrets.map(\.name) == ["TOKEN"] && command.secrets.map(\.path) == ["/t"])
        #expect(command.environment.value(of: "TOKEN") == nil, "of two variables the first would count")
    }

    @Test(
        arguments: [
            (
                #"{"exec":["sh","-c","exit 3"]}"#, .code(3),
                #"condition 1 (exec ["sh","-c","exit 3"]) is false: exit status 3"#
            ),
            (#"{"exec":["x"]}"#, .signal(11), #"condition 1 (exec ["x"]) cannot be evaluated: killed by SIGSEGV"#),
            (
                #"{"freeSpace":{"path":"/x","atLeast":"1K"}}"#, .code(66),
                #"condition 1 (freeSpace {"path":"/x","atLeast":"1K"}) cannot be evaluated: /x: no such file or directory"#
            ),
            (
                #"{"not":{"pathExists":"/x"}}"#, .code(2),
                #"condition 1 (not {"pathExists":"/x"}) cannot be evaluated: exit status 2"#
            ),
        ] as [(String, ProcessExit.Status, String)])
    func `the cause of a condition says why`(condition: String, status: ProcessExit.Status, cause: String) throws {
        let (_, client, runner) = try scene()
        let id = try client.submit(#"[{"command":["true"],"conditions":[\#(condition)]}]"#).first
        try end(try launch(1, runner), status, runner)
        let row = try finished(id, client, runner)
        #expect(row.outcome == .failed)
        #expect(row.cause == cause)
    }

    @Test func `the cause of a condition has sizes with units`() throws {
        let (_, client, runner) = try scene()
        let id = try client.submit(#"[{"command":["true"],"conditions":[{"memoryAvailable":9663676416000}]}]"#).first
        let row = try finished(id, client, runner)
        #expect(row.cause?.hasPrefix("condition 1 (memoryAvailable 9000G) is false: ") == true, "\(row.cause ?? "")")
    }
}

import Dispatch
import Glibc
import OpsCore
import OpsExecutor
import OpsStore
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon

/// Clients that read or follow the output of an operation.
@Suite struct LogStreamTests {
    private let attempt = AttemptID(OperationID(1), 1)

    /// Delays all further reads of logs of this process's user; the returned semaphore lets them continue.
    private func blockReads(_ fixture: Fixture) throws -> DispatchSemaphore {
        let (hasBegun, isOpen) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let block: @Sendable () -> Void = {
            hasBegun.signal()
            isOpen.wait()
        }
        try fixture.daemon.requests.userThreads.run(block, for: getuid(), ownedBy: fixture, then: {})
        // Reads before this one are handled by then.
        try fixture.turn { hasBegun.wait(timeout: .now()) == .success }
        return isOpen
    }

    /// Submits an operation and starts it, with a log that the test writes.
    private func start(_ client: Client, _ runner: StandInRunner, _ fixture: Fixture) throws -> LogFile {
        _ = try client.submit(#"[{"command":["true"]}]"#)
        try runner.greet()
        try fixture.turn {
            try runner.listen()
            return runner.launches.last?.attempt == attempt
        }
        return try LogFile.create(fixture.daemon.logs.path(attempt), owner: nil)
    }

    private func write(_ text: String, to log: LogFile) throws {
        _ = try log.openForAppending().writeAll(Array(text.utf8))
    }

    private func base64(_ text: String) -> String { Base64.encode(Array(text.utf8)) }

    @Test func `a read that blocks delays no other client`() throws {
        let fixture = try Fixture()
        let (client, other) = (try fixture.connect(), try fixture.connect())
        let log = try start(client, StandInRunner(fixture), fixture)
        try write("output\n", to: log)
        let isOpen = try blockReads(fixture)
        try client.send(.with { $0.ref = "1" } as LogRequest)
        for _ in 0..<10 { _ = try other.call(StatusRequest()) }
        #expect(try !client.hasReply())
        isOpen.signal()
        let reply = try #require(try client.receive())
        #expect(try reply.result(LogReply.self).data == base64("output\n"))
    }

    @Test func `a client that leaves while its read waits delays no other`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let log = try start(client, StandInRunner(fixture), fixture)
        try write("output\n", to: log)
        let isOpen = try blockReads(fixture)
        var leaving: Client? = try fixture.connect()
        try leaving?.send(.with { $0.ref = "1" } as LogRequest)
        for _ in 0..<10 { _ = try client.call(StatusRequest()) }
        leaving = nil
        try fixture.turn { fixture.daemon.server?.connectionCount == 1 }
        isOpen.signal()
        #expect(try client.call(.with { $0.ref = "1" } as LogRequest).data == base64("output\n"))
    }

    @Test func `a client that follows a log gets what is written just before the end`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        let runner = StandInRunner(fixture)
        let log = try start(client, runner, fixture)
        try write("first\n", to: log)
        try client.send(
            .with {
                $0.ref = "1"
                $0.follow = true
            } as LogRequest, more: true)
        let first = try #require(try client.receive())
        #expect(try first.result(LogReply.self).data == base64("first\n"))

        let isOpen = try blockReads(fixture)
        try write("last\n", to: log)
        try runner.tell(.exited(attempt, ProcessExit(status: .code(0), at: Clock.read()), treeIsGone: true))
        try fixture.turn { try fixture.daemon.history.brief(of: attempt.operation)?.state == .finished }
        #expect(try !client.hasReply())
        isOpen.signal()
        let last = try #require(try client.receive())
        #expect(try last.result(LogReply.self).data == base64("last\n"))
        let end = try #require(try client.receive())
        #expect(!end.continues)
        #expect(try end.result(LogReply.self).offset == 11)
    }

    @Test func `a client that follows the second attempt waits for it when the first has failed`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"],"retry":{"limit":1,"backoff":"1ms"}}]"#)
        let runner = StandInRunner(fixture)
        try runner.greet()
        try fixture.turn { daemon.turns.core?.state(of: OperationID(1)) == .executing }
        try client.send(
            .with {
                $0.ref = "1"
                $0.attempt = 2
                $0.follow = true
            } as LogRequest, more: true)
        try fixture.turn { daemon.publisher.nextNumber > 0 }

        for number in [1, 2] as [Int32] {
            try fixture.turn {
                try runner.listen()
                return runner.launches.last?.attempt == AttemptID(OperationID(1), number)
            }
            let exit = ProcessExit(status: .code(number == 1 ? 1 : 0), at: Clock.read())
            try runner.tell(.exited(AttemptID(OperationID(1), number), exit, treeIsGone: true))
        }
        let reply = try #require(try client.receive())
        #expect(reply.failure == nil)
        #expect(try reply.result(LogReply.self).attempt == 2)
    }

    @Test func `an attempt that does not exist is named as it was asked for`() throws {
        let fixture = try Fixture()
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"],"held":true}]"#)
        for number in [0, -4_611_686_018_427_387_904] {
            let request: LogRequest = .with {
                $0.ref = "1"
                $0.attempt = number
            }
            guard case .control(.notFound("attempt", let name, _))? = try client.refusal(request) else {
                Issue.record("attempt \(number) was found")
                continue
            }
            #expect(name == "\(number)")
        }
    }
}

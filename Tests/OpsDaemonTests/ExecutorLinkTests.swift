import OpsExecutor
import OpsSystem
import Testing

@testable import OpsDaemon

/// The connection of opsd to an executor.
@Suite struct ExecutorLinkTests {
    @Test func `an executor that repeats an invalid report is connected less and less often`() throws {
        var far = ExecutorConfiguration(name: "far")
        far.kind = .slurm
        let fixture = try Fixture(executors: [far])
        let socket = try UnixSocket.listen(at: fixture.directory + "/" + LaunchProtocol.socketName(executor: far.name))
        let greeting = ExecutorGreeting(
            version: LaunchProtocol.version, instance: "e", boot: "boot", pid: 78, entries: [])
        var bytes: [UInt8] = []
        ExecutorReport.hello(greeting).append(to: &bytes, for: LaunchProtocol.version)
        // A frame of one byte, which is an unknown kind.
        bytes += [1, 0, 0, 0, 0xFF]
        let start = Clock.read().monotonic
        fixture.daemon.executors.configure([far])
        for _ in 0..<6 {
            var connection: Descriptor?
            try fixture.turn {
                connection = try UnixSocket.accept(from: socket)
                return connection != nil
            }
            _ = try connection?.writeAll(bytes)
        }
        let pauses = [20, 40, 80, 160, 320] as [Int64]
        #expect(Clock.read().monotonic - start >= .milliseconds(pauses.reduce(0, +)))
    }
}

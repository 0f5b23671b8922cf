import Glibc
import OpsLinux
import OpsRunner
import Testing

@testable import OpsDaemon

/// An opsd that finds a runner of another release.
@Suite struct RenewalTests {
    /// Listens where a runner would.
    final class Runner {
        private let listener: Descriptor
        private let fixture: Fixture
        private var connection: Descriptor?
        private var reader = FrameReader<RunnerOrder>()
        private(set) var orders: [RunnerOrder] = []

        init(_ fixture: Fixture) throws {
            self.fixture = fixture
            listener = try UnixSocket.listen(at: fixture.directory + "/" + RunnerProtocol.socketName)
        }

        /// Greets the daemon anew, as the same runner, and hears what it orders until it has answered a call of its own.
        func greet(_ release: String) throws {
            connection = nil
            fixture.daemon.runner.connect()
            var accepted: Descriptor?
            try fixture.turn {
                // swift-format-ignore
                if let fresh = try UnixSocket.accept(from: self.listener) { accepted = consume fresh; return true }
                return false
            }
            connection = accepted.take()
            reader = FrameReader()
            orders = []
            var bytes: [UInt8] = []
            let greeting = RunnerGreeting(
                version: RunnerProtocol.version, instance: "i", boot: "boot", pid: 77, entries: [], release: release)
            RunnerReport.hello(greeting).append(to: &bytes)
            _ = try connection?.writeAll(bytes)
            try fixture.turn { fixture.daemon.runner.pid == 77 }
            // One turn more: orders go out at its end.
            fixture.daemon.wakeUp()
            try fixture.loop.turn(timeout: 20_000)
            var received: [UInt8] = []
            _ = try connection?.read(atMost: 65_536, onto: &received)
            reader.append(received)
            while let order = try reader.next() { orders.append(order) }
        }

        func hangUp() throws {
            connection = nil
            try fixture.turn { !fixture.daemon.runner.isConnected }
        }
    }

    @Test(arguments: ["", "0.0.9"])
    func anOlderRunnerIsAskedOnceToBecomeTheNewProgram(release: String) throws {
        let fixture = try Fixture()
        let runner = try Runner(fixture)
        try runner.greet(release)
        #expect(runner.orders.contains(.reexecute))
        // It did, and what is installed is as old: asking for ever would help nobody.
        try runner.hangUp()
        try runner.greet(release)
        #expect(runner.orders.contains(.hello(version: RunnerProtocol.version)))
        #expect(!runner.orders.contains(.reexecute))
    }

    @Test(arguments: [Release.current.text, "99.0"])
    func othersAreLeftAsTheyAre(release: String) throws {
        let fixture = try Fixture()
        let runner = try Runner(fixture)
        try runner.greet(release)
        #expect(runner.orders.contains(.hello(version: RunnerProtocol.version)))
        #expect(!runner.orders.contains(.reexecute))
    }

    @Test func releasesCompareNumberByNumber() {
        #expect(Release.isOlder(Release("0.9.1"), than: Release("0.10.0")))
        #expect(Release.isOlder(Release(""), than: .current))
        #expect(!Release.isOlder(.current, than: .current))
    }
}

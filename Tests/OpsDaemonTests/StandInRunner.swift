import Glibc
import OpsExecutor
import OpsSystem
import OpsSystemd

@testable import OpsDaemon

/// Acts as the runner of a daemon: it greets, sends the reports of the test, and receives commands.
final class StandInRunner {
    private let fixture: Fixture
    private var connection: Descriptor?
    private var reader = FrameReader<ExecutorCommand>()
    /// Commands of the current connection, in order.
    private(set) var orders: [ExecutorCommand] = []
    /// Their bytes.
    private(set) var received: [UInt8] = []

    init(_ fixture: Fixture) { self.fixture = fixture }

    /// Greets the daemon again as the same runner, and receives its commands until it has answered a call.
    func greet(release: String = Release.current.text, knowing entries: [ExecutorGreeting.Entry] = []) throws {
        let greeting = ExecutorGreeting(
            version: LaunchProtocol.version, instance: "i", boot: "boot", pid: 77, entries: entries, release: release,
            stagesDependents: true)
        var bytes: [UInt8] = []
        ExecutorReport.hello(greeting).append(to: &bytes, for: LaunchProtocol.version)
        try greet(bytes, pid: greeting.pid)
    }

    /// Greets the daemon with these bytes, and receives its commands until it has answered a call.
    func greet(_ greeting: [UInt8], pid: Int32) throws {
        connection = nil
        fixture.daemon.runner.connect()
        var accepted: Descriptor?
        try fixture.turn {
            // The newest connection counts; the daemon has closed the earlier ones.
            while let fresh = try UnixSocket.accept(from: self.fixture.runnerSocket) { accepted = consume fresh }
            return accepted != nil
        }
        connection = accepted.take()
        reader = FrameReader()
        orders = []
        received = []
        try tell(greeting)
        try fixture.turn { fixture.daemon.runner.pid == pid }
        try listen()
    }

    func tell(_ report: ExecutorReport) throws {
        var bytes: [UInt8] = []
        report.append(to: &bytes, for: LaunchProtocol.version)
        try tell(bytes)
    }

    func tell(_ bytes: [UInt8]) throws { _ = try connection?.writeAll(bytes) }

    /// Receives all commands sent by the end of the next turn.
    func listen() throws {
        fixture.daemon.turns.wakeUp()
        try fixture.loop.turn(timeout: 20_000)
        var fresh: [UInt8] = []
        // The greeting carries a descriptor, so the rest is read separately.
        while try connection?.waitUntil(.readable, milliseconds: 0) == true {
            guard case .moved = try connection?.read(atMost: 65_536, onto: &fresh) else { break }
        }
        reader.append(fresh)
        received += fresh
        while let order = try reader.next() { orders.append(order) }
    }

    /// Launches that the daemon has requested.
    var launches: [LaunchRequest] {
        orders.compactMap { if case .launch(let request) = $0 { request } else { nil } }
    }

    func hangUp() throws {
        connection = nil
        try fixture.turn { !fixture.daemon.runner.isConnected }
    }
}

import Glibc
import OpsRunner
import OpsSystem
import OpsSystemd

@testable import OpsDaemon

/// What a daemon takes for its runner: it greets, tells what the test wants, and hears orders.
final class StandInRunner {
    private let fixture: Fixture
    private var connection: Descriptor?
    private var reader = FrameReader<RunnerCommand>()
    /// Those of the present connection, in their order.
    private(set) var orders: [RunnerCommand] = []

    init(_ fixture: Fixture) { self.fixture = fixture }

    /// Greets the daemon anew, as the same runner, and hears what it orders until it has answered a call of its own.
    func greet(release: String = Release.current.text, knowing entries: [RunnerGreeting.Entry] = []) throws {
        connection = nil
        fixture.daemon.runner.connect()
        var accepted: Descriptor?
        try fixture.turn {
            // The newest counts: those before it were closed by the daemon.
            while let fresh = try UnixSocket.accept(from: self.fixture.runnerSocket) { accepted = consume fresh }
            return accepted != nil
        }
        connection = accepted.take()
        reader = FrameReader()
        orders = []
        let greeting = RunnerGreeting(
            version: RunnerProtocol.version, instance: "i", boot: "boot", pid: 77, entries: entries, release: release,
            stagesDependents: true)
        try tell(.hello(greeting))
        try fixture.turn { fixture.daemon.runner.pid == 77 }
        try listen()
    }

    func tell(_ report: RunnerReport) throws {
        var bytes: [UInt8] = []
        report.append(to: &bytes)
        _ = try connection?.writeAll(bytes)
    }

    /// Hears what has been ordered by the end of the next turn.
    func listen() throws {
        fixture.daemon.wakeUp()
        try fixture.loop.turn(timeout: 20_000)
        var received: [UInt8] = []
        // The greeting carries a descriptor, so what follows it is read apart from it.
        while try connection?.waitUntil(.readable, milliseconds: 0) == true {
            guard case .moved = try connection?.read(atMost: 65_536, onto: &received) else { break }
        }
        reader.append(received)
        while let order = try reader.next() { orders.append(order) }
    }

    /// What was ordered to be launched.
    var launches: [LaunchRequest] {
        orders.compactMap { if case .launch(let request) = $0 { request } else { nil } }
    }

    func hangUp() throws {
        connection = nil
        try fixture.turn { !fixture.daemon.runner.isConnected }
    }
}

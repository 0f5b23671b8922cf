import OpsCore
import OpsExecutor
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

/// Failures while the effects of a turn are performed, and reports of the runner during an outage.
@Suite struct OutageTests {
    /// Creates a queue in which nothing starts.
    private static let closedQueue = SetQueueRequest.with {
        $0.name = "closed"
        $0.limit = 0
    }

    /// The first of two edits lets its operation start, and the launch reads the store after the commit.
    @Test func `a failed read at a launch acknowledges nothing`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        _ = try client.call(Self.closedQueue)
        let operations = [10, 20].map { #"{"command":["true"],"queue":"closed","timeout":\#($0)}"# }
        _ = try client.submit("[\(operations.joined(separator: ","))]")
        let runner = StandInRunner(fixture)
        try runner.greet()
        try daemon.store.database.execute("ALTER TABLE text RENAME TO elsewhere")
        try client.send(
            .with {
                $0.selection.refs = ["1-2"]
                $0.changes = JSONObject([.init("queue", "default"), .init("grace", 5)])
            } as SetRequest)
        let reply = try #require(try client.receive())
        try fixture.turn { daemon.turns.outage != nil }
        try daemon.store.database.execute("ALTER TABLE elsewhere RENAME TO text")
        try fixture.turn { daemon.turns.outage == nil }
        let queues = try daemon.store.load().operations.map(\.queue)
        #expect(runner.launches.isEmpty)
        #expect((reply.failure == nil) == (queues == [0, 0]), "\(queues)")
    }

    /// A transfer is in flight when the launch of another operation reads the store after the commit, and fails.
    /// The greeting of an executor without attempts.
    private static let hello: [UInt8] = {
        let greeting = ExecutorGreeting(
            version: LaunchProtocol.version, instance: "e", boot: "boot", pid: 78, entries: [],
            release: Release.current.text)
        var hello: [UInt8] = []
        ExecutorReport.hello(greeting).append(to: &hello, for: LaunchProtocol.version)
        return hello
    }()

    @Test func `an executor connects again after an outage and not during it`() throws {
        let fixture = try Fixture(executors: [.transfers])
        let daemon = fixture.daemon
        let socket = try UnixSocket.listen(
            at: fixture.directory + "/" + LaunchProtocol.socketName(executor: ExecutorConfiguration.transfers.name))
        daemon.executors.configure([.transfers])
        let client = try fixture.connect()
        _ = try client.call(Self.closedQueue)
        _ = try client.submit(
            #"[{"http":{"url":"http://127.0.0.1/a","to":"/nonexistent/a"}},{"command":["true"],"queue":"closed"}]"#)
        let runner = StandInRunner(fixture)
        try runner.greet()
        var connection: Descriptor?
        let awaitConnection = {
            try fixture.turn {
                connection = try UnixSocket.accept(from: socket)
                return connection != nil
            }
            _ = try connection?.writeAll(Self.hello)
        }
        try awaitConnection()
        try fixture.turn { daemon.turns.core?.state(of: OperationID(1)) == .executing }

        try daemon.store.database.execute("ALTER TABLE text RENAME TO elsewhere")
        try client.send(
            .with {
                $0.selection.refs = ["2"]
                $0.changes = JSONObject([.init("queue", "default")])
            } as SetRequest)
        try fixture.turn { daemon.turns.outage != nil }
        daemon.executors.configure([.transfers])
        let isConnected = try UnixSocket.accept(from: socket) != nil
        #expect(!isConnected, "reports during an outage are lost")
        try daemon.store.database.execute("ALTER TABLE elsewhere RENAME TO text")
        try fixture.turn { daemon.turns.outage == nil }
        try awaitConnection()
        try fixture.turn { daemon.executors.isConnected(ExecutorConfiguration.transfers.name) }
    }

    /// A more urgent operation waits for one whose job is in Slurm, which is submitted again for its new priority.
    @Test func `an operation goes on whose job cannot be submitted again`() throws {
        var far = ExecutorConfiguration(name: "far")
        far.kind = .slurm
        let fixture = try Fixture(executors: [far])
        let daemon = fixture.daemon
        let socket = try UnixSocket.listen(at: fixture.directory + "/" + LaunchProtocol.socketName(executor: far.name))
        daemon.executors.configure([far])
        let client = try fixture.connect()
        _ = try client.submit(#"[{"name":"job","command":["true"],"executor":"far"}]"#)
        let runner = StandInRunner(fixture)
        try runner.greet()
        var connection: Descriptor?
        try fixture.turn {
            connection = try UnixSocket.accept(from: socket)
            return connection != nil
        }
        _ = try connection?.writeAll(Self.hello)
        let job = OperationID(1)
        try fixture.turn { daemon.turns.core?.state(of: job) == .executing }
        var accepted: [UInt8] = []
        ExecutorReport.accepted(AttemptID(job, 1), job: "4711").append(to: &accepted, for: LaunchProtocol.version)
        _ = try connection?.writeAll(accepted)
        try fixture.turn { daemon.turns.core?.hasJob(AttemptID(job, 1)) == true }

        try daemon.store.database.execute(
            "UPDATE text SET body = 'no list' WHERE id = (SELECT command FROM operation WHERE name = 'job')")
        _ = try client.submit(#"[{"command":["false"],"after":[{"op":1}],"priority":100}]"#)
        #expect(daemon.turns.core?.effectivePriority(of: job) == 100)
        // A failure would end the operation in the next turn.
        for _ in 1...3 { try runner.listen() }
        #expect(daemon.turns.core?.state(of: job) == .executing)
    }

    @Test func `an operation whose command cannot be read fails alone`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        _ = try client.submit(#"[{"name":"bad","command":["true"]},{"name":"good","command":["false"]}]"#)
        try daemon.store.database.execute(
            "UPDATE text SET body = 'no list' WHERE id = (SELECT command FROM operation WHERE name = 'bad')")
        let runner = StandInRunner(fixture)
        try runner.greet()
        try fixture.turn { daemon.turns.core?.contains(OperationID(1)) == false }
        #expect(daemon.turns.outage == nil)
        let bad = try #require(try daemon.history.record(of: OperationID(1)))
        #expect(bad.outcome == .failed)
        #expect(bad.cause?.hasPrefix("cannot start") == true, "\(bad.cause ?? "no cause")")
        try runner.listen()
        #expect(runner.launches.map(\.attempt.operation.rawValue) == [2])
    }

    /// After an outage the scheduler asks for the observer again, although it still runs.
    @Test func `an observer that runs during an outage runs once`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"],"observers":{"finish":["true"]}}]"#)
        let runner = StandInRunner(fixture)
        try runner.greet()
        try fixture.turn { daemon.turns.core?.state(of: OperationID(1)) == .executing }
        try runner.listen()
        let exit = ProcessExit(
            status: .code(0), at: Clock.read())
        try runner.tell(.exited(try #require(runner.launches.first).attempt, exit, treeIsGone: true))
        try fixture.turn { daemon.turns.core?.contains(OperationID(1)) == false }
        try runner.listen()
        let observer = try #require(runner.launches.last).attempt
        try #require(observer.isHelper)

        try daemon.store.database.execute("PRAGMA query_only = 1")
        #expect(try client.refusal(Client.submission(#"[{"command":["true"]}]"#)) != nil)
        try daemon.store.database.execute("PRAGMA query_only = 0")
        try fixture.turn { daemon.turns.outage == nil }
        let running = LaunchedProcess(pid: 5, startTicks: 1, at: Clock.read())
        try runner.greet(knowing: [ExecutorGreeting.Entry(observer, .running(running))])
        try runner.listen()
        #expect(runner.launches.isEmpty)
        try runner.tell(.exited(observer, exit, treeIsGone: true))
        try fixture.turn { try daemon.store.load().owedObservers.isEmpty }
    }

    @Test func `a helper that times out while the runner is away is ended when it returns`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"],"held":true}]"#)
        let runner = StandInRunner(fixture)
        try runner.greet()
        let request = try #require(try daemon.composer.helper(of: OperationID(1), ["sleep", "1000"]))
        var results: [HelperResult] = []
        let helper = try #require(
            daemon.runner.helpers.start(request, timeout: .milliseconds(1)) { results.append($0) })
        daemon.runner.flush()
        daemon.runner.disconnect()
        try fixture.turn { daemon.runner.helpers.isEnding(helper) }
        let running = LaunchedProcess(pid: 5, startTicks: 1, at: Clock.read())
        try runner.greet(knowing: [ExecutorGreeting.Entry(helper, .running(running))])
        #expect(runner.orders.contains { if case .terminate(helper, _, _) = $0 { true } else { false } })
        let exit = ProcessExit(
            status: .signal(15), at: Clock.read())
        try runner.tell(.exited(helper, exit, treeIsGone: true))
        try fixture.turn { results == [.timedOut] }
    }

    /// A watcher that reconnects while the database cannot be read has made no mistake, and must not see old events
    /// again. It would, if a status named 0 as the last event.
    @Test func `a watch and a status are refused as unavailable while the database cannot be read`() throws {
        let fixture = try Fixture()
        let daemon = fixture.daemon
        let client = try fixture.connect()
        _ = try client.submit(#"[{"command":["true"],"held":true}]"#)
        try daemon.store.database.execute("ALTER TABLE meta RENAME TO elsewhere; PRAGMA query_only = 1")
        #expect(try client.refusal(Client.submission(#"[{"command":["true"]}]"#)) != nil)
        let isRead = daemon.turns.core != nil
        try #require(!isRead)
        guard case .control(.storageUnavailable)? = try client.refusal(StatusRequest()) else {
            Issue.record("a status although nothing can be read")
            return
        }
        for since in [1, nil] as [Int64?] {
            let watcher = try fixture.connect()
            try watcher.send(.with { $0.since = since } as WatchRequest, more: true)
            let refusal = try watcher.receive()?.failure
            guard case .control(.storageUnavailable) = refusal else {
                Issue.record("since \(since ?? -1): \(String(describing: refusal))")
                continue
            }
        }
        try daemon.store.database.execute("PRAGMA query_only = 0; ALTER TABLE elsewhere RENAME TO meta")
        try fixture.turn { daemon.turns.outage == nil }
    }
}

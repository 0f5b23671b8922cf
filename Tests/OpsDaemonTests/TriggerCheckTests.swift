import Dispatch
import OpsExecutor
import OpsSystem
import OpsSystemd
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

/// Checks of triggers. The test acts as the runner that starts their processes.
@Suite struct TriggerCheckTests {
    private let fixture: Fixture
    private let runner: StandInRunner

    init() throws {
        fixture = try Fixture()
        runner = StandInRunner(fixture)
    }

    /// Stores a schedule, which the daemon has not loaded yet. Returns its id.
    private func add(
        _ name: String, onPath glob: String, _ operations: String = #"[{"command":["true"]}]"#, of user: UInt32? = nil,
        overlap: String? = nil
    ) throws -> Int64 {
        let request: AddScheduleRequest = .with {
            $0.name = name
            $0.onPath = glob
            $0.settle = "0s"
            $0.batch = true
            if let overlap { $0.overlap = overlap }
            $0.zone = "UTC"
            $0.operations = RawElements(Array(operations.utf8))
        }
        var writer = JSONWriter()
        request.write(to: &writer)
        let user = user ?? fixture.daemon.authorization.daemonUser
        let stored = StoredSchedule(
            uid: user, user: "\(user)", gid: user, name: name, definition: writer.text, addedAt: Clock.read().wall)
        return try #require(try fixture.daemon.store.add(stored))
    }

    /// Waits until the daemon has started this many checks.
    private func waitForChecks(_ count: Int) throws {
        try fixture.turn {
            try runner.listen()
            return runner.launches.count >= count
        }
        #expect(runner.launches.count == count)
    }

    /// Ends the process of the latest check.
    private func endCheck(status: Int32 = 0) throws {
        let attempt = try #require(runner.launches.last).attempt
        try runner.tell(.exited(attempt, ProcessExit(status: .code(status), at: Clock.read()), treeIsGone: true))
        try fixture.turn { fixture.daemon.runner.helpers.isIdle }
    }

    @Test func `checks that a pause has stopped leave their slots to others`() throws {
        for number in 0..<5 { _ = try add("drop\(number)", onPath: "/nowhere/\(number)/*") }
        try runner.greet()
        let schedules = fixture.daemon.schedules
        try schedules.load()
        try waitForChecks(2)
        let checked = runner.launches.map(\.arguments)
        for schedule in schedules.all where checked.contains(schedule.definition.trigger?.arguments ?? []) {
            try schedules.setPaused(schedule, true)
        }
        #expect(schedules.all.count(where: { $0.isPaused }) == 2)
        try waitForChecks(4)
    }

    @Test func `a run whose files do not fit its graph is refused once`() throws {
        let marks = String(repeating: "${file}", count: 5000)
        let id = try add("large", onPath: "/in/*", #"[{"command":["true","\#(marks)"]}]"#)
        try runner.greet()
        try fixture.daemon.schedules.load()
        try waitForChecks(1)
        let path = "/in/" + String(repeating: "x", count: 4000)
        let list = Array("1 2 3.5 4 \(path)\02 \(path)\0".utf8)
        try Files.replaceWithoutSync(fixture.directory + "/triggers/\(id)/out", with: list, mode: 0o600)
        try endCheck()
        let history = fixture.daemon.history
        try fixture.turn { try !history.instants(of: id, limit: 1).isEmpty }
        let record = try #require(try history.instants(of: id, limit: 1).first)
        #expect(record.result == .refused && record.graph == nil && record.key == path)
        #expect(record.note?.contains("\(ScheduleLimits.filledBytes)") == true)
        let key = TriggerKey(key: path, identity: "1 2 3.5 4")
        #expect(try history.newKeys(among: [key], of: id, limit: 1).isEmpty)
    }

    @Test func `a batch with more paths than a variable can contain becomes several runs`() throws {
        let id = try add("large", onPath: "/in/*")
        try runner.greet()
        try fixture.daemon.schedules.load()
        try waitForChecks(1)
        let paths = (10..<70).map { "/in/\($0)" + String(repeating: "x", count: 4000) }
        let list = paths.map { "1 2 3.5 4 \($0)\02 \($0)\0" }.joined()
        try Files.replaceWithoutSync(
            fixture.directory + "/triggers/\(id)/out", with: Array(list.utf8), mode: 0o600)
        try endCheck()
        let history = fixture.daemon.history
        try fixture.turn { try history.instants(of: id, limit: 10).count >= 3 }
        let records = try history.instants(of: id, limit: 10)
        #expect(records.map(\.result) == [.run, .run, .run])
        #expect(records.compactMap(\.note).sorted() == ["10 files", "25 files", "25 files"])
        let keys = paths.map { TriggerKey(key: $0, identity: "1 2 3.5 4") }
        #expect(try history.newKeys(among: keys, of: id, limit: 1).isEmpty)
    }

    @Test(arguments: ["cancel", "skip", "queueOne"])
    func `files that do not fit into a batch wait for the end of its run`(overlap: String) throws {
        let id = try add("large", onPath: "/in/*", overlap: overlap)
        try runner.greet()
        try fixture.daemon.schedules.load()
        try waitForChecks(1)
        let paths = (10..<70).map { "/in/\($0)" + String(repeating: "x", count: 4000) }
        let list = Array(paths.map { "1 2 3.5 4 \($0)\02 \($0)\0" }.joined().utf8)
        let history = fixture.daemon.history
        for run in 1...3 {
            try Files.replaceWithoutSync(fixture.directory + "/triggers/\(id)/out", with: list, mode: 0o600)
            try endCheck()
            var attempt: AttemptID?
            try fixture.turn {
                try runner.listen()
                attempt = runner.launches.map(\.attempt).last { !$0.isHelper }
                return runner.launches.count { !$0.attempt.isHelper } == run
            }
            #expect(try history.instants(of: id, limit: 10).map(\.result) == Array(repeating: .run, count: run))
            let exit = ProcessExit(status: .code(0), at: Clock.read())
            try runner.tell(.exited(try #require(attempt), exit, treeIsGone: true))
            if run < 3 { try waitForChecks(2 * run + 1) }
        }
        let notes = try history.instants(of: id, limit: 10).compactMap(\.note)
        #expect(notes.sorted() == ["10 files", "25 files", "25 files"])
    }

    /// Returns the daemon's reasons why a schedule waits.
    private func reasons(_ name: String) throws -> [String] {
        try fixture.connect().call(.with { $0.name = name } as WhyScheduleRequest).waitingFor.map(\.text)
    }

    @Test func `a check whose process cannot start or finds no command is explained until one succeeds`() throws {
        _ = try add("drop", onPath: "/nowhere/*")
        try runner.greet()
        try fixture.daemon.schedules.load()
        try waitForChecks(1)
        let attempt = try #require(runner.launches.last).attempt
        try runner.tell(.failed(attempt, step: "directory", errno: SystemError.noSuchFile))
        try fixture.turn { fixture.daemon.runner.helpers.isIdle }
        #expect(try reasons("drop").contains("its last check failed: directory: No such file or directory"))
        let schedule = try #require(fixture.daemon.schedules.all.first)
        fixture.daemon.schedules.triggers.wake(schedule)
        try waitForChecks(2)
        try endCheck(status: 127)
        #expect(try reasons("drop").contains { $0.hasSuffix("a command was not found (exit status 127)") })
        fixture.daemon.schedules.triggers.wake(schedule)
        try waitForChecks(3)
        try endCheck()
        #expect(try !reasons("drop").contains { $0.hasPrefix("its last check failed") })
    }

    @Test func `a run that an outage has stopped starts after it`() throws {
        let id = try add("drop", onPath: "/in/*")
        let daemon = fixture.daemon
        let list = Array("1 2 3.5 4 /in/a\02 /in/a\0".utf8)
        try runner.greet()
        try daemon.schedules.load()
        try waitForChecks(1)
        try Files.replaceWithoutSync(fixture.directory + "/triggers/\(id)/out", with: list, mode: 0o600)
        try daemon.store.database.execute("PRAGMA query_only = 1")
        try endCheck()
        try fixture.turn { daemon.turns.outage != nil }
        try daemon.store.database.execute("PRAGMA query_only = 0")
        try fixture.turn { daemon.turns.outage == nil }
        try runner.greet()
        try waitForChecks(1)
        try Files.replaceWithoutSync(fixture.directory + "/triggers/\(id)/out", with: list, mode: 0o600)
        try endCheck()
        try fixture.turn { try !daemon.history.instants(of: id, limit: 1).isEmpty }
        let records = try daemon.history.instants(of: id, limit: 10)
        #expect(records.map(\.result) == [.run] && records.first?.key == "/in/a")
    }

    @Test func `the output of checks is removed with its schedule, and at the next start`() throws {
        let id = try add("drop", onPath: "/nowhere/*")
        let directory = fixture.directory + "/triggers"
        try Files.makePrivateDirectory(directory)
        let own = ["\(id)"]
        for name in own + ["\(id + 7)"] {
            try Files.makePrivateDirectory(directory + "/" + name)
            try Files.replaceWithoutSync(directory + "/" + name + "/out", with: [1], mode: 0o600)
        }
        // An older opsd had files instead.
        try Files.replaceWithoutSync(directory + "/\(id + 8).err", with: [1], mode: 0o600)
        try fixture.daemon.schedules.load()
        try fixture.turn { try Files.list(directory).sorted() == own }
        let client = try fixture.connect()
        _ = try client.call(.with { $0.name = "drop" } as RemoveScheduleRequest)
        try fixture.turn { try Files.list(directory).isEmpty }
    }

    @Test func `a directory that was made again is watched again`() throws {
        let directory = fixture.directory + "/in"
        try Files.makeDirectories(directory, mode: 0o700)
        _ = try add("drop", onPath: directory + "/*")
        try runner.greet()
        try fixture.daemon.schedules.load()
        // Every new watch causes another check, for the files that came before it.
        for count in 1...2 {
            try waitForChecks(count)
            try endCheck()
        }
        try waitForThread()
        try Files.removeDirectory(directory)
        try Files.makeDirectories(directory, mode: 0o700)
        for count in 3...4 {
            try waitForChecks(count)
            try endCheck()
        }
        try Files.replaceWithoutSync(directory + "/a", with: [1], mode: 0o600)
        try waitForChecks(5)
    }

    /// Waits for what the thread of the daemon's user has to do.
    private func waitForThread() throws {
        var isDone = false
        let user = fixture.daemon.authorization.daemonUser
        try fixture.daemon.schedules.triggers.threads.run({}, for: user, ownedBy: fixture, then: { isDone = true })
        try fixture.turn { isDone }
    }

    /// A file system that does not answer would stop the daemon. Here the directory appears while the thread waits.
    @Test func `the loop does not wait for the directory of a trigger`() throws {
        let directory = fixture.directory + "/in"
        _ = try add("drop", onPath: directory + "/*")
        try runner.greet()
        try fixture.daemon.schedules.load()
        try waitForChecks(1)
        let (isOpen, user) = (DispatchSemaphore(value: 0), fixture.daemon.authorization.daemonUser)
        try fixture.daemon.schedules.triggers.threads.run({ isOpen.wait() }, for: user, ownedBy: fixture, then: {})
        defer { isOpen.signal() }
        try endCheck()
        try Files.makeDirectories(directory, mode: 0o700)
        isOpen.signal()
        // A new watch causes another check.
        try waitForChecks(2)
    }

    @Test(.enabled(if: Identity.uid == 0, "others have no schedules of other users"))
    func `a directory that its owner cannot read is not watched`() throws {
        let directory = fixture.directory + "/in"
        try Files.makeDirectories(directory, mode: 0o700)
        _ = try add("drop", onPath: directory + "/*", of: 1)
        try runner.greet()
        try fixture.daemon.schedules.load()
        try waitForChecks(1)
        // The user, who can preload a library, has chosen the status.
        try endCheck(status: 0)
        try Files.replaceWithoutSync(directory + "/a", with: [1], mode: 0o600)
        // An event would cause a check within a second.
        for _ in 0..<100 { try fixture.loop.turn(timeout: 20_000) }
        try runner.listen()
        #expect(runner.launches.count == 1)
    }
}

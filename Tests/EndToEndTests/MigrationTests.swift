import CSQLite
import Foundation
import OpsTesting
import Testing

/// The first start of a later release with the database of an earlier one.
@Suite struct MigrationTests {
    private func machine(_ fixture: String) throws -> Machine {
        let machine = try Machine(start: false)
        var handle: OpaquePointer?
        defer { sqlite3_close(handle) }
        sqlite3_open(machine.state + "/opsd.db", &handle)
        try #require(sqlite3_exec(handle, fixture, nil, nil, nil) == SQLITE_OK)
        return machine
    }

    @Test func `the timeout is extended at the service manager before a migration`() throws {
        let machine = try machine(fixture001)
        let said = try machine.start()
        // The migration of a large database may take minutes, so its message must come before everything that takes
        // long.
        let first = try #require(said.first)
        #expect(first.hasPrefix("EXTEND_TIMEOUT_USEC="), "\(said)")
        #expect(Int(first.split(separator: "=")[1]).map { $0 >= 60_000_000 } == true, "\(said)")
        #expect(said.contains("READY=1"))
        #expect(FileManager.default.fileExists(atPath: machine.state + "/opsd.db.v1"), "a migration it was")
    }

    @Test func `operations of an old database are there after its migration`() throws {
        let machine = try machine(fixture001)
        try machine.start()
        let rows = try machine.ok("ls", "--all", "--json").objects
        #expect(rows.compactMap { $0["id"] as? Int } == [1, 2, 3])
        #expect(rows.first?["cause"] as? String == "exit status 2")
        try machine.ok("check")
        #expect(try machine.submit("--hold", "--", "true") == 4)
    }
}

import Foundation
import Glibc
import Testing

@Suite struct BackupTests {
    /// The steps of docs/OPERATIONS.md, without a systemd.
    @Test func aBackupIsTheDatabaseOfThatMoment() throws {
        let machine = try Machine()
        let early = try machine.submit("--hold", "--name", "early", "--", "true")
        let copy = machine.state + "/copy.db"
        let reply = try machine.ok("backup", copy, "--json").object
        #expect((reply["bytes"] as? Int ?? 0) > 0)
        _ = try machine.submit("--hold", "--name", "late", "--", "true")
        machine.daemon?.signal(SIGTERM)
        _ = try machine.daemon?.wait(seconds: 20)
        let files = FileManager.default
        for end in ["", "-wal", "-shm"] where files.fileExists(atPath: machine.state + "/opsd.db" + end) {
            try files.removeItem(atPath: machine.state + "/opsd.db" + end)
        }
        try files.copyItem(atPath: copy, toPath: machine.state + "/opsd.db")
        try machine.start()
        #expect(try machine.ok("check").out == "the database is whole\n")
        #expect(try machine.stateOf("early") == "ready")
        #expect(try machine.ctl("show", "late").status == 4)
        try machine.ok("resume", "\(early)")
        try machine.ok("wait", "early")
    }

    @Test func aPlaceThatCannotBeWrittenIsRefused() throws {
        let machine = try Machine()
        let output = try machine.ctl("backup", "/no/such/place/copy.db")
        #expect(output.status == 5 && output.err.contains("/no/such/place/copy.db"), "\(output.err)")
        #expect(try machine.ctl("backup").status == 2)
    }
}

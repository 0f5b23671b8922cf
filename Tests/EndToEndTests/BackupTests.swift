import Foundation
import Glibc
import Testing

@Suite struct BackupTests {
    /// Follows the steps of docs/OPERATIONS.md, without systemd.
    @Test func `a backup contains the database of that moment`() throws {
        let machine = try Machine()
        let early = try machine.submit("--hold", "--name", "early", "--", "true")
        let place = try Place()
        let copy = place.path + "/copy.db"
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
        #expect(try machine.ok("check").out == "database OK\n")
        #expect(try machine.stateOf("early") == "ready")
        #expect(try machine.ctl("show", "late").status == 4)
        try machine.ok("resume", "\(early)")
        try machine.ok("wait", "early")
    }

    /// A directory for copies.
    private final class Place {
        let path: String

        init() throws {
            path = "/tmp/opsd-copies-" + String(UInt32.random(in: 0 ... .max), radix: 36)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }

        var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path))?.sorted() ?? [] }

        func mode(of name: String) throws -> Int? {
            try FileManager.default.attributesOfItem(atPath: path + "/" + name)[.posixPermissions] as? Int
        }

        // A directory that is left in /tmp is not a failure.
        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    @Test func `a backup to a place that cannot be written is refused`() throws {
        let machine = try Machine()
        let output = try machine.ctl("backup", "/no/such/place/copy.db")
        #expect(output.status == 5 && output.err.contains("/no/such/place/copy.db"), "\(output.err)")
        #expect(try machine.ctl("backup").status == 2)
    }

    private func databases(_ machine: Machine) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: machine.state).filter { $0.contains("db") }.sorted()
    }

    @Test func `a backup never touches the state directory`() throws {
        let machine = try Machine()
        let place = try Place()
        let id = try machine.submit("--hold", "--", "true")
        try FileManager.default.createSymbolicLink(atPath: place.path + "/state", withDestinationPath: machine.state)
        try FileManager.default.createDirectory(
            atPath: machine.state + "/logs/7", withIntermediateDirectories: true)
        try FileManager.default.linkItem(atPath: machine.state + "/opsd.db", toPath: place.path + "/same.db")
        let before = try databases(machine)
        let inside = [
            "opsd.db", "opsd.db-wal", "opsd.db-shm", "lock", "runner.lock", "new.db", "logs/7/copy.db",
            "logs/../opsd.db",
        ]
        let paths =
            inside.map { machine.state + "/" + $0 }
            + [place.path + "/state/opsd.db", place.path + "/state/logs/7/x", place.path + "/same.db"]
        for path in paths {
            for words in [["backup", path], ["backup", "--force", path]] {
                let output = try machine.begin(words).wait()
                #expect(output.status == 5, "\(words): \(output.out)\(output.err)")
                #expect(output.err.contains("opsd") && !output.err.contains("resumes by itself"), "\(output.err)")
            }
        }
        #expect(try databases(machine) == before)
        #expect(try FileManager.default.contentsOfDirectory(atPath: machine.state + "/logs/7").isEmpty)
        #expect(try machine.submit("--hold", "--", "true") == id + 1, "it goes on")
        #expect(try machine.ok("check").out == "database OK\n")
    }

    @Test func `a backup replaces an earlier one and nothing else`() throws {
        let machine = try Machine()
        let place = try Place()
        let letter = place.path + "/letter"
        try "Dear Ann".write(toFile: letter, atomically: false, encoding: .utf8)
        try FileManager.default.createSymbolicLink(atPath: place.path + "/link", withDestinationPath: letter)
        try FileManager.default.createDirectory(atPath: place.path + "/folder", withIntermediateDirectories: false)
        mkfifo(place.path + "/pipe", 0o600)
        for name in ["letter", "link", "folder", "pipe", "folder/", "folder/."] {
            let output = try machine.ctl("backup", place.path + "/" + name)
            #expect(output.status == 5 && output.err.contains(place.path), "\(name): \(output.err)")
        }
        #expect(try String(contentsOfFile: letter, encoding: .utf8) == "Dear Ann")
        for name in ["copy.db", "copy.db", "pipe", "link", "letter"] {
            try machine.ok("backup", "--force", place.path + "/" + name)
            #expect(try place.mode(of: name) == 0o600)
        }
        try machine.ok("backup", place.path + "/copy.db")
        for words in [["backup"], ["backup", "--force"]] {
            let output = try machine.begin(words + [place.path + "/folder"]).wait()
            #expect(output.status == 5 && output.err.contains("is a directory; name a file in it"), "\(output.err)")
        }
        #expect(place.names == ["copy.db", "folder", "letter", "link", "pipe"])
    }

    @Test(.enabled(if: geteuid() == 0, "only root can make a device"))
    func `a backup never replaces a device`() throws {
        let machine = try Machine()
        let place = try Place()
        let device = place.path + "/null"
        try #require(mknod(device, S_IFCHR | 0o600, 1 << 8 | 3) == 0)
        let output = try machine.ctl("backup", "--force", device)
        #expect(output.status == 5 && output.err.contains("is a device"), "\(output.err)")
        #expect(place.names == ["null"])
    }

    @Test func `a backup does not replace a database that is in use`() throws {
        let machine = try Machine()
        let place = try Place()
        try machine.ok("backup", place.path + "/copy.db")
        try Data([1]).write(to: URL(fileURLWithPath: place.path + "/copy.db-wal"))
        let output = try machine.ctl("backup", "--force", place.path + "/copy.db")
        #expect(output.status == 5 && output.err.contains("copy.db-wal"), "\(output.err)")
    }

    @Test func `a backup that fails leaves nothing behind`() throws {
        let machine = try Machine()
        let place = try Place()
        for path in ["/", "/.", place.path + "/none/../x", place.path + "/folder", "/proc/x", "/dev/full/x"] {
            if path.hasSuffix("/folder") {
                try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
            }
            for words in [["backup", path], ["backup", "--force", path]] {
                let output = try machine.begin(words).wait()
                #expect(output.status == 5, "\(words): \(output.err)")
                #expect(!output.err.contains("resumes by itself"), "\(output.err)")
            }
        }
        #expect(place.names == ["folder"])
    }
}

import Foundation
import Glibc
import Testing

/// States in which opsd refuses to start: the message contains the fault, the place and the remedy, and nothing is
/// changed.
@Suite struct RefusedStartTests {
    /// Returns a machine whose state directory has been used, with all programs ended.
    private func used() throws -> Machine {
        let machine = try Machine()
        _ = try machine.submit("--hold", "--", "true")
        try machine.ok("cancel", "--all")
        machine.daemon?.signal(SIGTERM)
        _ = try machine.daemon?.wait(seconds: 20)
        return machine
    }

    /// Returns names, modes and contents of all files.
    private func all(_ directory: String) throws -> [String: String] {
        var found: [String: String] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory) {
            // The runner removes its own files when it ends because it is idle.
            if name.hasPrefix("runner") || name.hasPrefix("notify") { continue }
            let path = directory + "/" + name
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            guard attributes[.type] as? FileAttributeType == .typeRegular else { continue }
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            // Reading a database may leave an empty log and its index.
            if name.hasSuffix("-shm") || name.hasSuffix("-wal") && bytes.isEmpty { continue }
            found[name] = "\(attributes[.posixPermissions] ?? 0) \(bytes.count) \(bytes.hashValue)"
        }
        return found
    }

    private func start(_ machine: Machine, _ more: String...) throws -> Output {
        let arguments = ["--state", machine.state, "--socket", machine.state + "/other.sock"] + more
        return try Command(Machine.programs + "/opsd", arguments, environment: Machine.environment, in: "/").wait(
            seconds: 30)
    }

    private func expectRefusal(_ machine: Machine, _ words: [String]) throws {
        let before = try all(machine.state)
        let output = try start(machine)
        #expect(output.status != 0 && output.out.isEmpty)
        for word in words { #expect(output.err.contains(word), "\"\(word)\" is not in: \(output.err)") }
        #expect(output.err.split(separator: "\n").count == 1, "one line: \(output.err)")
        #expect(try all(machine.state) == before)
    }

    /// Expects that a changed database is refused, and that the unchanged one is accepted again.
    private func expectRefusal(after change: (inout Data) -> Void, _ words: String...) throws {
        let machine = try used()
        let database = URL(fileURLWithPath: machine.state + "/opsd.db")
        let sound = try Data(contentsOf: database)
        var changed = sound
        change(&changed)
        try changed.write(to: database)
        try expectRefusal(machine, [database.path] + words)
        try sound.write(to: database)
        try machine.start()
    }

    @Test func `opsd does not start with a damaged database`() throws {
        try expectRefusal(
            after: { $0.replaceSubrange(100..<300, with: Data(repeating: 0xa5, count: 200)) },
            "nothing was changed", "backup", ".recover")
    }

    @Test func `a database that was cut to nothing`() throws {
        let machine = try Machine()
        let id = try machine.submit("--", "true")
        try machine.ok("wait", "\(id)")
        machine.daemon?.signal(SIGTERM)
        _ = try machine.daemon?.wait(seconds: 20)
        let database = URL(fileURLWithPath: machine.state + "/opsd.db")
        let sound = try Data(contentsOf: database)
        try Data().write(to: database)
        try expectRefusal(machine, [database.path, "it is empty", "nothing was changed", "backup"])
        try sound.write(to: database)
        try machine.start()
    }

    @Test func `opsd does not start with a file that is no database`() throws {
        try expectRefusal(
            after: { $0 = Data("a letter".utf8) }, "not an SQLite database", "nothing was changed", "--state")
    }

    @Test func `opsd does not start with a database of a newer version`() throws {
        // Offset of the schema version in the file format.
        try expectRefusal(
            after: { $0.replaceSubrange(60..<64, with: [0, 0, 3, 231]) }, "version 999", "install the newer opsd",
            "backup")
    }

    @Test func `a directory in place of the lock`() throws {
        let machine = try used()
        try FileManager.default.removeItem(atPath: machine.state + "/lock")
        try FileManager.default.createDirectory(atPath: machine.state + "/lock", withIntermediateDirectories: false)
        try expectRefusal(machine, [machine.state + "/lock", "Is a directory", "move away", "start opsd again"])
        #expect(try !start(machine).err.contains("resumes by itself"))
        try FileManager.default.removeItem(atPath: machine.state + "/lock")
        try machine.start()
    }

    /// Modes of files do not restrict root.
    @Test(.enabled(if: geteuid() != 0, "SKIPPED: root may write everything"))
    func `a lock that cannot be written`() throws {
        let machine = try used()
        chmod(machine.state + "/lock", 0o400)
        try expectRefusal(machine, ["writable for opsd", "start opsd again"])
        #expect(try !start(machine).err.contains("resumes by itself"))
        chmod(machine.state + "/lock", 0o600)
        try machine.start()
    }

    @Test func `a second daemon on the same state refuses to start`() throws {
        let machine = try Machine()
        let id = try machine.submit("--hold", "--", "true")
        let output = try start(machine)
        #expect(output.status != 0)
        for word in ["another opsd", machine.state, "--state"] { #expect(output.err.contains(word), "\(output.err)") }
        #expect(try machine.stateOf(id) == "ready", "the first goes on")
    }

    @Test func `opsd does not start with a state directory that others can write`() throws {
        let machine = try used()
        chmod(machine.state, 0o777)
        try expectRefusal(machine, [machine.state, "written by others", "chmod 700"])
        chmod(machine.state, 0o700)
        try machine.start()
    }
}

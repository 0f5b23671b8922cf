import Foundation
import Glibc
import TestSupport
import Testing

/// Accounts that are removed, added or renumbered: opsd and its runner use a user database made by the test.
@Suite struct AccountTests {
    private final class Users {
        private let temporary = TemporaryDirectory()
        var directory: String { temporary.path }
        private var passwd: String { directory + "/passwd" }
        private var group: String { directory + "/group" }

        init() throws {
            try write(accounts: [], groups: [])
        }

        /// Writes both files in place, because they are mounted.
        func write(accounts: [String], groups: [String]) throws {
            for (path, base, lines) in [(passwd, "/etc/passwd", accounts), (group, "/etc/group", groups)] {
                let text = try String(contentsOfFile: base, encoding: .utf8) + lines.map { $0 + "\n" }.joined()
                try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            }
        }

        /// Beginning of a command that runs the rest of it with this user database.
        var wrapper: [String] {
            let script = "mount --bind \"$1\" /etc/passwd; mount --bind \"$2\" /etc/group; shift 2; exec \"$@\""
            return ["/usr/bin/unshare", "--mount", "/bin/sh", "-ec", script, "sh", passwd, group]
        }

        /// True if this process may create a mount namespace.
        static let isPossible: Bool = {
            let trial = try? Command(
                "/usr/bin/unshare", ["--mount", "true"], environment: Machine.environment, in: "/")
            return geteuid() == 0 && (try? trial?.wait().status) == 0
        }()
    }

    private static let condition: ConditionTrait = .enabled(
        if: Users.isPossible, "NOT RUN: only root can give opsd a user database of its own")

    @Test(condition) func `an operation runs as the uid that its user had at submission`() throws {
        let users = try Users()
        try users.write(accounts: ["opsmover:x:54321:54321::/old:/bin/sh"], groups: ["opsold:x:60001:opsmover"])
        let machine = try Machine(start: false)
        try machine.start(within: users.wrapper)
        let report = "echo $(id -ru) $(id -rg) $(id -G) $HOME"
        try machine.ok("submit", "--user", "opsmover", "--shell", report)
        try machine.ok("submit", "--hold", "--user", "opsmover", "--shell", report)
        try machine.ok("wait", "1")
        try #require(
            try machine.ok("log", "1").out == "54321 54321 54321 60001 /old\n", "the user database is the test's")
        // The name now belongs to another account, which is in another group.
        try users.write(accounts: ["opsmover:x:54999:54999::/new:/bin/sh"], groups: ["opsnew:x:60002:opsmover"])
        try machine.ok("resume", "2")
        try machine.ok("wait", "2")
        let words = try machine.ok("log", "2").out.split(whereSeparator: \.isWhitespace)
        #expect(words.prefix(3) == ["54321", "54321", "54321"], "neither the uid nor the groups of the new account")
        #expect(!words.contains("/new"))
    }

    @Test(condition) func `the groups of a submitter are those of the uid`() throws {
        let users = try Users()
        try users.write(accounts: ["opsmover:x:54321:54321::/old:/bin/sh"], groups: ["opsold:x:60001:opsmover"])
        let machine = try Machine(start: false)
        try machine.start(within: users.wrapper)
        chmod(machine.state, 0o711)
        chmod(machine.socket, 0o666)
        try machine.ok("suspend")
        let submitted = try Self.run(as: 54321, machine, ["submit", "--shell", "id -G"])
        try #require(submitted.status == 0, "\(submitted.err)")
        try users.write(accounts: ["opsmover:x:54999:54999::/new:/bin/sh"], groups: ["opsnew:x:60002:opsmover"])
        try machine.ok("resume")
        try machine.ok("wait", "1")
        #expect(try machine.ok("log", "1").out == "54321\n")
    }

    @Test(condition) func `a uid without account is not taken for an account of that name`() throws {
        let users = try Users()
        try users.write(accounts: ["12345:x:54321:54321::/:/bin/sh"], groups: [])
        let machine = try Machine(start: false)
        try machine.start(within: users.wrapper)
        chmod(machine.state, 0o711)
        chmod(machine.socket, 0o666)
        let refused = try Self.run(as: 12345, machine, ["submit", "--user", "12345", "--shell", "id -ru"])
        #expect(refused.status == 5, "\(refused.out)\(refused.err)")
        #expect(refused.err.contains("only root may submit as another user"), "\(refused.err)")
        // Without an account of that name, the number stands for itself.
        try users.write(accounts: [], groups: [])
        let submitted = try Self.run(as: 12345, machine, ["submit", "--user", "12345", "--shell", "id -ru"])
        try #require(submitted.status == 0, "\(submitted.err)")
        let id = submitted.out.trimmingCharacters(in: .whitespacesAndNewlines)
        try machine.ok("wait", id)
        #expect(try machine.ok("log", id).out == "12345\n")
    }

    /// Runs opsctl as a user without groups.
    private static func run(as user: Int, _ machine: Machine, _ words: [String]) throws -> Output {
        let place = machine.state + "/public"
        mkdir(place, 0o755)
        defer { try? FileManager.default.removeItem(atPath: place) }  // a leftover in /tmp is no failure
        // Another process makes the copy: a file that this process has open for writing could be inherited by a program
        // of another test, and then the kernel refuses to run it.
        _ = try Command(
            "/bin/cp", [Machine.programs + "/opsctl", place], environment: Machine.environment, in: "/"
        ).wait()
        return try Command(
            "/usr/bin/setpriv",
            ["--reuid", "\(user)", "--regid", "\(user)", "--clear-groups", place + "/opsctl"] + words,
            environment: ["OPS_SOCKET": machine.socket, "PATH": "/usr/bin:/bin"], in: "/"
        ).wait()
    }
}

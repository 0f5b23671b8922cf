import Foundation
import Testing

/// Every command in a document must work. DocumentedCommandsTests+Guide.swift tests the guide, and the pages that are
/// sessions like those of the guide.
@Suite struct DocumentedCommandsTests {
    /// Beginnings of the commands that cannot run here, with the tests that run them.
    static let elsewhere = [
        "apt install": "installs packages: `make deb` builds them, CI installs them",
        "adduser": "changes the machine's users",
        "systemctl": "needs a systemd: scripts/boot-test boots one",
        "systemd-sysusers": "needs a systemd: scripts/boot-test boots one",
        "journalctl": "needs a systemd: scripts/boot-test boots one",
        "mv /var/lib/opsd": "between two calls of systemctl; BackupTests goes the same way",
        "install -m 600": "between two calls of systemctl; BackupTests goes the same way",
        "varlinkctl": "ProtocolTests runs it where it is installed",
        "printf": "ProtocolTests runs it where socat is installed",
        "opsctl top": "needs a terminal: TopTests gives it one",
        "opsctl web": "runs until it is ended: WebProgramTests runs opsd-web",
        "opsctl run -f": "ExamplesTests runs the files of examples/, with values for what they leave open",
        "opsctl submit -f": "ExamplesTests runs the files of examples/, with values for what they leave open",
        "opsctl watch --json --since N": "never ends: WatchTests ends it",
        "sqlite3 opsd.db .recover": "of a damaged database: RefusedStartTests",
    ]

    /// Placeholders in the documents, and their values here: operations and a graph of `prepared`.
    static let meant = [
        "/var/lib/opsd/": "$STATE/", "/var/backups/": "$COPIES/", "backup FILE": "backup $COPIES/copy.db",
        "retry ID": "retry done", "cancel ID": "cancel holder", "why ID": "why waiter", "show HOLDER": "show holder",
        "--remove ID2": "--remove holder", "depend ID": "depend waiter", "GROUP --limit N": "all --limit 2",
    ]

    private static let prepared = """
        {"name": "build", "operations": [
          {"name": "done", "command": ["true"]},
          {"name": "holder", "command": ["sleep", "600"], "categories": ["db"]},
          {"name": "waiter", "command": ["true"], "categories": ["db"], "after": [{"op": "holder", "when": "finished"}]},
          {"name": "approve", "completion": "notify", "command": ["true"]}]}
        """

    static let documents: [String] = {
        let pages = ["README.md", "CONTRIBUTING.md", "examples/README.md"]
        let folders = ["docs", "docs/decisions"]
        return pages
            + folders.flatMap { folder in
                // A directory that cannot be read appears as one with too few pages.
                ((try? FileManager.default.contentsOfDirectory(atPath: Checkout.path(folder))) ?? [])
                    .filter { $0.hasSuffix(".md") }.sorted().map { "\(folder)/\($0)" }
                    .filter { !sessionsOutsideOfGuide.contains($0) }
            }
    }()

    @Test func `commands are found in the documents`() throws {
        let commands = try Self.documents.flatMap { try DocumentedCommand.all(in: $0) }
        #expect(Self.documents.count > 15 && commands.count > 80)
        for beginning in Self.elsewhere.keys {
            #expect(commands.contains { $0.text.hasPrefix(beginning) }, "nothing begins with \(beginning) any more")
        }
    }

    @Test(arguments: documents) func `every documented command works`(_ document: String) throws {
        let commands = try DocumentedCommand.all(in: document).filter { command in
            !Self.elsewhere.keys.contains { command.text.hasPrefix($0) }
        }
        let targets = try String(contentsOfFile: Checkout.path("Makefile"), encoding: .utf8).split(separator: "\n")
        for target in commands.compactMap(\.target) {
            #expect(targets.contains { $0.hasPrefix(target + ":") }, "\(document): there is no make \(target)")
        }
        let hasSQLite = FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3")
        let runnable = commands.filter { $0.target == nil && (hasSQLite || !$0.text.hasPrefix("sqlite3")) }
        guard !runnable.isEmpty else { return }
        let machine = try Machine(workers: 4, below: "/state")
        try prepareFolder(machine)
        _ = try machine.graph(Self.prepared)
        try machine.ok("wait", "done")
        for name in ["holder", "approve"] {
            try machine.await("started", of: try #require(try machine.show(name)["id"] as? Int))
        }
        for command in runnable {
            // An earlier command may have retried `done`; the next ones expect it to be finished.
            try machine.ok("wait", "done")
            let output = try run(command, machine)
            #expect(output.status == 0, "\(document): \(command.text): \(output.err)")
        }
    }

    /// Path of the copies, relative to the state directory.
    private static let copies = "/../copies"

    /// Creates the files that the commands of README.md expect in the working directory.
    private func prepareFolder(_ machine: Machine) throws {
        try FileManager.default.createDirectory(
            atPath: machine.state + Self.copies, withIntermediateDirectories: false)
        try "all:\n\techo made\n".write(toFile: machine.state + "/Makefile", atomically: false, encoding: .utf8)
        for script in ["deploy.sh", "dump", "tests"] {
            let path = machine.state + "/" + script
            try "#!/bin/sh\nexit 0\n".write(toFile: path, atomically: false, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: path)
        }
    }

    private func run(_ command: DocumentedCommand, _ machine: Machine) throws -> Output {
        var text = command.isMention ? command.help : command.text
        for (word, meaning) in Self.meant { text = text.replacingOccurrences(of: word, with: meaning) }
        var environment = Machine.environment
        environment["OPS_SOCKET"] = machine.socket
        environment["STATE"] = machine.state
        environment["COPIES"] = machine.state + Self.copies
        environment["PATH"] = Machine.programs + ":" + (environment["PATH"] ?? "/usr/bin:/bin")
        return try Command("/bin/sh", ["-ec", text], environment: environment, in: machine.state).wait()
    }
}

/// One command line of a document.
struct DocumentedCommand {
    let text: String
    /// True for a command inside a sentence, false for one in a block.
    let isInline: Bool

    private static let programs = ["opsctl", "make", "sqlite3", "systemctl", "journalctl", "varlinkctl"]
    /// These words are commands only in blocks; in sentences they are ordinary words.
    private static let programsOfBlocks = programs + ["apt", "adduser", "systemd-sysusers", "mv", "install", "printf"]

    /// The target of `make TARGET`.
    var target: String? {
        let words = text.split(separator: " ")
        return words.first == "make" && words.count > 1 ? String(words[1]) : nil
    }

    /// True for `opsctl VERB` in a sentence, which names a verb and is not a call.
    var isMention: Bool { isInline && text.hasPrefix("opsctl ") && text.split(separator: " ").count == 2 }
    var help: String { text.replacingOccurrences(of: "opsctl ", with: "opsctl help ") }

    static func all(in document: String) throws -> [DocumentedCommand] {
        let page = try String(contentsOfFile: Checkout.path(document), encoding: .utf8)
        var commands: [DocumentedCommand] = []
        var isFenced = false
        for line in page.components(separatedBy: "\n") {
            if line.hasPrefix("```") {
                isFenced.toggle()
            } else if isFenced {
                if line.hasPrefix("$ ") { commands.append(.init(text: String(line.dropFirst(2)), isInline: false)) }
            } else if line.hasPrefix("    ") {
                let text = line.trimmingCharacters(in: .whitespaces)
                if begins(text, programsOfBlocks) { commands.append(.init(text: text, isInline: false)) }
            } else {
                commands += inline(in: line)
            }
        }
        return commands
    }

    /// Returns the commands between backquotes in a line of text.
    static func inline(in line: String) -> [DocumentedCommand] {
        let spans = line.components(separatedBy: "`").enumerated().filter { $0.offset % 2 == 1 }.map(\.element)
        return spans.filter { begins($0, programs) }.map { .init(text: $0, isInline: true) }
    }

    private static func begins(_ text: String, _ programs: [String]) -> Bool {
        guard let space = text.firstIndex(of: " ") else { return false }
        return programs.contains(String(text[..<space]))
    }
}

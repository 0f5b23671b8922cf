import Foundation
import Testing

/// Each page of the guide is one session: its files are written and its commands run from top to bottom, in one shell
/// with a daemon of its own. Programs that would contact other machines are replaced by scripts.
extension DocumentedCommandsTests {
    /// Beginnings of the commands that cannot run in a session, and the reason.
    static let outsideOfGuideSessions = [
        "systemctl": "needs a systemd: scripts/boot-test boots one",
        "journalctl": "needs a systemd: scripts/boot-test boots one",
        "opsctl watch": "never ends: WatchTests ends it",
        "opsctl web": "never ends: WebTests ends it",
        "opsctl submit --executor cluster": "needs a Slurm: SlurmTests has one",
        "opsctl queue set big --executor cluster": "needs this executor: ExecutorTests has one",
    ]

    private static let standIns = [
        "ssh": "shift; exec sh -c \"$*\"",
        "mail": "cat >/dev/null",
        "notify-send": "exit 0",
        "loginctl": "exit 0",
    ]

    /// Pages for authors of tools that run from top to bottom, too.
    static let sessionsOutsideOfGuide = ["docs/executors.md"]

    static let guidePages: [String] = {
        // A directory that cannot be read appears as one with too few pages.
        let names = (try? FileManager.default.contentsOfDirectory(atPath: Checkout.path("docs/guide"))) ?? []
        return names.filter { $0.hasSuffix(".md") }.sorted().map { "docs/guide/\($0)" } + sessionsOutsideOfGuide
    }()

    @Test func `the guide has pages and commands`() throws {
        let commands = try Self.guidePages.flatMap { try GuideSession(page: $0).commands }
        #expect(Self.guidePages.count > 1 && commands.count > 40)
        for beginning in Self.outsideOfGuideSessions.keys {
            #expect(commands.contains { $0.hasPrefix(beginning) }, "no command begins with \(beginning) any more")
        }
    }

    @Test(arguments: guidePages) func `a page of the guide runs from top to bottom`(_ page: String) throws {
        let session = try GuideSession(page: page)
        guard !session.commands.isEmpty else { return }
        let machine = try Machine(workers: 4, below: "/state")
        let home = machine.state + "/../home"
        try FileManager.default.createDirectory(atPath: home + "/bin", withIntermediateDirectories: true)
        // The shell of the session writes them: a descriptor of this process could be inherited by a program that another
        // test starts at that moment, and then the kernel refuses to run the file.
        let standIns = Self.standIns.map { name, text in
            "cat > bin/\(name) <<'END OF FILE'\n#!/bin/sh\n\(text)\nEND OF FILE\nchmod +x bin/\(name)\n"
        }
        var environment = Machine.environment
        environment["OPS_SOCKET"] = machine.socket
        environment["HOME"] = home
        environment["PATH"] = [Machine.programs, home + "/bin", environment["PATH"] ?? "/usr/bin:/bin"].joined(
            separator: ":")
        let script = standIns.joined() + session.script(without: Array(Self.outsideOfGuideSessions.keys))
        let output = try Command("/bin/bash", ["-c", script], environment: environment, in: home).wait(seconds: 180)
        #expect(output.status == 0, "\(page): \(output.err)\(output.out.suffix(1000))")
    }
}

/// The files and commands of a page, in order. If the opening line of a block has a second word, the block is the
/// content of the file with that name. In other blocks, a command begins with `$ ` and continues in lines that begin
/// with `> `.
struct GuideSession {
    private enum Step {
        case file(name: String, text: String)
        case command(String)
    }

    private var steps: [Step] = []

    init(page: String) throws {
        let text = try String(contentsOfFile: Checkout.path(page), encoding: .utf8)
        var block: [String]?
        var file: String?
        for line in text.components(separatedBy: "\n") {
            if let lines = block {
                if !line.hasPrefix("```") {
                    block?.append(line)
                } else {
                    if let file {
                        steps.append(.file(name: file, text: lines.joined(separator: "\n") + "\n"))
                    } else {
                        steps += Self.commands(in: lines).map { .command($0) }
                    }
                    block = nil
                }
            } else if line.hasPrefix("```") {
                let words = line.dropFirst(3).split(separator: " ")
                file = words.count > 1 ? String(words[1]) : nil
                block = []
            } else {
                steps += DocumentedCommand.inline(in: line).map { .command($0.isMention ? $0.help : $0.text) }
            }
        }
    }

    var commands: [String] {
        steps.compactMap { step in
            guard case .command(let text) = step else { return nil }
            return text
        }
    }

    private static func commands(in block: [String]) -> [String] {
        var found: [String] = []
        var isOpen = false
        for line in block {
            if line.hasPrefix("$ ") {
                found.append(String(line.dropFirst(2)))
                isOpen = true
            } else if isOpen, line.hasPrefix("> ") {
                found[found.count - 1] += "\n" + line.dropFirst(2)
            } else {
                isOpen = false
            }
        }
        return found
    }

    /// Returns a script for bash that stops at the first failing command, and prints it.
    func script(without beginnings: [String]) -> String {
        steps.map { step in
            switch step {
            case .file(let name, let text):
                let mode = text.hasPrefix("#!") ? "chmod +x '\(name)'\n" : ""
                return "cat > '\(name)' <<'END OF FILE'\n\(text)END OF FILE\n\(mode)"
            case .command(let text):
                if beginnings.contains(where: text.hasPrefix) { return "" }
                return "{ \(text)\n} || { cat >&2 <<'END OF COMMAND'\nfailed: \(text)\nEND OF COMMAND\nexit 1\n}\n"
            }
        }.joined()
    }
}

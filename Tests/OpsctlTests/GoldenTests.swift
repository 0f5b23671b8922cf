import Foundation
import PseudoTerminal
import Testing

/// Help, tables and drawings must equal the files in `Golden/`. `OPSD_RENEW_GOLDEN=1 swift test --filter GoldenTests`
/// writes them again; `git diff` shows the changes.
@Suite struct GoldenTests {
    struct Picture: CustomTestStringConvertible {
        let name: String
        let words: [String]
        var columns = 80
        var isColoured = false
        var testDescription: String { name }

        static let all = [
            Picture(name: "help", words: ["help"]),
            Picture(name: "help-log", words: ["help", "log"]),
            Picture(name: "help-submit-narrow", words: ["help", "submit"], columns: 60),
            Picture(name: "ls", words: ["ls"], columns: 100),
            Picture(name: "ls-coloured", words: ["ls"], columns: 100, isColoured: true),
            Picture(name: "ls-narrow", words: ["ls"], columns: 44),
            Picture(name: "ls-tree", words: ["ls", "--tree"]),
            Picture(name: "show", words: ["show", "3"]),
            Picture(name: "show-coloured", words: ["show", "3"], isColoured: true),
            Picture(name: "show-narrow", words: ["show", "3"], columns: 44),
            Picture(name: "status", words: ["status"]),
            Picture(name: "status-coloured", words: ["status"], isColoured: true),
            Picture(name: "queue-ls", words: ["queue", "ls"]),
            Picture(name: "category-ls", words: ["category", "ls"]),
            Picture(name: "executor-ls", words: ["executor", "ls"]),
            Picture(name: "stats", words: ["stats"]),
            Picture(name: "timeline", words: ["stats", "--timeline"], columns: 100),
            Picture(name: "graph", words: ["graph", "g1"]),
            Picture(name: "graph-coloured", words: ["graph", "g1"], isColoured: true),
            Picture(name: "graph-narrow", words: ["graph", "g1"], columns: 40),
            Picture(name: "graph-dot", words: ["graph", "g1", "--dot"], columns: 200),
        ]
    }

    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "Golden")

    @Test(arguments: Picture.all) func `the output equals its golden file`(_ picture: Picture) throws {
        let standIn = try StandIn(Canned.answers)
        // opsctl is beside the test bundle; if the link cannot be read, the error of the start contains the path.
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        let program = try TerminalProgram(
            (bundle as NSString).deletingLastPathComponent + "/opsctl", picture.words,
            environment: [
                "OPS_SOCKET": standIn.path, "TZ": "UTC", "TERM": "xterm", "NO_COLOR": picture.isColoured ? "" : "1",
            ], columns: picture.columns, rows: 60)
        #expect(try program.wait() == 0, "\(program.screen.text)")
        let text = String(decoding: program.bytes, as: UTF8.self).replacingOccurrences(of: "\r\n", with: "\n")
        let file = Self.folder.appendingPathComponent(picture.name + ".txt")
        if ProcessInfo.processInfo.environment["OPSD_RENEW_GOLDEN"] != nil {
            try text.write(to: file, atomically: true, encoding: .utf8)
        }
        let golden = try String(contentsOf: file, encoding: .utf8)
        #expect(text == golden, "\(picture.name): OPSD_RENEW_GOLDEN=1 renews it")
    }

    @Test func `every golden file is compared`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(Set(files) == Set(Picture.all.map { $0.name + ".txt" }))
    }
}

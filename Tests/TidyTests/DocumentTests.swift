import Foundation
import Testing

@Suite struct DocumentTests {
    /// Checks every `path/like.this` between backquotes, and every relative link.
    @Test func `files that the documents name exist`() throws {
        let pages = try ["docs", "examples"].flatMap { try Tree.files(under: $0, ".md") }.map(\.path)
        var named = 0
        for page in ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"] + pages {
            let text = try Tree.text(page)
            let folder = (page as NSString).deletingLastPathComponent
            let paths = text.matches(
                of: #/`((?:Sources|Tests|Benchmarks|docs|systemd|examples|scripts)\/[A-Za-z0-9_.\/+-]+)`/#
            ).map { String($0.output.1) }
            let links = text.matches(of: #/\]\(([^)#:]+)(?:#[^)]*)?\)/#).map { "\(folder)/\($0.output.1)" }
            for path in paths + links {
                named += 1
                let isThere = FileManager.default.fileExists(atPath: Tree.top.appendingPathComponent(path).path)
                #expect(isThere, "\(page): \(path)")
            }
        }
        #expect(named > 50)
    }

    /// Installs the documents, with /bin/true in place of each program.
    @Test func `links of installed documents lead to installed files`() throws {
        let files = FileManager.default
        let folder = files.temporaryDirectory.appendingPathComponent("opsd-documents-\(UUID().uuidString)").path
        try files.createDirectory(atPath: folder + "/bin", withIntermediateDirectories: true)
        defer { try? files.removeItem(atPath: folder) }  // a directory that stays harms no other test
        for name in ["d", "ctl", "d-runner", "d-fetch", "d-transfer", "d-slurm", "d-step", "d-web"] {
            try files.createSymbolicLink(atPath: folder + "/bin/ops" + name, withDestinationPath: "/bin/true")
        }
        let install = Process()
        install.executableURL = URL(fileURLWithPath: "/bin/bash")
        install.arguments = ["scripts/install", folder + "/bin", folder + "/target", "/usr", "/lib/systemd"]
        install.currentDirectoryURL = Tree.top
        try install.run()
        install.waitUntilExit()
        #expect(install.terminationStatus == 0)
        let documents = folder + "/target/usr/share/doc/opsd"
        let pages = try files.subpathsOfDirectory(atPath: documents).filter { $0.hasSuffix(".md") }
        #expect(pages.count > 30)
        for page in pages {
            let text = try String(contentsOfFile: documents + "/" + page, encoding: .utf8)
            let place = (documents + "/" + page as NSString).deletingLastPathComponent
            for link in text.matches(of: #/\]\(([^)#:]+)(?:#[^)]*)?\)/#) {
                #expect(files.fileExists(atPath: "\(place)/\(link.output.1)"), "\(page): \(link.output.1)")
            }
        }
    }

    @Test func `every state and outcome is in the code map`() throws {
        let text = try Tree.text("docs/CODEMAP.md")
        for path in ["Sources/OpsCore/Operation/OperationState.swift", "Sources/OpsCore/Operation/Outcome.swift"] {
            let source = try Tree.text(path)
            let body = try #require(
                source.components(separatedBy: "enum ").dropFirst().first?.components(separatedBy: "\n}").first)
            for line in body.components(separatedBy: "\n")
            where line.trimmingCharacters(in: .whitespaces).hasPrefix("case ") {
                for name in line.replacingOccurrences(of: "case ", with: "").components(separatedBy: ",") {
                    let word = name.trimmingCharacters(in: .whitespaces)
                    #expect(text.contains(word), "\(word) is not in docs/CODEMAP.md")
                }
            }
        }
    }

    @Test func `the Makefile has every common target`() throws {
        let makefile = try Tree.text("Makefile")
        for word in ["run", "test", "build", "install", "format", "lint", "bench"] {
            #expect(makefile.contains("\n\(word): "), "make \(word)")
        }
    }
}

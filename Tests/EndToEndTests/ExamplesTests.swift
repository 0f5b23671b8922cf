import Foundation
import Testing

/// Every file of `examples/` runs to its end, as its readers are told.
@Suite struct ExamplesTests {
    static let folder = Checkout.path("examples")

    @Test func `every example has a test and an explanation`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder).filter { $0 != "README.md" }
        #expect(
            Set(files) == Set(Example.all.map(\.file) + ["approval.json", "download.json", "monitoring", "pipeline"]))
        let page = try String(contentsOfFile: Self.folder + "/README.md", encoding: .utf8)
        for file in files { #expect(page.contains("[\(file)](\(file))"), "\(file) is not in examples/README.md") }
    }

    struct Example: CustomTestStringConvertible {
        var file: String
        var settings: [String: String] = [:]
        /// The others succeed.
        var exceptions: [String: String] = [:]
        var testDescription: String { file }

        static let all = [
            Example(
                file: "tour.json", exceptions: ["spell-check": "failed", "publish-docs": "skipped"]),
            Example(file: "build.json"),
            Example(
                file: "nightly-backup.json", settings: ["SOURCE": folder, "TARGET": "backup"],
                exceptions: ["alarm": "skipped"]),
            Example(
                file: "rolling-deploy.json", settings: ["VERSION": "1.4"], exceptions: ["roll-back": "skipped"]),
            Example(file: "sweep.jsonl", settings: ["DIR": "sweep"]),
        ]
    }

    @Test(arguments: Example.all) func `every example ends as expected`(_ example: Example) throws {
        let machine = try Machine()
        try submit(example.file, example.settings, to: machine)
        _ = try machine.ctl("wait", "--all", "--timeout", "50s")
        let rows = try machine.ok("ls", "--json").objects
        #expect(rows.count > 3)
        for row in rows {
            let name = try #require(row["name"] as? String)
            #expect(
                row["outcome"] as? String == example.exceptions[name] ?? "succeeded",
                "\(example.file): \(name): \(row["cause"] ?? "")")
        }
        switch example.file {
        case "build.json": #expect(try machine.ok("log", "package").out == "packaged\n")
        case "nightly-backup.json":
            let list = try String(contentsOfFile: machine.state + "/backup/files.list", encoding: .utf8)
            #expect(list.contains("./nightly-backup.json\n"))
        case "rolling-deploy.json":
            #expect(try machine.show("canary/healthy")["attempt"] as? Int == 2)
            #expect(try machine.ok("log", "announce").out == "1.4 is live\n")
        case "sweep.jsonl": #expect(try machine.ok("log", "best").out == "2,2,4\n")
        default: break
        }
    }

    @Test(arguments: [true, false]) func `the approval example waits for a person`(_ isGiven: Bool) throws {
        let machine = try Machine()
        try submit("approval.json", [:], to: machine)
        let approve = try #require(try machine.show("approve")["id"] as? Int)
        try machine.await("started", of: approve)
        if isGiven {
            try machine.ok("finish", "approve")
        } else {
            try machine.ok("finish", "approve", "--failed", "--message", "not today")
        }
        _ = try machine.ctl("wait", "--all", "--timeout", "50s")
        #expect(try machine.outcome("apply") == (isGiven ? "succeeded" : "skipped"))
        #expect(try machine.outcome("refused") == (isGiven ? "skipped" : "succeeded"))
    }

    @Test(
        .enabled(
            if: FileManager.default.isExecutableFile(atPath: "/usr/bin/curl"), "there is no curl to download with"),
        arguments: [true, false])
    func `the download example unpacks only the expected file`(_ isGenuine: Bool) throws {
        let machine = try Machine()
        let made = try Command(
            "/bin/sh", ["-c", "tar -cf source.tar -C '\(Self.folder)' tour.json && sha256sum source.tar | cut -c1-64"],
            environment: Machine.environment, in: machine.state
        ).wait()
        let sum = try #require(made.lines.first)
        try submit(
            "download.json",
            [
                "URL": "file://\(machine.state)/source.tar", "DIR": machine.state,
                "SHA256": isGenuine ? sum : String(repeating: "0", count: 64),
            ], to: machine)
        _ = try machine.ctl("wait", "--all", "--timeout", "50s")
        #expect(try machine.outcome("unpack") == (isGenuine ? "succeeded" : "skipped"))
        let files = FileManager.default
        #expect(files.fileExists(atPath: machine.state + "/content/tour.json") == isGenuine)
        #expect(files.fileExists(atPath: machine.state + "/archive.tar") == isGenuine)
    }

    private func submit(_ file: String, _ settings: [String: String], to machine: Machine) throws {
        let words =
            ["submit", "-f", Self.folder + "/" + file] + settings.flatMap { ["--set", "\($0.key)=\($0.value)"] }
        let output = try machine.begin(words, in: machine.state).wait()
        try #require(output.status == 0, "\(file): \(output.err)")
    }
}

/// The checkout that the tests were built from.
enum Checkout {
    static func path(_ path: String) -> String {
        let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        return top.appendingPathComponent(path).path
    }
}

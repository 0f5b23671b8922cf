import Foundation
import TestSupport
import Testing

/// Every file of `examples/` runs to its end as described in its comments.
@Suite struct ExamplesTests {
    static let folder = Checkout.path("examples")

    @Test func `every example has a test and an explanation`() throws {
        let files = try FileManager.default.contentsOfDirectory(atPath: Self.folder).filter { $0 != "README.md" }
        #expect(
            Set(files) == Set(Example.all.map(\.file) + ["approval.yaml", "download.json", "monitoring", "pipeline"]))
        let page = try String(contentsOfFile: Self.folder + "/README.md", encoding: .utf8)
        for file in files { #expect(page.contains("[\(file)](\(file))"), "\(file) is not in examples/README.md") }
    }

    struct Example: CustomTestStringConvertible {
        var file: String
        var settings: [String: String] = [:]
        /// Outcomes of the operations that do not succeed.
        var exceptions: [String: String] = [:]
        var testDescription: String { file }

        static let all = [
            Example(
                file: "tour.json", exceptions: ["spell-check": "failed", "publish-docs": "skipped"]),
            Example(file: "build.yaml"),
            Example(
                file: "nightly-backup.yaml", settings: ["SOURCE": folder, "TARGET": "backup"],
                exceptions: ["alarm": "skipped"]),
            Example(
                file: "rolling-deploy.yaml", settings: ["VERSION": "1.4"], exceptions: ["roll-back": "skipped"]),
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
        case "build.yaml": #expect(try machine.ok("log", "package").out == "packaged\n")
        case "nightly-backup.yaml":
            let list = try String(contentsOfFile: machine.state + "/backup/files.list", encoding: .utf8)
            #expect(list.contains("./nightly-backup.yaml\n"))
        case "rolling-deploy.yaml":
            #expect(try machine.show("canary/healthy")["attempt"] as? Int == 2)
            #expect(try machine.ok("log", "announce").out == "1.4 is live\n")
        case "sweep.jsonl": #expect(try machine.ok("log", "best").out == "2,2,4\n")
        default: break
        }
    }

    @Test(arguments: [true, false]) func `the approval example waits for a person`(_ isGiven: Bool) throws {
        let machine = try Machine()
        try submit("approval.yaml", [:], to: machine)
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

    @Test(arguments: [true, false])
    func `the download example filters the images that it has fetched`(_ isThere: Bool) throws {
        let machine = try Machine()
        let server = try LyingServer.plain.get()
        try submit(
            "download.json",
            [
                "URL": "http://127.0.0.1:\(server.port)/\(isThere ? "slow" : "leads-nowhere")", "DIR": machine.state,
                "FILTER": "tr A-M N-Z",
            ], to: machine)
        _ = try machine.ctl("wait", "--all", "--timeout", "50s")
        for number in 1...3 {
            let fetch = try machine.show("fetch-\(number)")
            #expect(fetch["outcome"] as? String == (isThere ? "succeeded" : "failed"))
            #expect(fetch["attempt"] as? Int == 1, "another attempt would not help")
            guard isThere else { continue }
            #expect(fetch["progress"] as? [String: Int] == ["done": 100_000, "total": 100_000])
            let fetched = try Data(contentsOf: URL(fileURLWithPath: "\(machine.state)/\(number).jpg"))
            #expect(fetched == serverContent(size: 100_000))
            let filtered = try Data(contentsOf: URL(fileURLWithPath: "\(machine.state)/filtered-\(number).jpg"))
            #expect(filtered == Data(fetched.map { (65...77).contains($0) ? $0 + 13 : $0 }))
        }
        #expect(try machine.outcome("list") == (isThere ? "succeeded" : "skipped"))
        if isThere {
            #expect(try machine.ok("log", "list").out == "filtered-1.jpg\nfiltered-2.jpg\nfiltered-3.jpg\n")
        }
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

import Foundation
import Testing

/// The clients in docs/PROTOCOL.md work as printed.
@Suite struct ProtocolTests {
    private static func runs(_ words: String...) -> Bool {
        let command = try? Command("/usr/bin/env", words, environment: Machine.environment, in: "/")
        // A program that cannot be started is treated as missing.
        return (try? command?.wait().status) == 0
    }
    private static let hasPython = runs("python3", "-c", "")
    private static let hasVarlink = runs("python3", "-c", "import varlink")
    private static let hasSocat = runs("socat", "-V")
    private static let hasVarlinkctl = runs("varlinkctl", "--version")

    /// Returns the first block of code below a heading.
    private func block(_ heading: String) throws -> String {
        let page = try String(contentsOfFile: Checkout.path("docs/PROTOCOL.md"), encoding: .utf8)
        let section = try #require(page.components(separatedBy: "\n### \(heading)").dropFirst().first)
        let code = try #require(section.components(separatedBy: "\n```").dropFirst().first)
        return code.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().joined(separator: "\n")
    }

    private func python(_ heading: String, _ machine: Machine) throws -> Output {
        let script = machine.state + "/client.py"
        try block(heading).write(toFile: script, atomically: false, encoding: .utf8)
        return try Command(
            "/usr/bin/env", ["python3", script, machine.socket], environment: Machine.environment, in: machine.state
        ).wait()
    }

    @Test(.enabled(if: hasPython, "there is no python3"))
    func `the documented client with Python's standard library works`() throws {
        let machine = try Machine()
        let output = try python("Python's standard library", machine)
        #expect(output.status == 0, "\(output.err)")
        #expect(output.out.contains("'outcome': 'succeeded'"))
        #expect(try machine.outcome(1) == "succeeded")
    }

    @Test(.enabled(if: hasVarlink, "the Python package varlink is not there: pip install varlink"))
    func `the documented client with the varlink package works`() throws {
        let machine = try Machine()
        let output = try python("The `varlink` package of PyPI", machine)
        #expect(output.status == 0, "\(output.err)")
        #expect(output.lines.prefix(2) == ["fetch succeeded", "build succeeded"])
        #expect(output.out.contains("org.opsd.Control.NotFound"))
        #expect(output.lines.last?.hasSuffix("finished 2 finished") == true, "\(output.out)")
    }

    /// Returns the lines after `$ ` of a block, with the socket of this daemon.
    private func commands(_ heading: String, _ machine: Machine) throws -> [String] {
        try block(heading).split(separator: "\n").filter { $0.hasPrefix("$ ") }.map {
            $0.dropFirst(2).replacingOccurrences(of: "/run/opsd/control.sock", with: machine.socket)
        }
    }

    @Test(.enabled(if: hasSocat, "there is no socat")) func `the documented calls with socat work`() throws {
        let machine = try Machine()
        for command in try commands("socat", machine) {
            let output = try Command("/bin/sh", ["-c", command], environment: Machine.environment, in: "/").wait()
            let parameters = try #require(try output.object["parameters"] as? [String: Any])
            #expect(parameters["state"] as? String == "running")
        }
    }

    @Test(.enabled(if: hasVarlinkctl, "there is no varlinkctl: it comes with systemd 255"))
    func `the documented calls with varlinkctl work`() throws {
        let machine = try Machine()
        for command in try commands("varlinkctl", machine) {
            // An event stream does not end, so only its beginning is read.
            let bounded = command.contains("--more") ? command + " | head -n 1" : command
            let output = try Command("/bin/sh", ["-c", bounded], environment: Machine.environment, in: "/").wait()
            #expect(output.status == 0, "\(command): \(output.err)")
            #expect(!output.out.isEmpty, "\(command)")
        }
    }
}

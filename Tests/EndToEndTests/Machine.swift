import Foundation
import Glibc
import PseudoTerminal
import TestSupport
import Testing

/// A private opsd with its own state directory, controlled with the real opsctl.
final class Machine {
    /// Directory of this machine: the state directory or its parent.
    private let directory = TemporaryDirectory()
    private var home: String { directory.path }
    let state: String
    var socket: String { state + "/control.sock" }
    private(set) var daemon: Command?
    /// Owner of the file system below the state directory. It is released after everything else.
    var ground: AnyObject?

    /// Directory of the programs under test, beside the test bundle.
    static let programs: String = {
        // If the link cannot be read, "" makes every start fail with a message that contains the path.
        let bundle = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (bundle as NSString).deletingLastPathComponent
    }()

    init(workers: Int = 2, start: Bool = true, below: String = "") throws {
        state = directory.path + below
        // Other users must reach a state directory below this one.
        if !below.isEmpty { chmod(directory.path, 0o755) }
        try FileManager.default.createDirectory(
            atPath: state, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        if start { try self.start(workers: workers) }
    }

    /// Starts opsd, and returns its messages to systemd up to READY=1.
    ///
    /// - Parameter wrapper: Program that becomes opsd, with its first arguments.
    @discardableResult
    func start(
        workers: Int = 2, _ more: [String] = [], under manager: ServiceManager? = nil, within wrapper: [String] = []
    ) throws -> [String] {
        let manager = try manager ?? ServiceManager(in: home)
        let daemon = [Self.programs + "/opsd", "--state", state, "--socket", socket, "--workers", "\(workers)"]
        let words = wrapper + daemon + more
        let command = try Command(
            words[0], Array(words.dropFirst()),
            environment: Self.environment.merging(manager.environment) { $1 }, handing: manager.listener, in: "/")
        self.daemon = command
        guard try manager.hear("READY=1", seconds: 20) != nil else {
            command.signal(SIGKILL)
            throw SetupError("opsd did not become ready: \(try command.wait().err)")
        }
        return manager.said
    }

    func killDaemon() throws {
        daemon?.signal(SIGKILL)
        _ = try daemon?.wait(seconds: 20)
        daemon = nil
    }

    /// Ends all programs and operations of the machine.
    deinit {
        if daemon == nil { _ = try? start() }  // without a daemon, operations could not be cancelled below
        // Every test must leave a sound database.
        if let check = try? ctl("check"), check.status == 1 { Issue.record("opsctl check: \(check.out)\(check.err)") }
        _ = try? ctl("cancel", "--all", "--reason", "end of the test")  // nothing unfinished is no error here
        _ = try? ctl("wait", "--all", "--timeout", "20s")
        let status = try? ctl("status", "--json").object  // the daemon may be the broken thing under test
        daemon?.signal(SIGTERM)
        _ = try? daemon?.wait(seconds: 20)
        if let runner = status?["runnerPid"] as? Int32, runner > 1 { kill(runner, SIGTERM) }
    }

    static var environment: [String: String] {
        var environment = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("OPS_") }
        environment["NOTIFY_SOCKET"] = nil
        environment["NO_COLOR"] = "1"
        return environment
    }

    func begin(_ arguments: [String], input: String? = nil, in place: String = "/tmp") throws -> Command {
        try Command(
            Self.programs + "/opsctl", arguments,
            environment: Self.environment.merging(["OPS_SOCKET": socket]) { $1 }, input: input, in: place)
    }

    /// Starts opsctl in a terminal of its own.
    func terminal(
        _ arguments: [String], environment: [String: String] = [:], columns: Int = 80, rows: Int = 24
    ) throws -> TerminalProgram {
        try TerminalProgram(
            Self.programs + "/opsctl", arguments,
            environment: Self.environment.merging(["OPS_SOCKET": socket, "TERM": "xterm"]) { $1 }
                .merging(environment) { $1 }, columns: columns, rows: rows)
    }

    func ctl(_ arguments: String..., input: String? = nil) throws -> Output {
        try begin(arguments, input: input).wait()
    }

    /// Runs opsctl, which must succeed.
    @discardableResult
    func ok(_ arguments: String..., input: String? = nil, at place: SourceLocation = #_sourceLocation) throws -> Output
    {
        let output = try begin(arguments, input: input).wait()
        try #require(
            output.status == 0, "opsctl \(arguments.joined(separator: " ")): \(output.err)", sourceLocation: place)
        return output
    }

    func submit(_ arguments: String...) throws -> Int {
        let output = try begin(["submit"] + arguments).wait()
        try #require(output.status == 0, "submit: \(output.err)")
        return try #require(Int(output.out.trimmingCharacters(in: .whitespacesAndNewlines)))
    }

    /// Submits a graph, and returns its id, such as `g3`.
    func graph(_ json: String) throws -> String {
        let output = try begin(["submit", "-f", "-", "--json"], input: json).wait()
        try #require(output.status == 0, "submit: \(output.err)")
        return try #require(try output.object["graph"] as? String)
    }

    func show(_ reference: any CustomStringConvertible) throws -> [String: Any] {
        try ok("show", "\(reference)", "--json").object
    }

    func outcome(_ reference: any CustomStringConvertible) throws -> String? {
        try show(reference)["outcome"] as? String
    }
    func stateOf(_ reference: any CustomStringConvertible) throws -> String? { try show(reference)["state"] as? String }

    /// Waits for an event of this type about an operation, which may be submitted later.
    func await(_ type: String, of id: Int) throws {
        let watch = try begin(["watch", "--since", "0", "--json"])
        defer {
            watch.signal(SIGTERM)
            _ = try? watch.wait(seconds: 10)  // killed by us: its status says nothing
        }
        try watch.until { text in
            text.split(separator: "\n").contains { $0.contains("\"id\":\(id),") && $0.contains("\"type\":\"\(type)\"") }
        }
    }
}

import Foundation
import OpsExecutor
import OpsSystem
import TestSupport

@testable import OpsTransfer

/// An opsd-transfer with its own state directory. The test talks to it as opsd does.
final class RunningExecutor {
    let state: String
    private let arguments: [String]
    private var process: Process?
    private var socket: Descriptor?
    private var reader = FrameReader<ExecutorReport>()
    /// Updates that opsd-transfer sent before its greeting.
    private(set) var repeated: [AttemptID: OperationUpdate] = [:]

    /// Starts opsd-transfer. With the text of an opsd.conf, it serves the executor `images`.
    init(config: String? = nil) throws {
        state = try Scratch.folder()
        chmod(state, 0o700)
        var arguments = ["--state", state]
        if let config {
            try Data(config.utf8).write(to: URL(fileURLWithPath: state + "/opsd.conf"))
            arguments += ["--name", "images", "--config", state + "/opsd.conf"]
        }
        self.arguments = arguments
        try start()
    }

    deinit {
        kill()
        do {
            try FileManager.default.removeItem(atPath: state)
        } catch {
            // The system removes the directory at its next start.
        }
    }

    /// Starts opsd-transfer with a notify socket, as a service manager does, and waits until it is ready.
    func start() throws {
        let manager = try NotifySocket(address: "@opsd-transfer-test-\(UUID().uuidString)")
        let started = Process()
        started.executableURL = URL(fileURLWithPath: Program.transfer)
        started.arguments = arguments
        started.environment = ProcessInfo.processInfo.environment.merging(["NOTIFY_SOCKET": manager.address]) { $1 }
        started.standardError = FileHandle.nullDevice
        try started.run()
        process = started
        guard try manager.descriptor.waitUntil(.readable, milliseconds: 60_000), try manager.receive() != nil else {
            throw SetUpError(description: "opsd-transfer is not ready")
        }
    }

    /// Kills opsd-transfer with SIGKILL.
    func kill() {
        guard let process else { return }
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        self.process = nil
    }

    /// Waits until opsd-transfer has ended, and returns its exit status.
    func exitStatus() -> Int32? {
        process?.waitUntilExit()
        defer { process = nil }
        return process?.terminationStatus
    }

    /// Connects as an opsd that has just started, and returns the greeting.
    @discardableResult
    func connect(version: UInt16 = LaunchProtocol.version) throws -> ExecutorGreeting {
        let name = arguments.contains("--name") ? "images" : "transfer"
        socket = try UnixSocket.connect(to: "\(state)/executor-\(name).sock")
        reader = FrameReader()
        repeated = [:]
        try send(.hello(version: version))
        while true {
            switch try next() {
            case .hello(let greeting): return greeting
            case .updated(let attempt, let update): repeated[attempt] = update
            case let other: throw SetUpError(description: "not a greeting: \(other)")
            }
        }
    }

    func send(_ command: ExecutorCommand) throws {
        var bytes: [UInt8] = []
        command.append(to: &bytes, for: LaunchProtocol.version)
        guard try socket?.writeAll(bytes) == true else { throw SetUpError(description: "opsd-transfer hung up") }
    }

    /// Returns the next report.
    func next() throws -> ExecutorReport {
        while true {
            if let report = try reader.next() { return report }
            guard try socket?.waitUntil(.readable, milliseconds: 60_000) == true else {
                throw SetUpError(description: "no report in a minute")
            }
            var bytes: [UInt8] = []
            guard case .moved? = try socket?.read(atMost: 65_536, onto: &bytes) else {
                throw SetUpError(description: "opsd-transfer hung up")
            }
            reader.append(bytes)
        }
    }

    /// Launches the transfer of an address as the first attempt of an operation.
    func launch(
        _ operation: Int64, _ url: String, to target: String, _ change: (inout LaunchRequest) -> Void = { _ in }
    )
        throws
    {
        var request = LaunchRequest(attempt: AttemptID(OperationID(operation), 1), arguments: [])
        request.executorOptions = "{\"url\": \"\(url)\", \"to\": \"\(target)\"}"
        change(&request)
        try send(.launch(request))
    }

    /// Waits until all of the operations have ended. Returns their exit statuses and all reports until then.
    func ends(of operations: Int64...) throws -> (exits: [Int64: ProcessExit.Status], reports: [ExecutorReport]) {
        try ends(of: operations)
    }

    func ends(of operations: [Int64]) throws -> (exits: [Int64: ProcessExit.Status], reports: [ExecutorReport]) {
        var exits: [Int64: ProcessExit.Status] = [:]
        var reports: [ExecutorReport] = []
        while operations.contains(where: { exits[$0] == nil }) {
            let report = try next()
            reports.append(report)
            if case .exited(let attempt, let exit, treeIsGone: true) = report {
                exits[attempt.operation.rawValue] = exit.status
            }
        }
        return (exits, reports)
    }

    /// Reads reports until an operation has downloaded at least this many bytes.
    func progress(of operation: Int64, atLeast bytes: Int64) throws {
        while true {
            if case .updated(let attempt, let update) = try next(), attempt.operation.rawValue == operation,
                update.progressDone ?? 0 >= bytes
            {
                return
            }
        }
    }
}

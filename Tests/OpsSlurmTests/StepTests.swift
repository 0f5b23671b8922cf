import Foundation
import OpsExecutor
import OpsModel
import OpsSlurm
import OpsSystem
import Testing

/// The program opsd-step, run as on a node, with real processes and without Slurm.
@Suite struct StepTests {
    /// An attempt with its own spool directory.
    private final class Attempt {
        let directory: String
        let paths: SpoolPaths
        private var process: Process?

        init(
            _ arguments: [String], environment: [String] = [], leftovers: Leftovers = .kill,
            grace: TimeSpan = .seconds(5), directory: String = StepTests.newDirectory()
        ) throws {
            self.directory = directory
            paths = SpoolPaths(directory: directory)
            try FileManager.default.createDirectory(atPath: paths.run, withIntermediateDirectories: true)
            var request = LaunchRequest(
                attempt: AttemptID(OperationID(12), 1), arguments: arguments,
                environment: .init(["PATH=/usr/bin:/bin"] + environment), directory: directory, output: .log("unused"))
            request.leftovers = leftovers
            request.grace = grace
            #expect(
                FileManager.default.createFile(atPath: paths.launch, contents: Data(SpooledLaunch.bytes(request))))
        }

        deinit {
            do {
                try FileManager.default.removeItem(atPath: directory)
            } catch {
                Issue.record(error)
            }
        }

        func start(_ variables: [String: String] = [:]) throws -> Process {
            let process = try StepTests.start([directory], variables)
            self.process = process
            return process
        }

        func run(_ variables: [String: String] = [:]) throws -> Int32 {
            let process = try start(variables)
            process.waitUntilExit()
            return process.terminationStatus
        }

        func record() throws -> ExitRecord? {
            try ExitRecord(Array(Data(contentsOf: URL(fileURLWithPath: paths.exit))))
        }

        func exit() throws -> ProcessExit.Status? { try record()?.status }

        func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

        /// Waits until the command has written to a pipe, and returns the text.
        func waitForLine(_ name: String) throws -> String {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: directory + "/" + name))
            return String(decoding: handle.availableData, as: UTF8.self)
        }

        func makePipe(_ name: String) { #expect(mkfifo(directory + "/" + name, 0o600) == 0) }
    }

    private static func newDirectory() -> String { NSTemporaryDirectory() + "step-\(UUID().uuidString)" }

    private static func start(_ arguments: [String], _ variables: [String: String] = [:]) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    private static var program: String {
        let bundle = CommandLine.arguments.dropFirst().first { $0.hasSuffix(".xctest") } ?? CommandLine.arguments[0]
        return (bundle as NSString).deletingLastPathComponent + "/opsd-step"
    }

    @Test func `a command runs with its environment and directory, and its exit is recorded`() throws {
        let attempt = try Attempt(
            ["sh", "-c", "echo $A $SLURM_JOB_ID; pwd; echo wrong >&2; exit 3"],
            environment: ["A=1 2", "SLURM_JOB_ID=1"])
        #expect(try attempt.run(["SLURM_JOB_ID": "4711", "SLURMD_NODENAME": "n1"]) == 3)
        #expect(try attempt.exit() == .code(3))
        #expect(try attempt.text(attempt.paths.output) == "1 2 4711\n\(attempt.directory)\nwrong\n")
        let start = StartRecord(Array(try Data(contentsOf: URL(fileURLWithPath: attempt.paths.started(0)))))
        #expect(start.job == "4711")
        #expect(start.node == "n1")
    }

    @Test func `a second start runs nothing and keeps the record of the first`() throws {
        let attempt = try Attempt(["sh", "-c", "echo x >> runs"])
        #expect(try attempt.run() == 0)
        let record = try attempt.text(attempt.paths.exit)
        #expect(try attempt.run() == 75)
        #expect(try attempt.text(attempt.directory + "/runs") == "x\n")
        #expect(try attempt.text(attempt.paths.exit) == record)
    }

    @Test func `a signal is passed on to processes in other sessions`() throws {
        let attempt = try Attempt([
            "sh", "-c",
            "setsid sh -c 'trap \"echo child >> ended; exit\" TERM; echo > ready; while :; do sleep 0.05; done' & "
                + "trap 'wait; exit 9' TERM; wait",
        ])
        attempt.makePipe("ready")
        let process = try attempt.start()
        #expect(try attempt.waitForLine("ready") == "\n")
        process.terminate()
        process.waitUntilExit()
        #expect(try attempt.exit() == .code(9))
        #expect(try attempt.text(attempt.directory + "/ended") == "child\n")
    }

    @Test func `leftover processes are killed before the exit is recorded`() throws {
        let attempt = try Attempt(
            ["sh", "-c", "(trap '' TERM; echo > ready; sleep 600) & read x < ready; kill -KILL $$"],
            grace: .milliseconds(100))
        attempt.makePipe("ready")
        #expect(try attempt.run() == 128 + 9)
        #expect(try attempt.exit() == .signal(9))
    }

    /// As a local operation, whose tree has to be gone.
    @Test(arguments: [(Leftovers.wait, "sleep 2"), (.kill, "trap '' TERM; echo > ready; sleep 600")])
    func `the end of an attempt is that of its last process`(leftovers: Leftovers, rest: String) throws {
        let attempt = try Attempt(
            ["sh", "-c", "(\(rest)) & \(leftovers == .kill ? "read x < ready; " : "")date +%s%N; exit 3"],
            leftovers: leftovers, grace: .seconds(1))
        attempt.makePipe("ready")
        #expect(try attempt.run() == 3)
        let record = try #require(try attempt.record())
        let text = try attempt.text(attempt.paths.output).trimmingCharacters(in: .whitespacesAndNewlines)
        let exited = WallInstant.zero + .nanoseconds(try #require(Int64(text)))
        #expect(record.status == .code(3))
        #expect(record.at - exited >= .milliseconds(500), "the main process ended a second before")
    }

    @Test func `the record of a missing program names it, and Slurm gets the exit status of a shell`() throws {
        let attempt = try Attempt(["/no/such/program"])
        #expect(try attempt.run() == 127)
        let record = try #require(try attempt.record())
        #expect(record.status == .code(127))
        #expect(record.startFailure == SpawnError(step: "exec /no/such/program", errno: ENOENT))
    }

    @Test func `no exit is recorded when opsd-step itself is killed`() throws {
        let attempt = try Attempt(["sh", "-c", "echo $$ > ready; exec sleep 600"])
        attempt.makePipe("ready")
        let process = try attempt.start()
        let line = try attempt.waitForLine("ready")
        let child = try #require(pid_t(line.dropLast()))
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        kill(child, SIGKILL)
        #expect(!FileManager.default.fileExists(atPath: attempt.paths.exit))
        #expect(try attempt.run() == 75)
    }

    @Test func `an attempt whose messages cannot be written does not end the others of its job`() throws {
        let spool = Self.newDirectory()
        defer { rmdir(spool) }
        do {
            let first = try Attempt(["true"], directory: spool + "/12.1")
            let second = try Attempt(["true"], directory: spool + "/13.1")
            try FileManager.default.createDirectory(atPath: first.paths.stepLog, withIntermediateDirectories: false)
            let process = try Self.start([spool, "12-13.1:p2"])
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
            #expect(try second.exit() == .code(0))
            #expect(!FileManager.default.fileExists(atPath: first.paths.started(0)), "it can run in another job")
        }
    }

    @Test func `a request that cannot be read does not give up the command`() throws {
        let spool = Self.newDirectory()
        defer { rmdir(spool) }
        do {
            let first = try Attempt(["sh", "-c", "exit 3"], directory: spool + "/12.1")
            let second = try Attempt(["true"], directory: spool + "/13.1")
            try FileManager.default.createDirectory(atPath: first.paths.request, withIntermediateDirectories: false)
            let process = try Self.start([spool, "12-13.1:p2"])
            process.waitUntilExit()
            #expect(try first.exit() == .code(3))
            #expect(try second.exit() == .code(0))
        }
    }

    /// Each orphan that ends sends a signal to opsd-step, mostly before it waits again.
    @Test func `leftover processes are killed although orphans end all the time`() throws {
        let attempt = try Attempt(
            [
                "sh", "-c",
                "for i in 1 2 3 4 5 6 7 8; do (trap '' TERM; while :; do (true &); done) & done; echo > ready; exit 4",
            ], grace: .milliseconds(100))
        attempt.makePipe("ready")
        let process = try attempt.start()
        #expect(try attempt.waitForLine("ready") == "\n")
        process.waitUntilExit()
        #expect(try attempt.exit() == .code(4))
    }
}

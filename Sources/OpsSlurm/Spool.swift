public import OpsExecutor
public import OpsModel

/// Paths of an attempt in the spool, a directory that the compute nodes share.
///
/// ```
/// SPOOL/INSTANCE/             0711, of the executor
///   opsd-step                 program that jobs run
///   records                   0600, of the executor: RecordEntries
///   12.1/                     0711, of the executor
///     launch                  0600, of the executor: the launch, as a frame of the protocol
///     run/                    0700, of the user, who can change it at any time: all that the job reads and writes
///       launch                copy for the job, where the user is not that of the executor
///       started exit out err step.log request
///   12.1.gone/                attempt that is being removed
/// ```
public struct SpoolPaths: Hashable, Sendable {
    public let directory: String

    public init(attempt: AttemptID, in instanceDirectory: String) {
        directory = "\(instanceDirectory)/\(attempt.spoolName)"
    }

    public init(directory: String) { self.directory = directory }

    public var launch: String { directory + "/launch" }
    public var run: String { directory + "/run" }
    /// Directory that becomes `run` once all is in it.
    public var newRun: String { directory + "/run.new" }
    public var launchOfJob: String { "\(run)/\(RunFile.launch)" }
    public func started(_ fence: Int) -> String { "\(run)/\(RunFile.started(fence))" }
    public var request: String { "\(run)/\(RunFile.request)" }
    public var exit: String { "\(run)/\(RunFile.exit)" }
    public var output: String { "\(run)/\(RunFile.output)" }
    public var errors: String { "\(run)/\(RunFile.errors)" }
    public var stepLog: String { "\(run)/\(RunFile.stepLog)" }
}

/// Names of files in the directory that a job writes to.
public enum RunFile {
    public static let launch = "launch"
    public static let exit = "exit"
    /// StepRequest.
    public static let request = "request"
    /// Standard output, and standard error unless it has a file of its own.
    public static let output = "out"
    public static let errors = "err"
    /// Output of the job before the command has its own: what Slurm and opsd-step have to say.
    public static let stepLog = "step.log"

    /// Name of a fence. A link in its place is a fence that the executor has closed.
    public static func started(_ fence: Int) -> String { fence == 0 ? "started" : "started.\(fence)" }
}

/// The launch of an attempt, as it is stored in the spool.
public enum SpooledLaunch {
    public static func bytes(_ request: LaunchRequest) -> [UInt8] {
        var bytes: [UInt8] = []
        ExecutorCommand.launch(request).append(to: &bytes, for: LaunchProtocol.version)
        return bytes
    }

    /// Returns nil for bytes that are no complete launch.
    public static func request(_ bytes: [UInt8]) throws(ProtocolError) -> LaunchRequest? {
        var reader = FrameReader<ExecutorCommand>()
        reader.append(bytes)
        guard case .launch(let request)? = try reader.next() else { return nil }
        return request
    }
}

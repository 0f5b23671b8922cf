public import OpsExecutor

/// Paths of an attempt in the spool, a directory that the compute nodes share.
///
/// ```
/// SPOOL/INSTANCE/             0711, of the executor
///   opsd-step                 program that jobs run
///   12.1/                     0711, of the executor
///     launch                  0600, of the user: the launch, as a frame of the protocol
///     state                   0600, of the executor: AttemptRecord
///     run/                    0700, of the user: everything that the job writes
///       started exit out err step.log
/// ```
public struct SpoolPaths: Hashable, Sendable {
    public let directory: String

    public init(attempt: Attempt, in instanceDirectory: String) {
        directory = "\(instanceDirectory)/\(attempt.spoolName)"
    }

    public init(directory: String) { self.directory = directory }

    public var launch: String { directory + "/launch" }
    public var state: String { directory + "/state" }
    public var run: String { directory + "/run" }
    public var started: String { run + "/started" }
    public var exit: String { run + "/exit" }
    /// Standard output, and standard error unless it has a file of its own.
    public var output: String { run + "/out" }
    public var errors: String { run + "/err" }
    /// Output of the job before its command starts: messages of Slurm and opsd-step.
    public var stepLog: String { run + "/step.log" }
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

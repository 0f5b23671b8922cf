public import OpsSystem

/// Description of a process to be started for an attempt.
public struct LaunchRequest: Hashable, Sendable {
    public var attempt: AttemptID
    /// Slot that the attempt occupies until its end; -1: none.
    public var slot: Int32
    /// Program and arguments. A program without a slash is searched in the PATH of `environment`.
    public var arguments: [String]
    /// `NAME=value` for each variable. The runner adds NOTIFY_SOCKET, OPS_SLOT and OPS_OUTPUT_DIR.
    public var environment: CStringArray
    public var directory: String
    public var umask: UInt32
    /// File for standard input, opened with the credentials of the operation.
    public var stdin: String
    public var output: Output
    /// User of the process; `nil`: the user of the runner. The supplementary groups are looked up at the launch.
    public var user: User?
    public var priority: ProcessPriority
    public var resourceLimits: [ResourceLimit]
    public var controlLimits: ControlLimits
    public var leftovers: Leftovers
    /// Time between SIGTERM and SIGKILL for leftover processes.
    public var grace: TimeSpan
    /// Size of the log in bytes, beyond which its oldest part is dropped; 0: no limit.
    public var logCap: Int64
    /// JSON text of the operation's `slurm` or `http` object; empty for the runner.
    public var executorOptions: String
    /// Longest running time; zero: no limit. opsd enforces it too; for the runner it alone does.
    public var timeLimit: TimeSpan
    /// Rank among the jobs of opsd in the engine: 0 first, then upwards. It follows the effective priority.
    public var niceness: Int32
    /// Job that opsd has stored for this attempt; empty if none. The executor keeps this one of several held jobs.
    public var job: String
    /// Empty directory that the runner makes for the attempt; empty: none.
    public var outputDirectory: String
    /// Variables whose values the process reads from files, with its own rights.
    public var secrets: [Secret]
    /// True if opsd starts another attempt after one that ends with exit status 75 (a retry makes sense).
    public var retriesFailure: Bool

    /// A variable and the file with its value.
    public struct Secret: Hashable, Sendable {
        public var name: String
        public var path: String
        public init(name: String, path: String) {
            self.name = name
            self.path = path
        }
    }

    public init(
        attempt: AttemptID, slot: Int32 = 0, arguments: [String], environment: CStringArray = [],
        directory: String = "/",
        umask: UInt32 = 0o022, stdin: String = "/dev/null", output: Output = .null, user: User? = nil,
        priority: ProcessPriority = ProcessPriority(), resourceLimits: [ResourceLimit] = [],
        controlLimits: ControlLimits = ControlLimits(), leftovers: Leftovers = .kill,
        grace: TimeSpan = Limits.usualGrace,
        logCap: Int64 = 256 << 20, executorOptions: String = "", timeLimit: TimeSpan = .zero, niceness: Int32 = 0,
        job: String = "", outputDirectory: String = "", secrets: [Secret] = [], retriesFailure: Bool = false
    ) {
        self.attempt = attempt
        self.slot = slot
        self.arguments = arguments
        self.environment = environment
        self.directory = directory
        self.umask = umask
        self.stdin = stdin
        self.output = output
        self.user = user
        self.priority = priority
        self.resourceLimits = resourceLimits
        self.controlLimits = controlLimits
        self.leftovers = leftovers
        self.grace = grace
        self.logCap = logCap
        self.executorOptions = executorOptions
        self.timeLimit = timeLimit
        self.niceness = niceness
        self.job = job
        self.outputDirectory = outputDirectory
        self.secrets = secrets
        self.retriesFailure = retriesFailure
    }
}

// The form in bytes, with the members in one order. A new member comes last: older programs skip it.

extension Packer {
    public mutating func pack(_ request: LaunchRequest) {
        packRecord { packer in
            packer.pack(request.attempt)
            packer.pack(request.slot)
            packer.pack(request.arguments) { $0.pack($1) }
            packer.pack(request.environment)
            packer.pack(request.directory)
            packer.pack(request.umask)
            packer.pack(request.stdin)
            packer.pack(request.output)
            packer.pack(request.user) { $0.pack($1) }
            packer.pack(request.priority)
            packer.pack(request.resourceLimits) { $0.pack($1) }
            packer.pack(request.controlLimits)
            packer.pack(request.leftovers)
            packer.pack(request.grace)
            packer.pack(request.logCap)
            // Programs of version 3 cannot skip fields; the runner needs none of these.
            guard packer.recordsHaveLengths else { return }
            packer.pack(request.executorOptions)
            packer.pack(request.timeLimit)
            packer.pack(request.niceness)
            packer.pack(request.job)
            packer.pack(request.outputDirectory)
            packer.pack(request.secrets) {
                $0.pack($1.name)
                $0.pack($1.path)
            }
            packer.pack(request.retriesFailure)
        }
    }
}

extension Unpacker {
    public mutating func launchRequest() throws(ProtocolError) -> LaunchRequest {
        try record { (from: inout Unpacker) throws(ProtocolError) in
            var request = LaunchRequest(
                attempt: try from.attempt(), slot: try from.number(), arguments: try from.texts(),
                environment: try from.strings(), directory: try from.text(), umask: try from.number(),
                stdin: try from.text(), output: try from.output(), user: try from.user(),
                priority: try from.priority(), resourceLimits: try from.resourceLimits(),
                controlLimits: try from.controlLimits(), leftovers: try from.leftovers(),
                grace: try from.time(), logCap: try from.number())
            if !from.recordsHaveLengths || from.isAtEnd { return request }
            request.executorOptions = try from.text()
            request.timeLimit = try from.time()
            request.niceness = try from.number()
            request.job = try from.text()
            if from.isAtEnd { return request }
            request.outputDirectory = try from.text()
            request.secrets = try from.list { (from: inout Unpacker) throws(ProtocolError) in
                LaunchRequest.Secret(name: try from.text(), path: try from.text())
            }
            if !from.isAtEnd { request.retriesFailure = try from.flag() }
            return request
        }
    }
}

extension LaunchRequest {
    /// Destination of standard output and standard error.
    public enum Output: Hashable, Sendable {
        /// One file for both, made by the runner (mode 0600, owned by the user of the operation) and bounded by `logCap`.
        case log(String)
        /// One such file for each.
        case split(stdout: String, stderr: String)
        /// Files that the user named, made or truncated with the credentials of the operation and not bounded.
        case paths(stdout: String, stderr: String)
        case journal(identifier: String)
        case null
    }

    public struct User: Hashable, Sendable {
        public var name: String
        public var uid: UInt32
        public var gid: UInt32
        public init(name: String, uid: UInt32, gid: UInt32) {
            self.name = name
            self.uid = uid
            self.gid = gid
        }
    }
}

extension LaunchRequest {
    private static let subjectLength = 400

    /// Returns the name of the failed step, with the file or program concerned.
    public func subject(of error: SpawnError) -> String {
        let subject: String?
        switch error.step {
        case "exec":
            let program = arguments.first ?? ""
            subject = program.isEmpty ? "\"\"" : program
        case "interpreter": return "exec the interpreter of \((arguments.first ?? "").prefix(Self.subjectLength))"
        case "directory": subject = directory
        case "standard input": subject = stdin
        case "standard output": subject = namedFiles?.stdout
        case "standard error": subject = namedFiles?.stderr
        default: subject = nil
        }
        return subject.map { "\(error.step) \($0.prefix(Self.subjectLength))" } ?? error.step
    }

    /// Files for the output that the user named.
    private var namedFiles: (stdout: String, stderr: String)? {
        if case .paths(let stdout, let stderr) = output { (stdout, stderr) } else { nil }
    }
}

/// Priority of a process in the kernel; `nil` leaves a value as the runner has it.
public struct ProcessPriority: Hashable, Sendable {
    public enum IOClass: UInt8, Hashable, Sendable {
        case bestEffort = 2
        case idle = 3
    }
    public var nice: Int32?
    public var ioClass: IOClass?
    /// Level within the class, 0 (first) to 7.
    public var ioLevel: UInt8
    /// CPU weight, 1 to 10000. Ignored where there is no control group to set it, unlike `ControlLimits.cpuWeight`.
    public var cpuWeight: Int64?
    public init(
        nice: Int32? = nil, ioClass: IOClass? = nil, ioLevel: UInt8 = 4, cpuWeight: Int64? = nil
    ) {
        self.cpuWeight = cpuWeight
        self.nice = nice
        self.ioClass = ioClass
        self.ioLevel = ioLevel
    }
}

/// Resource limit (rlimit) of a process.
public struct ResourceLimit: Hashable, Sendable {
    public enum Resource: UInt8, Hashable, Sendable, CaseIterable {
        case openFiles, fileSize, coreSize

        /// Number of the resource in the kernel, the same on every architecture that Swift runs on.
        public var number: Int32 {
            switch self {
            case .fileSize: 1
            case .coreSize: 4
            case .openFiles: 7
            }
        }
    }
    public var resource: Resource
    public var soft: UInt64
    public var hard: UInt64
    public init(_ resource: Resource, soft: UInt64, hard: UInt64) {
        self.resource = resource
        self.soft = soft
        self.hard = hard
    }
}

/// Limits of a whole tree, which only a control group can enforce.
public struct ControlLimits: Hashable, Sendable {
    public var memoryBytes: Int64?
    public var tasks: Int64?
    /// Weight among groups that want the same CPU, 1 to 10000 (default 100).
    public var cpuWeight: Int64?
    /// CPU time in each second, in microseconds: 500000 is half a CPU.
    public var cpuMicrosecondsPerSecond: Int64?
    public init(
        memoryBytes: Int64? = nil, tasks: Int64? = nil, cpuWeight: Int64? = nil,
        cpuMicrosecondsPerSecond: Int64? = nil
    ) {
        self.memoryBytes = memoryBytes
        self.tasks = tasks
        self.cpuWeight = cpuWeight
        self.cpuMicrosecondsPerSecond = cpuMicrosecondsPerSecond
    }

    public var isEmpty: Bool { self == ControlLimits() }
}

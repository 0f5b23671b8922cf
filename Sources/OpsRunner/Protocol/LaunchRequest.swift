public import OpsSystem

/// One start of an operation's process, as both programs name it.
public struct Attempt: Hashable, Comparable, Sendable {
    public var operation: Int64
    public var number: Int32
    public init(operation: Int64, number: Int32) {
        self.operation = operation
        self.number = number
    }

    /// Attempts of operations count from 1 upwards, errands from -1 downwards.
    public var isErrand: Bool { number < 0 }

    public static func < (a: Attempt, b: Attempt) -> Bool {
        (a.operation, a.number) < (b.operation, b.number)
    }
}

/// Everything the runner needs to know to start one attempt.
public struct LaunchRequest: Hashable, Sendable {
    public var attempt: Attempt
    /// Which of the pool's places it has to itself until its end; -1: none.
    public var slot: Int32
    /// The first is the program; without a slash it is looked for in the PATH of `environment`.
    public var arguments: [String]
    /// `NAME=value`, complete but for NOTIFY_SOCKET and OPS_SLOT, which the runner adds.
    public var environment: Words
    public var directory: String
    public var umask: UInt32
    /// Opened with the operation's own credentials.
    public var stdin: String
    public var output: Output
    /// `nil`: as the runner itself. The supplementary groups are those of the account that the uid has by then.
    public var user: User?
    public var priority: ProcessPriority
    public var resourceLimits: [ResourceLimit]
    public var controlLimits: ControlLimits
    public var leftovers: Leftovers
    /// Nanoseconds between SIGTERM and SIGKILL for leftovers.
    public var grace: Int64
    /// Bytes a log keeps: its newest; 0 keeps all.
    public var logCap: Int64

    public init(
        attempt: Attempt, slot: Int32 = 0, arguments: [String], environment: Words = [], directory: String = "/",
        umask: UInt32 = 0o022, stdin: String = "/dev/null", output: Output = .null, user: User? = nil,
        priority: ProcessPriority = ProcessPriority(), resourceLimits: [ResourceLimit] = [],
        controlLimits: ControlLimits = ControlLimits(), leftovers: Leftovers = .kill, grace: Int64 = 10_000_000_000,
        logCap: Int64 = 256 << 20
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
    }
}

extension LaunchRequest {
    /// Where standard output and standard error go.
    public enum Output: Hashable, Sendable {
        /// Both into one file, made by the runner (0600, the operation's user's) and capped.
        case log(String)
        /// The same, in a file each.
        case split(stdout: String, stderr: String)
        /// Files the user named: opened (made, truncated) with the operation's own credentials, never capped.
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

    /// What to do with processes that outlive the main one.
    public enum Leftovers: UInt8, Hashable, Sendable {
        case kill, wait, leave
    }
}

/// How the kernel is to favour a process; `nil` leaves it as the runner's own.
public struct ProcessPriority: Hashable, Sendable {
    public enum IOClass: UInt8, Hashable, Sendable {
        case bestEffort = 2
        case idle = 3
    }
    public var nice: Int32?
    public var ioClass: IOClass?
    /// 0 (first) to 7, within the class.
    public var ioLevel: UInt8
    /// 1 to 10000, where there is a control group to set it; elsewhere nothing, unlike `ControlLimits.cpuWeight`.
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

/// One rlimit of a process.
public struct ResourceLimit: Hashable, Sendable {
    public enum Resource: UInt8, Hashable, Sendable, CaseIterable {
        case openFiles, fileSize, coreSize
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

/// Bounds of a whole tree, which only a control group can keep.
public struct ControlLimits: Hashable, Sendable {
    public var memoryBytes: Int64?
    public var tasks: Int64?
    /// 1 to 10000, of siblings that want the same CPU (default 100).
    public var cpuWeight: Int64?
    /// Microseconds of CPU time in each second: 500000 is half a CPU.
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

    var isEmpty: Bool { self == ControlLimits() }
}

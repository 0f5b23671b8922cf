internal import COpsSpawn
internal import Glibc

/// Process to be started, in a session of its own. It inherits only what is named here.
public struct Spawn: Sendable {
    /// Source or destination of a standard stream.
    public enum Stream: Hashable, Sendable {
        /// Open descriptor of this process (3 or higher), which stays open here.
        case descriptor(Int32)
        /// File that the new process opens with its own credentials.
        case reading(String)
        /// File that the new process opens with its own credentials; made or truncated.
        case writing(String)
        /// For standard error: the same open file as standard output.
        case likeStandardOutput
    }

    public struct User: Hashable, Sendable {
        public var uid: UInt32
        public var gid: UInt32
        /// All supplementary groups of the process.
        public var groups: [UInt32]
        public init(uid: UInt32, gid: UInt32, groups: [UInt32]) {
            self.uid = uid
            self.gid = gid
            self.groups = groups
        }
    }

    public struct Secret: Hashable, Sendable {
        public var name: String
        public var path: String
        public init(name: String, path: String) {
            self.name = name
            self.path = path
        }
    }

    public struct Limit: Hashable, Sendable {
        /// RLIMIT number of the kernel.
        public var resource: Int32
        public var soft: UInt64
        public var hard: UInt64
        public init(resource: Int32, soft: UInt64, hard: UInt64) {
            self.resource = resource
            self.soft = soft
            self.hard = hard
        }
    }

    /// Program and arguments. A program without a slash is searched in the PATH of `environment`.
    public var arguments: [String]
    /// All variables, `NAME=value`.
    public var environment: CStringArray
    /// Variables whose values the new process reads from files, with its own credentials.
    public var secrets: [Secret] = []
    public var directory: String?
    public var umask: UInt32 = 0o022
    public var standardInput: Stream = .reading("/dev/null")
    public var standardOutput: Stream = .writing("/dev/null")
    public var standardError: Stream = .likeStandardOutput
    public var user: User?
    public var limits: [Limit] = []
    public var nice: Int32?
    /// I/O priority, as for `ioprio_set`.
    public var ioPriority: Int32?
    public var oomScore: Int32?
    /// Open directory of the control group that the process is born in.
    public var controlGroup: Int32?
    /// False if `start` may wait for the program for longer than `longestStart`.
    public var hasStartLimit = true

    public init(arguments: [String], environment: CStringArray) {
        self.arguments = arguments
        self.environment = environment
    }
}

/// Failure to start a process. No process is left of the attempt.
public struct SpawnError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Step that failed: "directory", "user", "exec" ...
    public var step: String
    public var errno: Int32
    public init(step: String, errno: Int32) {
        self.step = step
        self.errno = errno
    }
    public var description: String { "\(step): \(SystemError.text(errno))" }

    /// The program did not run in time, and its process was killed.
    public static let outOfTime = SpawnError(step: name(ofStep: Int32(OPS_SPAWN_TIME.rawValue)), errno: ETIMEDOUT)

    fileprivate static func name(ofStep step: Int32, secrets: [String] = []) -> String {
        let index = Int(step) - Int(OPS_SPAWN_SECRET.rawValue)
        if secrets.indices.contains(index) { return "secret \(secrets[index])" }
        let inProc = Int(step) - Int(OPS_SPAWN_PROC_SECRET.rawValue)
        if secrets.indices.contains(inProc) {
            return "secret \(secrets[inProc]) (files of /proc are refused; read it in the command)"
        }
        return unsafe String(cString: ops_spawn_step_name(step))
    }

    /// The machine lacks a feature that the request needs.
    public static let notSupported = ENOTSUP
    /// A file on the way to the program is missing.
    public static let noSuchFile = ENOENT
}

/// Process that exists, and whose program does not run yet.
public struct StartingProcess: ~Copyable {
    public let pid: Int32
    /// Pipe that is readable once the start has an outcome.
    public let report: Descriptor

    public init(pid: Int32, report: consuming Descriptor) {
        self.pid = pid
        self.report = report
    }

    /// Returns the outcome; `nil`: not known yet. A process that died before its program ran counts as started, and its
    /// exit status tells the rest. A failed process has to be waited for. `secrets`: names of the process's secrets.
    public func outcome(secrets: [String] = []) -> Result<Void, SpawnError>? {
        var step: Int32 = 0
        var error: Int32 = 0
        guard unsafe ops_spawn_outcome(report.rawValue, &step, &error) != 0 else { return nil }
        if step == Int32(OPS_SPAWN_STARTED.rawValue) { return .success(()) }
        return .failure(SpawnError(step: SpawnError.name(ofStep: step, secrets: secrets), errno: error))
    }
}

extension Spawn {
    /// Longest time from the start of a process to the start of its program.
    public static let longestStart = TimeSpan.seconds(Int64(OPS_SPAWN_SECONDS))

    /// Starts a process, and returns its pid once the program runs. The caller sleeps until then, so this is only for
    /// programs, files and users that may delay the caller (for at most `longestStart`, unless the start has no limit).
    public func start() throws(SpawnError) -> Int32 {
        try unsafe perform(ops_spawn).pid
    }

    /// Starts a process without waiting for its program, for users and files that must not delay the caller. From then on
    /// this process must not be forked by other means: most of its memory would be missing there.
    public func startApart() throws(SpawnError) -> StartingProcess {
        let result = try unsafe perform(ops_spawn_apart)
        return StartingProcess(pid: result.pid, report: Descriptor(owning: result.report_fd))
    }

    private func perform(
        _ spawn: (UnsafePointer<ops_spawn_request>, UnsafeMutablePointer<ops_spawn_result>) -> Int32
    ) throws(SpawnError) -> ops_spawn_result {
        let arguments = CStringArray(arguments)
        let paths = CStringArray([standardInput, standardOutput, standardError].map(\.path) + [directory ?? ""])
        let limits = limits.map { ops_spawn_limit(resource: $0.resource, soft: $0.soft, hard: $0.hard) }
        let groups = user?.groups ?? []
        var result = ops_spawn_result()
        let rooms = SecretRooms(secrets)
        defer { rooms.wipe() }
        unsafe arguments.withPointers([]) { argv in
            unsafe environment.withPointers(rooms.variables) { envp in
                unsafe paths.withPointers([]) { path in
                    unsafe limits.withUnsafeBufferPointer { limits in
                        unsafe groups.withUnsafeBufferPointer { groups in
                            var request = unsafe plain
                            unsafe request.argv = UnsafePointer(argv.baseAddress)
                            unsafe request.secrets = UnsafePointer(rooms.requests.baseAddress)
                            unsafe request.secret_count = secrets.count
                            unsafe request.envp = envp.baseAddress
                            unsafe request.directory = unsafe directory == nil ? nil : path[3]
                            unsafe request.streams.0 = unsafe standardInput.request(path[0])
                            unsafe request.streams.1 = unsafe standardOutput.request(path[1])
                            unsafe request.streams.2 = unsafe standardError.request(path[2])
                            unsafe request.groups = groups.baseAddress
                            unsafe request.group_count = groups.count
                            unsafe request.limits = limits.baseAddress
                            unsafe request.limit_count = limits.count
                            _ = unsafe spawn(&request, &result)
                        }
                    }
                }
            }
        }
        guard result.step == Int32(OPS_SPAWN_STARTED.rawValue) else {
            throw SpawnError(
                step: SpawnError.name(ofStep: result.step, secrets: secrets.map(\.name)), errno: result.error)
        }
        return result
    }

    /// Request without its pointers.
    private var plain: ops_spawn_request {
        var request = unsafe ops_spawn_request()
        var flags: UInt32 = 0
        unsafe request.umask = umask
        unsafe request.cgroup_fd = controlGroup ?? -1
        unsafe request.no_start_limit = hasStartLimit ? 0 : 1
        if let user {
            flags |= OPS_SPAWN_SET_USER.rawValue
            unsafe request.uid = user.uid
            unsafe request.gid = user.gid
        }
        if let nice {
            flags |= OPS_SPAWN_SET_NICE.rawValue
            unsafe request.nice = nice
        }
        if let ioPriority {
            flags |= OPS_SPAWN_SET_IOPRIO.rawValue
            unsafe request.ioprio = ioPriority
        }
        if let oomScore {
            flags |= OPS_SPAWN_SET_OOM.rawValue
            unsafe request.oom_score = oomScore
        }
        unsafe request.flags = flags
        return unsafe request
    }
}

extension Spawn.Stream {
    fileprivate var path: String {
        switch self {
        case .reading(let path), .writing(let path): path
        case .descriptor, .likeStandardOutput: ""
        }
    }

    fileprivate func request(_ path: UnsafePointer<CChar>?) -> ops_spawn_stream {
        switch self {
        case .descriptor(let number): unsafe ops_spawn_stream(path: nil, open_flags: 0, fd: number)
        case .reading: unsafe ops_spawn_stream(path: path, open_flags: O_RDONLY, fd: -1)
        case .writing: unsafe ops_spawn_stream(path: path, open_flags: O_WRONLY | O_CREAT | O_TRUNC, fd: -1)
        case .likeStandardOutput: unsafe ops_spawn_stream(path: nil, open_flags: 0, fd: -1)
        }
    }
}

extension CStringArray {
    /// Calls `body` with an array of pointers, `more` behind them, that ends in NULL.
    fileprivate func withPointers<Result>(
        _ more: [UnsafePointer<CChar>], _ body: (UnsafeMutableBufferPointer<UnsafePointer<CChar>?>) -> Result
    ) -> Result {
        unsafe bytes.withUnsafeBytes { block in
            var pointers: [UnsafePointer<CChar>?] = unsafe []
            unsafe pointers.reserveCapacity(count + more.count + 1)
            var word = unsafe block.assumingMemoryBound(to: CChar.self).baseAddress
            for _ in 0..<count {
                unsafe pointers.append(word)
                // Past its NUL, which every word has.
                unsafe word = word.map { unsafe $0 + strlen($0) + 1 }
            }
            unsafe pointers.append(contentsOf: more.map { unsafe $0 })
            unsafe pointers.append(nil)
            return unsafe pointers.withUnsafeMutableBufferPointer { unsafe body($0) }
        }
    }
}

public import OpsSystem

/// Reports of an executor to opsd: facts, each with its attempt.
public enum ExecutorReport: Hashable, Sendable {
    case hello(ExecutorGreeting)
    case launched(AttemptID, LaunchedProcess)
    /// No program was started. `step`: the step that failed ("directory", "exec").
    case failed(AttemptID, step: String, errno: Int32)
    /// The main process has ended. `treeIsGone`: all other processes of the attempt have ended too, and no `gone` follows.
    case exited(AttemptID, ProcessExit, treeIsGone: Bool)
    case gone(AttemptID)
    /// An operation has sent an update. Before `hello`: everything that a known attempt has sent so far.
    case updated(AttemptID, OperationUpdate)
    /// The first staged launch is being started, in this slot.
    case stagedStarted(AttemptID, SlotStart)
    /// No launch is staged any more.
    case stagingRevoked
    /// Answer to a ping.
    case pong
    /// The attempt is submitted to the engine under this job, but held: the job starts only after `release`.
    case accepted(AttemptID, job: String)
    /// The attempt can never run, and no process was started. `cause`: the explanation of the engine.
    case refused(AttemptID, cause: String)
    /// The attempt has ended, with an outcome that the engine decided. Nothing of the attempt runs any more.
    case ended(AttemptID, ExternalEnd)

    /// True if opsd does not wait for the report: it expects a launch to succeed.
    public var canWait: Bool {
        if case .launched = self { true } else { false }
    }
}

/// Identity of an executor, and all attempts whose end opsd has not acknowledged.
public struct ExecutorGreeting: Hashable, Sendable {
    public struct Entry: Hashable, Sendable {
        public var attempt: AttemptID
        public var state: AttemptState
        public init(_ attempt: AttemptID, _ state: AttemptState) {
            self.attempt = attempt
            self.state = state
        }
    }
    public struct StartedAttempt: Hashable, Sendable {
        public var attempt: AttemptID
        public var start: SlotStart
        public init(_ attempt: AttemptID, _ start: SlotStart) {
            self.attempt = attempt
            self.start = start
        }
    }
    public var version: UInt16
    /// Random name of the executor. It stays the same as long as the executor remembers its attempts, also over
    /// restarts.
    public var instance: String
    public var boot: String
    public var pid: Int32
    public var entries: [Entry]
    public var capabilities: ExecutorCapabilities
    /// Release of the program; empty if the runner does not report it.
    public var release: String
    /// True if the runner is ending. It starts nothing more: an attempt that is not in `entries` never started.
    public var isEnding: Bool
    /// Starts of the attempts in `entries` that have a slot.
    public var slotStarts: [StartedAttempt]
    /// True if staged launches may depend on the success of others.
    public var stagesDependents: Bool
    public init(
        version: UInt16, instance: String, boot: String, pid: Int32, entries: [Entry],
        capabilities: ExecutorCapabilities = ExecutorCapabilities(), release: String = "", isEnding: Bool = false,
        slotStarts: [StartedAttempt] = [], stagesDependents: Bool = false
    ) {
        self.isEnding = isEnding
        self.release = release
        self.slotStarts = slotStarts
        self.stagesDependents = stagesDependents
        self.version = version
        self.instance = instance
        self.boot = boot
        self.pid = pid
        self.entries = entries
        self.capabilities = capabilities
    }
}

/// Features of this machine. Operations that need others are refused at submission.
public struct ExecutorCapabilities: Hashable, Sendable {
    /// True if every operation has a control group, which no process of its tree can leave.
    public var hasControlGroups: Bool
    /// Controllers of these groups: "memory", "pids", "cpu", "io".
    public var controllers: Set<String>
    public init(hasControlGroups: Bool = false, controllers: Set<String> = []) {
        self.hasControlGroups = hasControlGroups
        self.controllers = controllers
    }
}

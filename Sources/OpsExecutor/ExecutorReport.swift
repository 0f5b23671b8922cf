public import OpsSystem

/// Reports of an executor to opsd: facts, each with its attempt.
public enum ExecutorReport: Hashable, Sendable {
    case hello(ExecutorGreeting)
    case launched(Attempt, LaunchedProcess)
    /// No program was started. `step`: the step that failed ("directory", "exec").
    case failed(Attempt, step: String, errno: Int32)
    /// The main process has ended. `treeIsGone`: all other processes of the attempt have ended too, and no `gone` follows.
    case exited(Attempt, ProcessExit, treeIsGone: Bool)
    case gone(Attempt)
    /// An operation has sent an update. Before `hello`: everything that a known attempt has sent so far.
    case updated(Attempt, NotifyUpdate)
    /// The first staged launch is being started, in this slot.
    case stagedStarted(Attempt, slot: Int32, at: Moment)
    /// No launch is staged any more.
    case stagingRevoked
    /// Answer to a ping.
    case pong
    /// The attempt is submitted to the engine under this job, but held: the job starts only after `release`.
    case accepted(Attempt, job: String)
    /// The attempt can never run, and no process was started. `cause`: the explanation of the engine.
    case refused(Attempt, cause: String)
    /// The attempt has ended, with an outcome that the engine decided. Nothing of the attempt runs any more.
    case ended(Attempt, ExternalEnd)

    /// True if opsd does not wait for the report: it expects a launch to succeed.
    public var canWait: Bool {
        if case .launched = self { true } else { false }
    }
}

/// Identity of an executor, and all attempts whose end opsd has not acknowledged.
public struct ExecutorGreeting: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        case running(LaunchedProcess)
        /// The main process has ended; others of the tree are alive.
        case exited(ProcessExit)
        case gone(ProcessExit)
        case failed(step: String, errno: Int32)
        /// Submitted under this job, which has not started. An executor reports it also for a released job.
        case accepted(job: String)
        case refused(cause: String)
        case ended(ExternalEnd)
    }
    public struct Entry: Hashable, Sendable {
        public var attempt: Attempt
        public var state: State
        public init(_ attempt: Attempt, _ state: State) {
            self.attempt = attempt
            self.state = state
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
    /// Slots of the attempts in `entries`, as far as they have one.
    public var slotStarts: [SlotStart]
    /// True if staged launches may depend on the success of others.
    public var stagesDependents: Bool
    public struct SlotStart: Hashable, Sendable {
        public var attempt: Attempt
        public var slot: Int32
        public var at: Moment
        public init(_ attempt: Attempt, slot: Int32, at: Moment) {
            self.attempt = attempt
            self.slot = slot
            self.at = at
        }
    }
    public init(
        version: UInt16, instance: String, boot: String, pid: Int32, entries: [Entry],
        capabilities: ExecutorCapabilities = ExecutorCapabilities(), release: String = "", isEnding: Bool = false,
        slotStarts: [SlotStart] = [], stagesDependents: Bool = false
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

public struct LaunchedProcess: Hashable, Sendable {
    public var pid: Int32
    /// Start time in clock ticks since boot (`/proc/PID/stat`, field 22). Together with the pid it identifies the process.
    public var startTicks: UInt64
    public var at: Moment
    public init(pid: Int32, startTicks: UInt64, at: Moment) {
        self.pid = pid
        self.startTicks = startTicks
        self.at = at
    }
}

/// End of a main process, with the usage of its tree.
public struct ProcessExit: Hashable, Sendable {
    public enum Status: Hashable, Sendable {
        case code(Int32)
        case signal(Int32)
    }
    public var status: Status
    public var outOfMemory: Bool
    public var userMicroseconds: Int64
    public var systemMicroseconds: Int64
    public var maxResidentBytes: Int64
    public var at: Moment
    /// Shortest time until the next attempt, in nanoseconds since `at`.
    public var retryAfter: Int64
    public init(
        status: Status, outOfMemory: Bool = false, userMicroseconds: Int64 = 0, systemMicroseconds: Int64 = 0,
        maxResidentBytes: Int64 = 0, at: Moment, retryAfter: Int64 = 0
    ) {
        self.status = status
        self.outOfMemory = outOfMemory
        self.userMicroseconds = userMicroseconds
        self.systemMicroseconds = systemMicroseconds
        self.maxResidentBytes = maxResidentBytes
        self.at = at
        self.retryAfter = retryAfter
    }
}

/// End of an attempt whose outcome the engine decided: a node failed, a time limit was reached, somebody cancelled the job.
public struct ExternalEnd: Hashable, Sendable {
    public enum Outcome: UInt8, Hashable, Sendable, CaseIterable {
        case interrupted = 1
        case timedOut = 2
        case cancelled = 3
        case outOfMemory = 4
    }
    public var outcome: Outcome
    /// Explanation by the engine, such as "node n3 failed".
    public var cause: String
    /// Exit of the command; `nil`: not known.
    public var exit: ProcessExit?
    public var at: Moment
    public init(outcome: Outcome, cause: String, exit: ProcessExit? = nil, at: Moment) {
        self.outcome = outcome
        self.cause = cause
        self.exit = exit
        self.at = at
    }
}

/// Values that an operation has sent through its notify socket; `nil`: not sent.
public struct NotifyUpdate: Hashable, Sendable {
    public var status: String?
    public var progressDone: Int64?
    public var progressTotal: Int64?
    public var result: String?
    /// Exit status with which the operation declares itself finished.
    public var finished: Int32?
    /// Extension of the timeout, in nanoseconds.
    public var extendTimeout: Int64?
    /// True if the attempt has left something in its output directory.
    public var hasOutputs: Bool
    /// Wall instant at which the engine expects the start of its job. Sent with `status`; `nil`: no estimate.
    public var expectedStart: Int64?
    public init(
        status: String? = nil, progressDone: Int64? = nil, progressTotal: Int64? = nil, result: String? = nil,
        finished: Int32? = nil, extendTimeout: Int64? = nil, hasOutputs: Bool = false, expectedStart: Int64? = nil
    ) {
        self.status = status
        self.progressDone = progressDone
        self.progressTotal = progressTotal
        self.result = result
        self.finished = finished
        self.extendTimeout = extendTimeout
        self.hasOutputs = hasOutputs
        self.expectedStart = expectedStart
    }

    public var isEmpty: Bool { self == NotifyUpdate() }
}

public import OpsSystem

/// What the runner tells opsd: facts, each named by its attempt.
public enum RunnerReport: Hashable, Sendable {
    case hello(RunnerGreeting)
    case launched(Attempt, LaunchedProcess)
    /// Nothing was started: the step that failed ("directory", "exec") and its errno.
    case failed(Attempt, step: String, errno: Int32)
    /// The main process has ended; `treeIsGone`: so has every other of the attempt, and no `gone` follows.
    case exited(Attempt, ProcessExit, treeIsGone: Bool)
    case gone(Attempt)
    /// Before `hello`: all that an attempt it knows has said so far.
    case told(Attempt, Told)
    /// What was first in hand is being launched, in this slot.
    case taken(Attempt, slot: Int32, at: ClockReading)
    /// Nothing is in hand any more.
    case emptyHanded
    /// The answer to a ping.
    case answer

    /// Nobody waits for it: that what was ordered has happened.
    var isPatient: Bool {
        if case .launched = self { true } else { false }
    }
}

/// Who the runner is and what it knows: everything not yet acknowledged.
public struct RunnerGreeting: Hashable, Sendable {
    public enum State: Hashable, Sendable {
        case running(LaunchedProcess)
        /// The main process has ended; others of the tree are alive.
        case exited(ProcessExit)
        case gone(ProcessExit)
        case failed(step: String, errno: Int32)
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
    /// Made anew by a runner that starts with empty hands, kept by one that re-executes itself.
    public var instance: String
    public var boot: String
    public var pid: Int32
    public var entries: [Entry]
    public var abilities: RunnerAbilities
    /// Of the program that it is now; empty for one that does not say.
    public var release: String
    /// It starts nothing any more: what is not among `entries` never was and never will be.
    public var isEnding: Bool
    /// Where those of `entries` execute that have a slot.
    public var places: [Place]
    /// What is in its hand may wait for the success of others.
    public var handWaits: Bool
    public struct Place: Hashable, Sendable {
        public var attempt: Attempt
        public var slot: Int32
        public var at: ClockReading
        public init(_ attempt: Attempt, slot: Int32, at: ClockReading) {
            self.attempt = attempt
            self.slot = slot
            self.at = at
        }
    }
    public init(
        version: UInt16, instance: String, boot: String, pid: Int32, entries: [Entry],
        abilities: RunnerAbilities = RunnerAbilities(), release: String = "", isEnding: Bool = false,
        places: [Place] = [], handWaits: Bool = false
    ) {
        self.isEnding = isEnding
        self.release = release
        self.places = places
        self.handWaits = handWaits
        self.version = version
        self.instance = instance
        self.boot = boot
        self.pid = pid
        self.entries = entries
        self.abilities = abilities
    }
}

/// What this machine lets the runner do: what it cannot enforce is refused at submission.
public struct RunnerAbilities: Hashable, Sendable {
    /// Every operation has a control group: nothing of its tree can hide.
    public var hasControlGroups: Bool
    /// The controllers of those: "memory", "pids", "cpu", "io".
    public var controllers: Set<String>
    public init(hasControlGroups: Bool = false, controllers: Set<String> = []) {
        self.hasControlGroups = hasControlGroups
        self.controllers = controllers
    }
}

public struct LaunchedProcess: Hashable, Sendable {
    public var pid: Int32
    /// Clock ticks since boot (`/proc/PID/stat`, field 22): with the pid, a name for good.
    public var startTicks: UInt64
    public var at: ClockReading
    public init(pid: Int32, startTicks: UInt64, at: ClockReading) {
        self.pid = pid
        self.startTicks = startTicks
        self.at = at
    }
}

/// How a main process ended.
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
    public var at: ClockReading
    public init(
        status: Status, outOfMemory: Bool = false, userMicroseconds: Int64 = 0, systemMicroseconds: Int64 = 0,
        maxResidentBytes: Int64 = 0, at: ClockReading
    ) {
        self.status = status
        self.outOfMemory = outOfMemory
        self.userMicroseconds = userMicroseconds
        self.systemMicroseconds = systemMicroseconds
        self.maxResidentBytes = maxResidentBytes
        self.at = at
    }
}

/// What an operation said through its notify socket; `nil`: it did not speak of that.
public struct Told: Hashable, Sendable {
    public var status: String?
    public var progressDone: Int64?
    public var progressTotal: Int64?
    public var result: String?
    /// An exit status.
    public var finished: Int32?
    /// Nanoseconds.
    public var extendTimeout: Int64?
    public init(
        status: String? = nil, progressDone: Int64? = nil, progressTotal: Int64? = nil, result: String? = nil,
        finished: Int32? = nil, extendTimeout: Int64? = nil
    ) {
        self.status = status
        self.progressDone = progressDone
        self.progressTotal = progressTotal
        self.result = result
        self.finished = finished
        self.extendTimeout = extendTimeout
    }

    public var isEmpty: Bool { self == Told() }
}

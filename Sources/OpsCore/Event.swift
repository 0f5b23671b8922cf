/// What happened, told to the scheduler: requests of users, and facts about processes.
/// A request is answered by `handle` with an `Acceptance` or a `Rejection`; a fact is always accepted.
public enum Event: Sendable {
    // Requests
    indirect case submit(Submission)
    case cancel([OperationID], by: String, reason: String?, force: Bool)
    case suspend(Level, freeze: Bool)
    case resume(Level)
    /// `revived`: what of `operations` (and of what was skipped because of them, or of all after them with
    /// `--downstream`) has left the core, as the store remembers it.
    case retry([OperationID], revived: Revival)
    case finish(OperationID, failed: Bool, message: String?, by: String)
    /// All of it or nothing: each operation is named once.
    case edit([EditedTogether])
    /// A note beside an operation that exists, finished ones too; nil takes it away.
    case note(OperationID, GraphID, String?)
    case depend(OperationID, on: OperationID, when: When, finished: FinishedFact?)
    /// `isMet`: the store has such an edge; one that was met the core holds no more.
    case undepend(OperationID, on: OperationID, isMet: Bool = false)
    case setQueue(String, QueueEdit)
    case removeQueue(String)
    case setCategory(String, capacity: Int32)
    /// `insteadOf`: what is configured, where a user chose this number; nil where it is itself what is configured.
    case setWorkers(Int32, insteadOf: Int32? = nil)
    /// No new starts (`--on-stop drain`), and back.
    case setDraining(Bool)

    // Facts
    case launched(AttemptID, Process)
    case launchFailed(AttemptID, step: String, errno: Int32)
    /// The main process has ended. `treeIsGone`: so has every other process of the attempt.
    case exited(AttemptID, Exit, treeIsGone: Bool)
    /// Nothing of the attempt is alive any more.
    case gone(AttemptID)
    case told(AttemptID, Notice)
    /// The runner has begun what was in its hand, in the slot of one that had ended.
    case taken(AttemptID, Place)
    /// The hand was taken back: what comes after the first `taken` of it was not begun and will not be. Those are 0
    /// unless the runner was lost with the word of what it took.
    case recalled(taken: Int)
    /// The runner has put away what was recalled: it may be given another hand.
    case emptyHanded
    /// A runner has connected, or says that it is ending: which one, and what it knows.
    case runnerConnected(Inventory)
    case runnerLost
    /// The answers to the conditions of `.evaluate`, in order up to the first false one.
    case conditionsAnswered(OperationID, token: Int64, ConditionAnswer)
    /// A `finish` observer has run (or was given up): it need not run again after a crash.
    case observed(OperationID, run: Int32)
    /// Nothing happened but time.
    case tick
}

extension Event {
    /// What the runner tells of attempts under way. Everything else is told only once the hand has been taken back.
    public var isWordOfRunner: Bool {
        switch self {
        case .launched, .launchFailed, .exited, .gone, .told, .taken, .recalled, .emptyHanded: true
        case .submit, .cancel, .suspend, .resume, .retry, .finish, .edit, .note, .depend, .undepend, .setQueue,
            .removeQueue, .setCategory, .setWorkers, .setDraining, .runnerConnected, .runnerLost, .conditionsAnswered,
            .observed, .tick:
            false
        }
    }
}

/// What `suspend` and `resume` name.
public enum Level: Hashable, Sendable {
    case daemon
    case queue(String)
    case graph(GraphID)
    case operations([OperationID])
}

/// Operations that one edit is for.
public struct EditedTogether: Hashable, Sendable {
    public var operations: [OperationID]
    public var edit: Edit
    public init(_ operations: [OperationID], _ edit: Edit) {
        self.operations = operations
        self.edit = edit
    }
}

extension Event {
    /// The same for all of them.
    public static func edit(_ operations: [OperationID], _ edit: Edit) -> Event {
        .edit([EditedTogether(operations, edit)])
    }
}

public struct Edit: Hashable, Sendable {
    public var priority: Int8?
    public var queue: String?
    /// The whole policy as it is to be (the caller has laid the edited keys over the stored ones).
    public var policy: Policy?
    public var categories: [CategoryUse]?
    public init(priority: Int8? = nil, queue: String? = nil, policy: Policy? = nil, categories: [CategoryUse]? = nil) {
        self.priority = priority
        self.queue = queue
        self.policy = policy
        self.categories = categories
    }
}

public struct QueueEdit: Hashable, Sendable {
    /// `.some(nil)`: no limit but the pool.
    public var limit: Int32??
    /// Nanoseconds for one step; `.some(nil)`: off.
    public var aging: Int64??
    /// Refuse when the queue exists (`queue add`) or does not (`queue set`); nil: either.
    public var mustExist: Bool?
    public init(limit: Int32?? = nil, aging: Int64?? = nil, mustExist: Bool? = nil) {
        self.limit = limit
        self.aging = aging
        self.mustExist = mustExist
    }
}

/// A process as the kernel knows it for good: the number alone is reused.
public struct Process: Hashable, Sendable {
    public var pid: Int32
    /// Clock ticks since boot (`/proc/PID/stat`, field 22).
    public var startTicks: UInt64
    public var at: Moment
    public init(pid: Int32, startTicks: UInt64, at: Moment) {
        self.pid = pid
        self.startTicks = startTicks
        self.at = at
    }
}

/// How a main process ended, as its parent saw it.
public struct Exit: Hashable, Sendable {
    public enum Status: Hashable, Sendable {
        case code(Int32)
        case signal(Int32)
    }
    public var status: Status
    public var outOfMemory: Bool
    public var usage: Usage
    public var at: Moment
    public init(status: Status, outOfMemory: Bool = false, usage: Usage = Usage(), at: Moment) {
        self.status = status
        self.outOfMemory = outOfMemory
        self.usage = usage
        self.at = at
    }
}

public struct Usage: Hashable, Sendable {
    public var userMicroseconds: Int64
    public var systemMicroseconds: Int64
    public var maxResidentBytes: Int64
    public init(userMicroseconds: Int64 = 0, systemMicroseconds: Int64 = 0, maxResidentBytes: Int64 = 0) {
        self.userMicroseconds = userMicroseconds
        self.systemMicroseconds = systemMicroseconds
        self.maxResidentBytes = maxResidentBytes
    }
}

/// What a running operation says through its notify socket; several in one message.
public struct Notice: Hashable, Sendable {
    public var status: String?
    public var progressDone: Int64?
    public var progressTotal: Int64?
    public var result: String?
    public var finished: Int32?
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
}

/// What a runner says of itself on connection.
public struct Inventory: Hashable, Sendable {
    public enum Entry: Hashable, Sendable {
        case running(Process)
        /// The main process has ended; others of the tree are alive.
        case exited(Exit)
        case gone(Exit)
        case failed(step: String, errno: Int32)
    }
    /// Made anew by each runner process that starts with empty hands (not by one that re-executes itself).
    public var runner: String
    public var boot: String
    public var entries: [AttemptID: Entry]
    /// What those of `entries` have said until now: it may have been said to an opsd that died before storing it.
    public var words: [AttemptID: Notice]
    /// It starts nothing any more: what was ordered and is not in `entries` never will be.
    public var isEnding: Bool
    /// Where they execute, as far as the runner still knows.
    public var places: [AttemptID: Place]
    /// It can hold launches for later; an older one cannot.
    public var takesHand: Bool
    public init(
        runner: String, boot: String, entries: [AttemptID: Entry] = [:], words: [AttemptID: Notice] = [:],
        isEnding: Bool = false, places: [AttemptID: Place] = [:], takesHand: Bool = false
    ) {
        self.isEnding = isEnding
        self.runner = runner
        self.boot = boot
        self.entries = entries
        self.words = words
        self.places = places
        self.takesHand = takesHand
    }
}

/// Where and when a runner began something by itself.
public struct Place: Hashable, Sendable {
    public var slot: Int32
    public var at: Moment
    public init(slot: Int32, at: Moment) {
        self.slot = slot
        self.at = at
    }
}

public enum ConditionAnswer: Hashable, Sendable {
    case allTrue
    case isFalse(index: Int32, detail: String)
}

/// How an operation that has left the core ended.
public struct FinishedFact: Hashable, Sendable {
    public var outcome: Outcome
    /// The root of its own cascade when it was skipped, else itself.
    public var root: OperationID
    public var hasStarted: Bool
    /// How `root` ended.
    public var rootOutcome: Outcome
    public init(outcome: Outcome, root: OperationID, hasStarted: Bool, rootOutcome: Outcome? = nil) {
        self.rootOutcome = rootOutcome ?? outcome
        self.outcome = outcome
        self.root = root
        self.hasStarted = hasStarted
    }
}

public import OpsCore

/// A schedule as it is stored. Instants of its calendar are whole seconds since 1970.
public struct StoredSchedule: Equatable, Sendable {
    public var id: Int64 = 0
    public var uid: UInt32
    public var user: String
    public var gid: UInt32
    public var name: String
    /// The request that added it, as JSON, with every default that must not change later.
    public var definition: String
    public var addedAt: WallInstant
    public var position: Position

    /// The stored part of its accounting.
    public struct Position: Equatable, Sendable {
        /// Instant up to which, inclusive, every nominal instant has its record.
        public var accounted: Int64
        /// Number of runs.
        public var runs = 0
        public var isPaused = false
        /// Last instant of the latest pause.
        public var pausedThrough: Int64?
        /// Boot of the machine in which `@reboot` has run.
        public var boot: String?
        public init(accounted: Int64) { self.accounted = accounted }
    }

    public init(uid: UInt32, user: String, gid: UInt32, name: String, definition: String, addedAt: WallInstant) {
        self.uid = uid
        self.user = user
        self.gid = gid
        self.name = name
        self.definition = definition
        self.addedAt = addedAt
        position = Position(accounted: addedAt.nanoseconds / 1_000_000_000)
    }
}

/// The record of a nominal instant, or of adjacent instants that did not run.
public struct ScheduleInstant: Equatable, Sendable {
    public enum Result: Int64, Sendable { case run, skipped, missed, paused, refused }
    public enum Origin: Int64, Sendable { case calendar, manual, backfill, trigger }

    public var schedule: Int64
    /// First instant, in seconds since 1970: with schedule and origin the key of the record.
    public var nominal: Int64
    public var origin = Origin.calendar
    /// Distinguishes records of the same instant: triggers may start several runs in one second.
    public var number: Int64 = 0
    /// Last instant.
    public var through: Int64
    public var count = 1
    public var result: Result
    /// Graph of the run. The store sets it where the record is committed with its submission.
    public var graph: Int64?
    public var at = WallInstant.zero
    public var note: String?
    /// The file or the line that triggered the run.
    public var key: String?
    /// Outcome of the run, once it has been stored.
    public var outcome: Outcome?

    public init(schedule: Int64, nominal: Int64, through: Int64, count: Int, result: Result) {
        self.schedule = schedule
        self.nominal = nominal
        self.through = through
        self.count = count
        self.result = result
    }
}

/// A file or a line that triggers a run, with the identity of the file.
public struct TriggerKey: Hashable, Sendable {
    public var key: String
    public var identity: String

    public init(key: String, identity: String) {
        self.key = key
        self.identity = identity
    }
}

/// A record with the position of the schedule after it: both are stored in one commit, with the submission of the run
/// if there is one.
public struct ScheduleWrite: Equatable, Sendable {
    public var instant: ScheduleInstant
    public var position: StoredSchedule.Position
    /// Keys that have run, or will not run.
    public var keys: [TriggerKey] = []
    /// Stored record of instants that did not run, one of which now does: `rest` replaces it.
    public var replaced: ScheduleInstant?
    public var rest: [ScheduleInstant] = []

    public init(_ instant: ScheduleInstant, _ position: StoredSchedule.Position) {
        self.instant = instant
        self.position = position
    }
}

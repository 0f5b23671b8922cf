internal import OpsCore
internal import OpsSystem

/// Bounds on what the schedules of one user keep and start.
enum ScheduleLimits {
    /// Maximum number of schedules of one ordinary user.
    static let schedulesOfUser = 1000
    /// Bytes of the stored definition of a schedule, with the captured environment.
    static let definitionBytes = Limits.scheduleBytes + Limits.environmentBytes
    /// Bytes of the operations of one run with their placeholders replaced; also of its defaults, and of its observers.
    static let filledBytes = 16 << 20
    /// Bytes of the paths that one run of a batch gets, each with a newline. An environment variable of a process has
    /// at most 128 KiB.
    static let batchBytes = 100 << 10
    /// Maximum number of records of a schedule, and of all schedules of a user.
    private static let records = 10_000
    private static let recordsOfUser = 1_000_000
    /// Number of records that each schedule may keep, however many schedules its user has.
    private static let fewestRecords = 100
    /// Maximum number of stored files of a trigger that are gone, and of all triggers of a user.
    private static let goneFiles = 100_000
    private static let goneFilesOfUser = 1_000_000

    /// Returns the maximum number of records of each schedule of a user with this number of schedules.
    static func records(ofEach schedules: Int) -> Int {
        max(fewestRecords, min(records, recordsOfUser / max(schedules, 1)))
    }

    /// Returns the maximum number of stored files that are gone, of each trigger of a user with this number of
    /// triggers.
    static func goneFiles(ofEach triggers: Int) -> Int { min(goneFiles, goneFilesOfUser / max(triggers, 1)) }
}

/// Decisions about the schedules and triggers of each ordinary user within a minute: runs that start, and records of
/// instants that do not run. Each is a commit, and has an event.
struct DecisionAllowance {
    /// Maximum number of decisions of a user in a minute.
    static let decisionsInAMinute = 1000
    private static let minute = TimeSpan.seconds(60)

    private var minutes: [UInt32: (start: MonotonicInstant, decisions: Int)] = [:]

    /// Counts a decision of a user and returns true. Returns false if the user has had all decisions of this minute.
    mutating func consume(of user: UInt32, at now: MonotonicInstant) -> Bool {
        guard let current = minutes[user], now - current.start < Self.minute else {
            minutes[user] = (now, 1)
            return true
        }
        guard current.decisions < Self.decisionsInAMinute else { return false }
        minutes[user]?.decisions += 1
        return true
    }

    /// Returns the instant at which a user may have the next decision; nil if that is now.
    func rest(of user: UInt32, at now: MonotonicInstant) -> MonotonicInstant? {
        guard let current = minutes[user], current.decisions >= Self.decisionsInAMinute else { return nil }
        let end = current.start + Self.minute
        return end > now ? end : nil
    }

    var isEmpty: Bool { minutes.isEmpty }
}

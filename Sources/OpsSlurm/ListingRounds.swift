public import OpsModel

/// The listings of jobs. A round has one listing for each user.
public struct ListingRounds {
    /// Instant at which the last round was started.
    private var last = MonotonicInstant.distantPast
    /// Instant before which no round starts, except those at the regular interval.
    private var notBefore = MonotonicInstant.distantPast
    /// Commands under way.
    public var underWay = 0
    /// True if an attempt waits for the next round.
    public var isWanted = false
    /// Attempts that are not in the table and that this round is to find.
    public var sought: Set<AttemptID> = []
    /// Attempts of these that have a job.
    public var found: Set<AttemptID> = []
    /// False if the jobs of a user are missing.
    public var isComplete = true

    private static let shortestPause = TimeSpan.milliseconds(500)

    public init() {}

    /// Returns the instant of the next round, if there is anything to list.
    public func next(interval: TimeSpan) -> MonotonicInstant {
        let wanted = isWanted ? .distantPast : collectedUntil
        return min(max(wanted, notBefore), last.clampedSum(interval))
    }

    /// Begins a round. A second one may follow at once; in the long run there is at most one in half a second.
    public mutating func begin(now: MonotonicInstant, interval: TimeSpan) {
        notBefore = max(notBefore.clampedSum(min(interval, Self.shortestPause)), now)
        if collectedUntil <= now {
            collected = []
            collectedUntil = .distantFuture
        }
        isWanted = false
        last = now
        found = []
        isComplete = true
    }

    // MARK: New attempts

    /// New attempts that wait until no further ones follow, for one round and one submission of all that are equal.
    private var collected: Set<AttemptID> = []
    /// Instant of the first of them, and that from which on a round is for them.
    private var firstLaunch = MonotonicInstant.distantPast
    private var collectedUntil = MonotonicInstant.distantFuture
    /// True if at least as many jobs waited in Slurm as ran when they were listed.
    private var isSlurmBusy = false

    private static let quiet = TimeSpan.milliseconds(100)
    private static let longestDelay = TimeSpan.milliseconds(500)
    /// Delay while others wait in Slurm, so that a new job could not start: a submission takes Slurm and this machine the same
    /// time for one attempt as for many.
    private static let busyDelay = TimeSpan.seconds(1)

    /// Adds a new attempt. `hasWaiting`: whether attempts that were released have not started.
    public mutating func collect(_ attempt: AttemptID, now: MonotonicInstant, hasWaiting: () -> Bool) {
        if collected.isEmpty { firstLaunch = now }
        collected.insert(attempt)
        isSlurmBusy = isSlurmBusy && hasWaiting()
        collectedUntil =
            isSlurmBusy ? firstLaunch + Self.busyDelay : min(now + Self.quiet, firstLaunch + Self.longestDelay)
    }

    /// Returns whether an attempt waits until no further ones follow.
    public func isCollected(_ attempt: AttemptID) -> Bool { !collected.isEmpty && collected.contains(attempt) }

    /// Notes how many jobs of a listing wait and run.
    public mutating func note(_ rows: [JobRow]) {
        let waiting = rows.count { $0.state.meaning == .pending && !$0.isHeld }
        isSlurmBusy = waiting > 0 && waiting >= rows.count { $0.state.meaning == .active }
    }

    // MARK: Users

    /// Users who may have jobs that nobody needs, with the instant until which these are looked for.
    private var watched: [UInt32: MonotonicInstant] = [:]

    public mutating func watch(_ uid: UInt32, until instant: MonotonicInstant) { watched[uid] = instant }

    public mutating func watchedUsers(now: MonotonicInstant) -> Set<UInt32> {
        watched = watched.filter { $0.value > now }
        return Set(watched.keys)
    }
}

public import OpsModel

/// The listings of jobs. A round has one for each user, and does not wait long for users who delay theirs.
public struct ListingRounds {
    /// Instant at which the last round was started.
    private var last = MonotonicInstant.distantPast
    /// Instant before which no round starts, except those at the regular interval.
    private var notBefore = MonotonicInstant.distantPast
    /// True if an attempt waits for the next round.
    public var isWanted = false
    /// Attempts that are not in the table and that this round is to find.
    public var sought: Set<AttemptID> = []
    /// Attempts of these that have a job.
    public var found: Set<AttemptID> = []
    /// False if the jobs of a user are missing.
    public var isComplete = true

    private static let shortestPause = TimeSpan.milliseconds(500)
    /// Longest time for which the next round waits for this one.
    private static let longestRound = TimeSpan.seconds(2)

    public init() {}

    /// Returns the instant of the next round, if there is anything to list.
    public func next(interval: TimeSpan) -> MonotonicInstant {
        let wanted = isWanted ? .distantPast : collectedUntil
        let next = min(max(wanted, notBefore), last.clampedSum(interval))
        return awaited.isEmpty ? next : max(next, last.clampedSum(Self.longestRound))
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
        awaited = []
    }

    // MARK: Commands

    /// Users whose jobs are being listed.
    private var underWay: Set<UInt32> = []
    /// Users among them whose listings the round waits for.
    private var awaited: Set<UInt32> = []
    /// Users who had no listing in a round, because an earlier one was under way.
    private var omitted: Set<UInt32> = []
    /// True while a command looks for the users of the round.
    public var isFindingUsers = false

    /// Starts the listings of a round, and returns their users. A user whose earlier listing is still under way gets
    /// another one after it, in a later round.
    public mutating func start(_ users: Set<UInt32>) -> Set<UInt32> {
        let late = users.intersection(underWay)
        if !late.isEmpty { isComplete = false }
        omitted.formUnion(late)
        awaited = users.subtracting(late)
        underWay.formUnion(awaited)
        return awaited
    }

    /// Ends the listing of a user. Returns true if the round has waited for this one, and for no other.
    public mutating func end(_ uid: UInt32) -> Bool {
        underWay.remove(uid)
        if omitted.remove(uid) != nil { isWanted = true }
        return awaited.remove(uid) != nil && awaited.isEmpty
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

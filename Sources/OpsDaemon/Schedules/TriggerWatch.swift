internal import OpsExecutor
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// Checks the files or lines of one trigger. A check compares them with the stored keys, after every start and every
/// pause. Events of the file system only make the next check earlier.
final class TriggerWatch {
    private unowned let triggers: Triggers
    let schedule: Schedule
    let trigger: Trigger
    private(set) lazy var alarm = Alarm(triggers.loop, triggers.log) { [unowned self] in self.triggers.check(self) }
    private var token: FileWatch.Token?
    private var hasEnded = false
    /// New files by the bytes of their paths, with the instant at which each was first seen in its present state.
    private var seen: [[UInt8]: (identity: String, since: MonotonicInstant)] = [:]
    /// New keys, which start runs in this order.
    var ready: [TriggerKey] = []
    /// True while files of a batch wait for the end of a run because they did not fit into it.
    var waitsForRun = false
    private var isChecking = false
    /// True if something may have changed since the last check began.
    private var isStale = false
    private var lastCheck = MonotonicInstant.zero
    var helper: AttemptID?
    /// True once the log says that some files or lines cannot start a run.
    var hasReportedIgnored = false
    /// Reason why the last check failed; nil if it did not.
    var problem: String?
    /// True once the log contains such a reason.
    var hasReportedProblem = false

    /// Time between an event of the file system and a check, and between two checks because of events.
    private static let gathering = TimeSpan.milliseconds(100)
    private static let betweenChecks = TimeSpan.seconds(1)
    /// Longest time between a check that failed, or found only some of the files, and the next.
    private static let retry = TimeSpan.seconds(60)

    init(_ triggers: Triggers, _ schedule: Schedule, _ trigger: Trigger) {
        self.triggers = triggers
        self.schedule = schedule
        self.trigger = trigger
    }

    /// Starts the checks.
    func begin() { alarm.set(after: .zero) }

    /// Ends the checks. Returns true if this stopped a helper process, whose end is not reported any more.
    @discardableResult
    func end() -> Bool {
        hasEnded = true
        alarm.set(at: nil)
        setToken(nil)
        ready = []
        guard let helper else { return false }
        self.helper = nil
        return triggers.helpers.stop(helper)
    }

    /// Makes the next check soon.
    func wake() {
        guard !schedule.isPaused else { return }
        if isChecking {
            isStale = true
        } else {
            set(max(Clock.read().monotonic + Self.gathering, lastCheck + Self.betweenChecks))
        }
    }

    private func set(_ instant: MonotonicInstant) {
        if alarm.instant.map({ instant < $0 || $0 <= Clock.read().monotonic }) ?? true { alarm.set(at: instant) }
    }

    /// Watches the directory again: another one may have its name by now. One that the owner cannot read is not
    /// watched, because events would tell the owner about it.
    ///
    /// The directory is opened outside the loop: its file system can delay that for root, whatever the owner's process
    /// has listed. Without a directory that may be watched, only the regular checks find files.
    func renewWatch() {
        guard let path = trigger.directory else { return }
        let (user, queue) = (schedule.stored.uid, triggers.fileWatch.queue)
        let isRoot = triggers.schedules.authorization.daemonUser == 0
        let groups: (@Sendable () -> [UInt32])? = isRoot ? groupsOfOwner() : nil
        // There may be no such directory, or no watch left.
        let watch: @Sendable (String) -> Int32? = { try? queue.watchFiles(of: $0) }
        let start: @Sendable () -> Int32? = {
            guard let groups else { return watch(path) }
            return ReadableDirectory.open(path, readableBy: user, groups: groups)?.withPath(watch)
        }
        // If no thread can do it, the check fails with the same error, because its comparison comes next.
        try? triggers.threads.run(
            start, for: user, ownedBy: self,
            then: { [weak self, unowned triggers] (number: Int32?) in
                let new = number.map { triggers.fileWatch.add({ [weak self] in self?.wake() }, to: $0) }
                if let self, !self.hasEnded { return self.setToken(new) }
                // The trigger was changed or removed meanwhile.
                if let new { triggers.fileWatch.cancel(new) }
            })
    }

    private func setToken(_ new: FileWatch.Token?) {
        let former = token
        token = new
        if let former { triggers.fileWatch.cancel(former) }
        // Another check finds the files that came before the watch.
        if let new, !new.isForSameFile(as: former) { isStale = true }
    }

    /// Returns a function that looks up the groups of the owner, outside the loop.
    private func groupsOfOwner() -> @Sendable () -> [UInt32] {
        // Without an account the owner is in no group.
        guard let owner = try? triggers.schedules.owner(of: schedule) else { return { [] } }
        let (account, group) = (owner.account, owner.group)
        // The list of groups may be impossible to read.
        return { (try? account?.groups()) ?? [group] }
    }

    /// Handles the start of a check.
    func beginCheck() {
        (isChecking, isStale, lastCheck) = (true, false, Clock.read().monotonic)
        alarm.set(at: nil)
    }

    /// Handles the keys that have no run yet.
    /// - Parameters:
    ///   - isCut: There are more.
    ///   - mayLackFiles: The list of files ended early.
    func found(_ keys: [TriggerKey], isCut: Bool, mayLackFiles: Bool = false) {
        isChecking = false
        let now = Clock.read().monotonic
        var next = now + trigger.pause
        if case .path(_, let settle, _, _) = trigger, settle > .zero {
            // The store has returned all keys without a run, also those of the last check.
            ready = []
            var found: [[UInt8]: (identity: String, since: MonotonicInstant)] = [:]
            // A file that is written to all the time causes one check in this time.
            let pause = max(settle, Self.betweenChecks)
            for key in keys {
                // Two names that differ only in their bytes are equal strings.
                let path = Array(key.key.utf8)
                let since = seen[path].flatMap { $0.identity == key.identity ? $0.since : nil } ?? now
                found[path] = (key.identity, since)
                if since + settle <= now { ready.append(key) } else { next = min(next, since + pause) }
            }
            seen = found
        } else {
            ready = keys
        }
        if isStale || isCut { next = min(next, now + Self.betweenChecks) }
        if mayLackFiles { next = min(next, now + Self.retry) }
        alarm.set(at: next)
    }

    /// Keys of the next run: the first one; with `batch`, as many as fit into `ScheduleLimits.batchBytes`.
    var keysOfNextRun: [TriggerKey] {
        guard trigger.isBatch else { return Array(ready.prefix(1)) }
        var bytes = 0
        let end = ready.firstIndex { key in
            bytes += key.key.utf8.count + 1
            return bytes > ScheduleLimits.batchBytes
        }
        return Array(ready.prefix(max(1, end ?? ready.count)))
    }

    /// Handles a failed check: the next one is after the usual pause, unless that is long.
    func failed(after pause: TimeSpan? = nil) {
        isChecking = false
        alarm.set(after: pause ?? min(trigger.pause, Self.retry))
    }
}

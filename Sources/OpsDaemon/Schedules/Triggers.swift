internal import OpsCalendar
internal import OpsCore
internal import OpsExecutor
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Runs that files and printed lines trigger. A helper process with the rights of the owner lists the files, or prints
/// the lines.
final class Triggers {
    unowned let schedules: Schedules
    /// Directory with a directory for each schedule, in which its helper processes write: the removal of a file waits
    /// while its user holds its lock, and holds that of the directory meanwhile.
    private let directory: String
    let helpers: HelperProcesses
    let fileWatch: FileWatch
    private let turns: Turns
    private let store: Store
    private let history: History
    let loop: EventLoop
    let log: DaemonLog
    private var watches: [Int64: TriggerWatch] = [:]
    private var checks = FairBacklog<TriggerWatch>(slots: 4)
    private lazy var nextChecks = DeferredWork(loop) { [unowned self] in self.startChecks() }
    /// Reading and removing output, and opening directories, which a user can delay.
    private(set) lazy var threads = UserThreads(loop)
    private lazy var work = DeferredWork(loop) { [unowned self] in self.startRuns() }
    /// Number of runs that are being committed, by schedule.
    private var committing: [Int64: Int] = [:]

    private static let longestCheck = TimeSpan.seconds(60)
    private static let mostOutput: Int64 = 16 << 20
    /// Maximum number of new keys of one check, and of runs that one turn starts.
    private static let keysInACheck = 1000
    private static let startsInATurn = 20
    /// Time after which runs that a limit has refused are tried again.
    private static let retry = TimeSpan.seconds(60)
    /// Time after which a check without a runner is tried again.
    private static let runnerRetry = TimeSpan.seconds(1)
    /// Exit statuses with which a shell reports a command that it has not executed.
    private static let shellProblems: [Int32: String] = [
        126: "a command cannot be executed (exit status 126)", 127: "a command was not found (exit status 127)",
    ]

    init(of schedules: Schedules, directory: String, helpers: HelperProcesses, fileWatch: FileWatch) {
        self.schedules = schedules
        self.directory = directory
        self.helpers = helpers
        self.fileWatch = fileWatch
        turns = schedules.turns
        store = schedules.store
        history = schedules.history
        loop = schedules.loop
        log = schedules.log
    }

    /// Starts to watch for a schedule, or continues with its new definition.
    func update(_ schedule: Schedule) {
        forget(schedule)
        guard let trigger = schedule.definition.trigger, schedule.problem == nil, !schedule.isPaused else { return }
        let watch = TriggerWatch(self, schedule, trigger)
        watches[schedule.id] = watch
        watch.begin()
    }

    func forget(_ schedule: Schedule) {
        guard let watch = watches.removeValue(forKey: schedule.id) else { return }
        threads.cancel(for: watch.schedule.stored.uid, ownedBy: watch)
        guard watch.end() else { return }
        // A helper that was stopped does not release its slot.
        checks.end(of: watch.schedule.stored.uid)
        nextChecks.schedule()
    }

    /// Checks again after a key was removed.
    func wake(_ schedule: Schedule) { watches[schedule.id]?.wake() }

    /// Finds the files again that waited for the end of a run.
    func runEnded(of schedule: Schedule) {
        if let watch = watches[schedule.id], watch.waitsForRun { watch.wake() }
    }

    /// Returns the reason why the last check of a schedule failed, if it did.
    func problem(of schedule: Schedule) -> String? { watches[schedule.id]?.problem }

    // MARK: - Output of checks

    /// Forgets a removed schedule, with the output of its checks.
    func remove(_ schedule: Schedule) {
        forget(schedule)
        removeOutput(["\(schedule.id)"], of: schedule.stored.uid)
    }

    /// Removes the output of checks for schedules that were removed, when the daemon starts.
    func removeLeftovers() {
        guard Files.isDirectory(directory) else { return }
        let known = Set(schedules.all.filter { $0.definition.trigger != nil }.map(\.id))
        do throws(SystemError) {
            let names = try Files.list(directory)
            let unknown = names.filter { name in Int64(name.prefix { $0 != "." }).map { !known.contains($0) } ?? false }
            // The users of removed schedules are not known any more.
            removeOutput(unknown, of: .max)
        } catch {
            log.warning("cannot remove the output of checks for triggers: \(error)")
        }
    }

    private func removeOutput(_ names: [String], of user: UInt32) {
        if names.isEmpty { return }
        let paths = names.map { directory + "/" + $0 }
        do throws(SystemError) {
            try threads.run(
                { paths.compactMap(Self.failure(ofRemoving:)).first }, for: user, ownedBy: self,
                then: { [unowned self] (failure: SystemError?) in
                    if let failure { log.warning("cannot remove the output of a check for triggers: \(failure)") }
                })
        } catch {
            log.warning("cannot remove the output of a check for triggers: \(error)")
        }
    }

    @Sendable private static func failure(ofRemoving path: String) -> SystemError? {
        do throws(SystemError) {
            // An older opsd had files instead of directories.
            if Files.isDirectory(path) { try DirectoryTree(path).remove() } else { try Files.remove(path) }
            return nil
        } catch {
            return error
        }
    }

    // MARK: - Checks

    func check(_ watch: TriggerWatch) {
        guard watches[watch.schedule.id] === watch else { return }
        watch.beginCheck()
        let (user, path) = (watch.schedule.stored.uid, directory + "/\(watch.schedule.id)")
        let removeFormer: @Sendable () -> SystemError? = { Self.failure(ofRemoving: path) }
        run(removeFormer, for: watch) { [unowned self] watch, failure in
            if let failure {
                report("\(failure)", of: watch)
                return watch.failed()
            }
            checks.append(watch, of: user)
            startChecks()
        }
    }

    /// Runs work on the output of a schedule's checks outside the loop, then `handle`, unless the trigger has changed.
    private func run<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value, for watch: TriggerWatch,
        then handle: @escaping (TriggerWatch, Value) -> Void
    ) {
        let id = watch.schedule.id
        do throws(SystemError) {
            try threads.run(
                body, for: watch.schedule.stored.uid, ownedBy: watch,
                then: { [unowned self, weak watch] value in
                    if let watch, watches[id] === watch { handle(watch, value) }
                })
        } catch {
            report("\(error)", of: watch)
            watch.failed()
        }
    }

    /// Starts checks if there are free slots and a runner.
    func startChecks() {
        while let (watch, user) = checks.start() {
            // The schedule may have been paused, changed or removed.
            guard watches[watch.schedule.id] === watch else {
                checks.end(of: user)
                continue
            }
            do {
                if try !startHelper(watch, of: user) {
                    checks.end(of: user)
                    watch.failed(after: Self.runnerRetry)
                }
            } catch {
                checks.end(of: user)
                report(schedules.reason(error), of: watch)
                watch.failed()
            }
        }
    }

    /// Keeps the reason why a check failed, and logs the first one: the owner decides how often a check fails.
    private func report(_ problem: String, of watch: TriggerWatch) {
        watch.problem = problem
        guard !watch.hasReportedProblem else { return }
        watch.hasReportedProblem = true
        log.warning("schedule \(watch.schedule.name): cannot check triggers: \(problem)")
    }

    /// Starts the helper process of a check. Returns false if there is no runner.
    private func startHelper(_ watch: TriggerWatch, of user: UInt32) throws -> Bool {
        let owner = try schedules.owner(of: watch.schedule)
        let own = directory + "/\(watch.schedule.id)"
        try Files.makePrivateDirectory(own)
        let path = own + "/out"
        let captured = Captured(watch.schedule.definition.request.capture, account: owner.account)
        let launchUser =
            schedules.authorization.daemonUser == 0
            ? LaunchRequest.User(name: owner.name, uid: owner.user, gid: owner.group) : nil
        let request = LaunchRequest(
            attempt: AttemptID(OperationID(0), 0), slot: -1, arguments: watch.trigger.arguments,
            environment: captured.words, directory: captured.details.directory,
            output: .split(stdout: path, stderr: own + "/err"), user: launchUser, grace: .seconds(1),
            logCap: Self.mostOutput)
        watch.helper = try helpers.start(request, timeout: Self.longestCheck) {
            [unowned self, weak watch] result in
            self.checks.end(of: user)
            watch?.helper = nil
            if let watch, self.watches[watch.schedule.id] === watch { self.compareOutput(watch, path, result) }
            self.startChecks()
        }
        return watch.helper != nil
    }

    /// Compares the output with the stored keys, outside the loop.
    private func compareOutput(_ watch: TriggerWatch, _ path: String, _ result: HelperResult) {
        watch.problem = nil
        let isComplete: Bool
        switch result {
        case .code(let status):
            // A command that fails may have been unable to write the rest of its last line.
            isComplete = status == 0
            if let problem = Self.shellProblems[status] { report(problem, of: watch) }
            watch.renewWatch()
        case .signal, .timedOut: isComplete = false
        case .cannotStart(let step, let errno):
            report("\(SystemError(step, errno: errno))", of: watch)
            return watch.failed()
        case .lost: return watch.failed(after: Self.runnerRetry)
        }
        let (trigger, id, database) = (watch.trigger, watch.schedule.id, store.path)
        let user = watch.schedule.stored.uid
        let own = schedules.all.count { $0.stored.uid == user && $0.definition.trigger?.directory != nil }
        let kept = result == .code(0) && trigger.directory != nil ? ScheduleLimits.goneFiles(ofEach: own) : nil
        let compare: @Sendable () -> Result<Comparison, any Error> = {
            Result {
                let bytes = try Files.readIfPresent(path, limit: Int(Self.mostOutput)) ?? []
                let (keys, ignored) = trigger.read(bytes, isComplete: isComplete)
                let history = try History.open(path: database)
                let new = try history.newKeys(among: keys, of: id, limit: Self.keysInACheck + 1)
                var found = Comparison(new: new, ignored: ignored)
                // An incomplete list does not show which files are gone.
                if let kept, bytes.count < Self.mostOutput {
                    found.gone = try history.goneKeys(
                        of: id, present: Set(keys.map(\.key)), beyond: kept, limit: Self.keysInACheck)
                }
                return found
            }
        }
        run(compare, for: watch) { [unowned self] watch, result in
            do {
                let comparison = try result.get()
                forgetGone(comparison.gone, of: watch.schedule)
                // Once, because the owner decides how often this could happen.
                if comparison.ignored > 0, !watch.hasReportedIgnored {
                    watch.hasReportedIgnored = true
                    log.warning(
                        "schedule \(watch.schedule.name): ignores \(comparison.ignored) of the "
                            + "\(watch.trigger.things): not UTF-8, or longer than \(Trigger.longestLine) bytes")
                }
                let keys = comparison.new
                watch.found(
                    Array(keys.prefix(Self.keysInACheck)), isCut: keys.count > Self.keysInACheck,
                    mayLackFiles: !isComplete && trigger.directory != nil)
                if !watch.ready.isEmpty { work.schedule() }
            } catch {
                report("\(error)", of: watch)
                watch.failed()
            }
        }
    }

    /// Removes keys of files that are gone, unless the store is busy: then the next check finds them.
    private func forgetGone(_ keys: [String], of schedule: Schedule) {
        guard !keys.isEmpty, turns.outage == nil, turns.longTurn == nil, turns.core != nil else { return }
        do throws(StoreError) { try store.forget(keys, of: schedule.id) } catch { turns.enterOutage(error) }
    }

    /// Result of a check.
    private struct Comparison {
        var new: [TriggerKey]
        /// Number of files or lines that cannot start a run.
        var ignored: Int
        /// Keys of files that are gone, beyond the number that is kept.
        var gone: [String] = []
    }

    // MARK: - Runs

    private func startRuns() {
        if turns.putOff({ [unowned self] in self.startRuns() }) { return }
        turns.commitBeforeReading()
        // A long turn may just have begun.
        if turns.putOff({ [unowned self] in self.startRuns() }) { return }
        guard turns.outage == nil, turns.core != nil else { return checkAgain() }
        var left = Self.startsInATurn
        for watch in watches.values.sorted(by: { $0.schedule.id < $1.schedule.id }) where !watch.ready.isEmpty {
            do {
                try startRuns(of: watch, &left)
            } catch let error as StoreError {
                turns.enterOutage(error)
                return checkAgain()
            } catch {
                if turns.outage != nil { return checkAgain() }
                log.warning("schedule \(watch.schedule.name): runs wait: \(schedules.reason(error))")
                watch.ready = []
                watch.failed(after: Self.retry)
            }
        }
        if watches.values.contains(where: { !$0.ready.isEmpty && committing[$0.schedule.id, default: 0] == 0 }) {
            work.schedule()
        }
    }

    /// Checks again for keys whose runs an outage has stopped. The checks wait for the runner, which is not connected
    /// before the end of the outage.
    private func checkAgain() {
        for watch in watches.values where !watch.ready.isEmpty { watch.wake() }
    }

    private func startRuns(of watch: TriggerWatch, _ left: inout Int) throws {
        let schedule = watch.schedule
        let policy = schedule.definition.policy
        // The next run depends on the number of unfinished ones.
        let isOneByOne = policy.overlap != .queueAll && policy.overlap != .allow
        while turns.longTurn == nil, !watch.ready.isEmpty, left > 0,
            !isOneByOne || committing[schedule.id, default: 0] == 0
        {
            // Parts of one batch do not overlap: the later ones would be skipped, or cancel the earlier ones.
            if watch.waitsForRun, !schedule.unfinished.isEmpty {
                watch.ready = []
                return
            }
            let now = UnixTime(flooring: Moment.now().wall)
            let isOver = policy.count.map { schedule.ledger.position.runs + committing[schedule.id, default: 0] >= $0 }
            guard isOver != true, now >= policy.from ?? .earliest, now <= policy.until ?? .latest else {
                watch.ready = []
                return
            }
            guard schedules.spendDecision(of: schedule) else {
                watch.ready = []
                return watch.failed(after: Self.retry)
            }
            left -= 1
            let taken = watch.keysOfNextRun
            let keys = try history.newKeys(among: taken, of: schedule.id, limit: taken.count)
            watch.waitsForRun = isOneByOne && watch.trigger.isBatch && taken.count < watch.ready.count
            if !keys.isEmpty { try start(watch, keys, at: now) }
            watch.ready.removeFirst(taken.count)
        }
    }

    private func start(_ watch: TriggerWatch, _ keys: [TriggerKey], at now: UnixTime) throws {
        let schedule = watch.schedule
        let isSkipped = schedule.definition.policy.overlap.skips(schedule.unfinished.count)
        var instant = ScheduleInstant(
            schedule: schedule.id, nominal: now.seconds, through: now.seconds, count: 1, result: .run)
        instant.origin = .trigger
        let stored = try history.nextNumber(at: now.seconds, .trigger, of: schedule.id)
        instant.number = max(stored, schedule.lastTrigger.at == now ? schedule.lastTrigger.number + 1 : 0)
        schedule.lastTrigger = (now, instant.number)
        instant.key = keys[0].key
        if keys.count > 1 { instant.note = "\(keys.count) files" }
        var position = schedule.position(schedule.ledger)
        position.runs += committing[schedule.id, default: 0]
        guard !isSkipped else {
            instant.result = .skipped
            return try store(instant, of: schedule, position, keys)
        }
        position.runs += 1
        var write = ScheduleWrite(instant, position)
        write.keys = keys
        let cancelled = schedule.definition.policy.overlap == .cancel ? schedule.unfinished : []
        let texts = keys.map(\.key).joined(separator: "\n")
        do {
            committing[schedule.id, default: 0] += 1
            try schedules.startTriggered(schedule, write, texts, cancelling: cancelled) { [unowned self] isStored in
                endCommit(of: schedule)
                // Keys of a run that an outage has stopped are not stored, so a check finds them again.
                if isStored { schedule.ledger.noteRun() } else { wake(schedule) }
                if !watch.ready.isEmpty { work.schedule() }
            }
        } catch {
            endCommit(of: schedule)
            // A limit of the user, or the store, may allow it later.
            if error is StoreError || turns.outage != nil { throw error }
            switch error as? Rejection {
            case .tooManyOfUser?, .tooManyEdgesOfUser?, .tooManyCategoriesOfUser?: throw error
            default: break
            }
            position.runs -= 1
            instant.result = .refused
            instant.note = schedules.reason(error)
            try store(instant, of: schedule, position, keys)
        }
    }

    private func endCommit(of schedule: Schedule) {
        let left = committing[schedule.id, default: 1] - 1
        committing[schedule.id] = left > 0 ? left : nil
    }

    private func store(
        _ instant: ScheduleInstant, of schedule: Schedule, _ position: StoredSchedule.Position, _ keys: [TriggerKey]
    ) throws {
        var write = ScheduleWrite(instant, position)
        write.keys = keys
        // A check finds keys again that are not stored.
        if try !schedules.store(write, of: schedule, from: UnixTime(seconds: instant.nominal), count: 1) {
            wake(schedule)
        }
    }
}

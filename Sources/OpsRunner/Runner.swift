internal import OpsExecutor
internal import OpsExecutorServer
public import OpsSystem
internal import OpsSystemd

/// The parent of every operation. It starts process trees, outlives the daemon, keeps their exits until the daemon has
/// stored them, and ends trees on command, also while there is no daemon.
///
/// One thread, one loop. In one turn it handles commands of the daemon, ended children (SIGCHLD) and messages of operations;
/// at the end of the turn all reports go out in one write.
///
/// One `waitid` waits for all children. This process is a subreaper and has to wait for adopted orphans anyway, and the pid
/// of a child is not reused before it was waited for, so a pidfd for each would only cost descriptors.
public final class Runner {
    let options: RunnerOptions
    let loop: EventLoop
    let instance: String
    let boot: String
    let groups: ControlGroupHierarchy?
    /// Attempts that opsd has not acknowledged.
    var table: [AttemptID: AttemptRecord] = [:]
    /// Attempts by the pid of their main process, until it was waited for.
    var mains: [Int32: AttemptID] = [:]
    /// Processes of other users whose programs do not run yet.
    var startups: [AttemptID: Startup] = [:]
    var descendants = DescendantTracker()
    var logs = LogTrimmer()
    var logSampler = LogSampler()
    var outputDirectories = OutputDirectories()
    /// Trees of an earlier runner that are being killed.
    var staleTrees: [AttemptID: StaleTree] = [:]
    var connection: DaemonConnection?
    var staged = StagedLaunches()
    /// Attempts with updates that were not reported yet.
    var updatedAttempts: Set<AttemptID> = []
    /// Attempts that get a SIGTERM at the end of this turn, all in one pass over the processes of the machine.
    var terminating: [AttemptRecord] = []
    var shutdown: Shutdown?
    var wantsReexecution = false
    /// Instant at which children are listed again, after that has failed. No tree counts as gone until then.
    var adoptionRetryAt: MonotonicInstant?
    /// Instant at which orphans are looked at again whose attempts are not clear yet.
    var orphanLookAt: MonotonicInstant?
    /// Instant at which groups that could not be watched are tried again.
    var watchRetryAt: MonotonicInstant?
    var groupPool: ControlGroupPool
    let leftoverGroups: LeftoverGroups
    let defaults: LaunchDefaults
    var supplementaryGroups = SupplementaryGroups()

    let lock: FileLock
    let listener: DaemonListener
    /// Notify socket of all attempts without a slot.
    let notify: NotifySocket
    var notifySource: ReadinessSource?
    var slotSockets: SlotNotifySockets
    var notifyBacklog = NotifyBacklog()
    /// Reads the backlog after the events of a turn.
    private(set) var notifyWork: DeferredWork?
    private var sources: [EventSource] = []
    private var lockWatch: FileWatch?
    private var timer: TimerSource<MonotonicInstant>?
    /// Latest instant at which waiting reports are sent, if none of them is urgent.
    private var flushAt: MonotonicInstant?
    /// Start of the present idle time.
    private var idleSince: MonotonicInstant?

    /// Starts the runner of a state directory; `nil` if another runner has it.
    public static func start(_ options: RunnerOptions) throws(SystemError) -> Runner? {
        let saved = try ReexecutionState.load(from: options.state)
        // If the program that started this one ignored SIGCHLD, the kernel would keep no ended child.
        try Signals.restoreDefault(Signals.child)
        try Signals.ignore(Signals.pipe)
        try Signals.ignore(Signals.hangUp)
        // The kernel signals that a process wants to open a log under lease. The lease ends after microseconds anyway.
        try Signals.ignore(Signals.leaseWanted)
        try Children.adoptOrphans()
        let runner: Runner
        if let saved {
            runner = try Runner(options, saved)
        } else {
            guard let lock = try FileLock.acquire(options.lockPath) else { return nil }
            runner = try Runner(options, lock)
        }
        try runner.watch()
        return runner
    }

    /// Starts without attempts.
    private init(_ options: RunnerOptions, _ lock: consuming FileLock) throws(SystemError) {
        self.options = options
        self.lock = lock
        loop = try EventLoop()
        instance = try Randomness.identifier()
        boot = try Boot.identifier()
        defaults = try LaunchDefaults.capture()
        groups = try options.controlGroups()
        groupPool = ControlGroupPool(in: groups, instance: instance)
        leftoverGroups = LeftoverGroups(in: loop)
        if options.isDetached { try groups?.adopt(Identity.pid) }
        try groups?.removeEmpty()
        listener = DaemonListener(
            try UnixSocket.listen(at: options.socketPath, acceptsDescriptors: true), program: "opsd-runner")
        notify = try NotifySocket(address: try options.notifyAddress(instance: instance))
        slotSockets = SlotNotifySockets(prefix: options.slotSocketPrefix(notify: notify.address))
        try options.removeOldSlotSockets(notify: notify.address)
    }

    /// Continues with the state of the program that this process was before.
    private init(_ options: RunnerOptions, _ saved: ReexecutionState) throws(SystemError) {
        self.options = options
        loop = try EventLoop()
        instance = saved.instance
        boot = try Boot.identifier()
        defaults = saved.defaults
        // An error here must not end the runner, and with it every operation.
        var groups: ControlGroupHierarchy?
        do throws(SystemError) {
            groups = try options.controlGroups()
        } catch {
            Program.writeError("opsd-runner: continuing without control groups: \(error)")
        }
        self.groups = groups
        groupPool = ControlGroupPool(in: groups, instance: instance)
        leftoverGroups = LeftoverGroups(in: loop)
        lock = FileLock(descriptor: Descriptor(owning: saved.lock))
        listener = DaemonListener(Descriptor(owning: saved.listener), program: "opsd-runner")
        notify = NotifySocket(address: saved.notifyAddress, descriptor: Descriptor(owning: saved.notify))
        slotSockets = SlotNotifySockets(prefix: options.slotSocketPrefix(notify: saved.notifyAddress))
        staleTrees = saved.staleTrees
        logs = saved.logs
        try lock.descriptor.setInherited(false)
        try listener.socket.setInherited(false)
        try notify.descriptor.setInherited(false)
        try logs.setInherited(false)
        for (attempt, directory) in saved.outputDirectories { outputDirectories.restore(attempt, directory) }
        logSampler = LogSampler(resuming: logs.openLogs)
        for record in saved.records { restore(record) }
        for startup in saved.startups {
            try startup.process.report.setInherited(false)
            follow(startup)
        }
        for socket in saved.slotSockets { logErrors { try restore(socket) } }
        // After the sockets: an attempt that has ended meanwhile releases its own. In the order of their starts: of two
        // trees with the same number of a main process, the later one has its session.
        for record in saved.records.sorted(by: { $0.process.startTicks < $1.process.startTicks }) {
            resumeTracking(of: record)
            watchRest(of: record)
        }
        for group in saved.leftoverGroups { watchLeftovers(in: group) }
    }

    private func watch() throws(SystemError) {
        logs.endedLimit = max(64, Int(clamping: try OpenFiles.limit().hard / 4))
        logErrors { try logs.useJournal(in: options.state, now: Clock.read().monotonic) }
        loop.endTurn = { [unowned self] in endTurn() }
        timer = try loop.timer(.monotonic) {}
        try acceptConnections()
        notifySource = try loop.watch(notify.descriptor.rawValue, for: .readable) { [unowned self] _ in
            receiveNotifications(from: .shared)
        }
        notifyWork = DeferredWork(loop) { [unowned self] in receiveBacklog() }
        sources.append(try loop.watchSignal(Signals.child) { [unowned self] in collectChildren() })
        for number in [Signals.terminate, Signals.interrupt] {
            sources.append(try loop.watchSignal(number) { [unowned self] in shutDown(grace: nil) })
        }
        // A service manager sends SIGHUP after an upgrade.
        sources.append(try loop.watchSignal(Signals.hangUp) { [unowned self] in wantsReexecution = true })
        logErrors { try watchLock() }
        // Children that ended before the signal was watched.
        collectChildren()
    }

    /// Ends the runner when its state directory is removed: no daemon finds it any more, and another runner may start.
    private func watchLock() throws(SystemError) {
        let watch = try FileWatch(loop)
        _ = try watch.watchNames(of: options.lockPath) { [unowned self] in
            guard hasLostItsDirectory, shutdown == nil else { return }
            Program.writeError("opsd-runner: \(options.state) was removed: ending")
            shutDown(grace: nil, atMost: Shutdown.longestGraceWithoutState)
        }
        lockWatch = watch
    }

    /// Runs until a command or a signal ends the runner, or until it was idle for long enough.
    public func run() throws(SystemError) {
        // Some work may be due although no event ever comes.
        endTurn()
        try loop.run()
        removeTraces()
    }

    /// Does everything that is done once a turn, after all events were handled.
    private func endTurn() {
        let now = Clock.read().monotonic
        retryWatches(now: now)
        killSlowStarts(now: now)
        sendTerminations()
        killOverdue(now: now)
        killStaleTrees(now: now)
        logErrors { try logs.trimDueLogs(now: now) }
        logErrors { try logSampler.sample(now: now) }
        notifyBacklog.endTurn()
        descendants.endTurn()
        reportUpdates()
        flushReports(now: now)
        if connection?.isClosed == true {
            connection = nil
            staged.removeAll()
        }
        // The new program would not know of a shutdown that has begun.
        if wantsReexecution, shutdown == nil { reexecute() }
        stopOrSetTimer(now: now)
    }

    /// Sends the reports. Those that opsd does not wait for are held back for a short time, to go out with the next: opsd
    /// then wakes once for the start and the end of a short operation.
    private func flushReports(now: MonotonicInstant) {
        guard let connection, connection.hasOutput else {
            flushAt = nil
            return
        }
        if connection.isUrgent || now >= flushAt ?? .distantFuture {
            connection.flush()
            flushAt = nil
        } else if flushAt == nil {
            flushAt = now + LaunchProtocol.longestReportDelay
        }
    }

    /// Stops the loop if the runner is done, else sets the timer to the next instant at which work is due.
    private func stopOrSetTimer(now: MonotonicInstant) {
        if let shutdown, isDone(shutdown, now: now) { return loop.stop() }
        let isIdle = options.isDetached && connection == nil && table.isEmpty && staleTrees.isEmpty && !logs.hasEnded
        idleSince = isIdle ? idleSince ?? now : nil
        if let idleSince, now - idleSince >= options.idleLimit { return loop.stop() }
        var wake: [MonotonicInstant] = table.values.compactMap(\.killAt) + staleTrees.values.map(\.lookAt)
        let others = [adoptionRetryAt, orphanLookAt, watchRetryAt, leftoverGroups.dueAt]
        for due in [logs.dueAt, logSampler.dueAt, flushAt] + others {
            if let due { wake.append(due) }
        }
        for startup in startups.values where !startup.isOutOfTime { wake.append(startup.deadline) }
        if let idleSince { wake.append(idleSince + options.idleLimit) }
        if let shutdown { wake.append(shutdown.deadline) }
        setTimer(to: wake.min())
    }

    /// Sets the timer to an earlier instant, never to a later one: it may fire once too often, and finds nothing to do.
    /// Setting it in every turn would cost more, since most waiting reports go out in the next turn anyway.
    private func setTimer(to due: MonotonicInstant?) {
        guard let timer else { return }
        let isEarlier = due.map { $0 < timer.deadline ?? .distantFuture } ?? false
        if isEarlier { logErrors { try timer.arm(at: due) } }
    }

    /// Writes an error to the log, for work whose failure must not affect other attempts.
    func logErrors(_ body: () throws -> Void) {
        do {
            try body()
        } catch {
            Program.writeError("opsd-runner: \(error)")
        }
    }

    func report(_ report: ExecutorReport) {
        guard let connection, connection.isGreeted else { return }
        connection.send(report)
    }

    /// True if the files in the state directory may belong to another runner by now.
    var hasLostItsDirectory: Bool { lock.isLost(at: options.lockPath) }

    private func removeTraces() {
        logErrors { try groups?.close() }
        logErrors { try slotSockets.closeAll() }
        logErrors { try outputDirectories.removeEmpty() }
        let isOurs = !hasLostItsDirectory
        let isInside = notify.address.hasPrefix(options.state + "/")
        if isOurs { logErrors { try Files.remove(options.socketPath) } }
        if !notify.address.hasPrefix("@"), isOurs || !isInside { logErrors { try Files.remove(notify.address) } }
        logErrors { try options.removeSharedDirectory(notify: notify.address) }
    }
}

public import OpsSystem
internal import OpsSystemd

/// The parent of every operation: it starts process trees, outlives the daemon, remembers how they ended until the
/// daemon has stored it, and ends what it is told to end, also while no daemon is there.
///
/// One thread, one loop. A turn: orders come from the daemon's socket, ended children from SIGCHLD, messages of
/// operations from the notify socket; at its end everything that is to be reported goes out in one write.
///
/// Every child ends through one `waitid` for all: this process is a subreaper and has to wait for adopted orphans
/// anyway, and a child's pid cannot be reused before it was waited for, so a pidfd each would only cost descriptors.
public final class Runner {
    let options: RunnerOptions
    let loop: EventLoop
    let instance: String
    let boot: String
    let groups: ControlGroupHierarchy?
    /// Everything not yet acknowledged.
    var table: [Attempt: AttemptRecord] = [:]
    /// Main processes not yet waited for.
    var mains: [Int32: Attempt] = [:]
    /// Processes of other users whose programs do not run yet.
    var startups: [Attempt: Startup] = [:]
    var descent = Descent()
    var logs = LogKeeper()
    /// Attempts of an earlier runner whose remains are being killed.
    var reaping: [Attempt: Remains] = [:]
    var connection: DaemonConnection?
    var hand = Hand()
    /// What said something since the last report.
    var toldAttempts: Set<Attempt> = []
    /// To get their SIGTERM at the end of this turn: all in one look at the machine.
    var asking: [AttemptRecord] = []
    var ending: Ending?
    var wantsReexecution = false
    /// When to ask again whose children are ours, which could not be told; nothing is called gone before.
    var adoptAt: Int64?
    /// When to watch again what could not be watched.
    var watchAt: Int64?
    var sharedGroups: SharedGroups
    let leftGroups: LeftGroups
    let defaults: LaunchDefaults
    var groupLists = GroupLists()

    let lock: FileLock
    let listener: Descriptor
    var listenerSource: ReadinessSource?
    /// When to take connections again.
    var acceptAt: Int64?
    /// Where processes without a slot speak.
    let notify: NotifySocket
    var notifySource: ReadinessSource?
    /// Messages there in this turn.
    var heard = 0
    var lines: NotifyLines
    /// Lines that said too much in this turn.
    var muted: [NotifyLine] = []
    private var sources: [EventSource] = []
    private var lockWatch: FileWatch?
    private var timer: TimerSource?
    /// When what nobody waits for is told at the latest.
    private var tellAt: Int64?
    /// Since when there is nothing to do and nobody to do it for.
    private var idleSince: Int64?

    /// Takes the state directory over, or `nil` when another runner has it.
    public static func start(_ options: RunnerOptions) throws(SystemError) -> Runner? {
        let inherited = try Inheritance.take(from: options.state)
        // Whoever started us may have ignored it, and then the kernel would keep no child for us to wait for.
        try Signals.restoreDefault(Signals.child)
        try Signals.ignore(Signals.pipe)
        try Signals.ignore(Signals.hangUp)
        // Somebody waits to open a log that is being looked at: that takes microseconds.
        try Signals.ignore(Signals.leaseWanted)
        try Children.adoptOrphans()
        let runner: Runner
        if let inherited {
            runner = try Runner(options, inherited)
        } else {
            guard let lock = try FileLock.take(options.lockPath) else { return nil }
            runner = try Runner(options, lock)
        }
        try runner.watch()
        return runner
    }

    /// Begins with empty hands.
    private init(_ options: RunnerOptions, _ lock: consuming FileLock) throws(SystemError) {
        self.options = options
        self.lock = lock
        loop = try EventLoop()
        instance = try Randomness.identifier()
        boot = try Boot.identifier()
        defaults = try LaunchDefaults.take()
        groups = try options.controlGroups()
        sharedGroups = SharedGroups(in: groups, instance: instance)
        leftGroups = LeftGroups(in: loop)
        if options.isDetached { try groups?.adopt(Identity.pid) }
        try groups?.removeEmpty()
        listener = try UnixSocket.listen(at: options.socketPath)
        notify = try NotifySocket(address: try options.notifyAddress(instance: instance))
        lines = NotifyLines(prefix: options.linePrefix(notify: notify.address))
        try options.removeOldLines(notify: notify.address)
    }

    /// Goes on where the program before this one, in the same process, left off.
    private init(_ options: RunnerOptions, _ inherited: Inheritance) throws(SystemError) {
        self.options = options
        loop = try EventLoop()
        instance = inherited.instance
        boot = try Boot.identifier()
        defaults = inherited.defaults
        // What fails now costs itself alone: to give up would be the end of every operation.
        var groups: ControlGroupHierarchy?
        do throws(SystemError) {
            groups = try options.controlGroups()
        } catch {
            Program.complain("opsd-runner: going on without control groups: \(error)")
        }
        self.groups = groups
        sharedGroups = SharedGroups(in: groups, instance: instance)
        leftGroups = LeftGroups(in: loop)
        lock = FileLock(descriptor: Descriptor(owning: inherited.lock))
        listener = Descriptor(owning: inherited.listener)
        notify = NotifySocket(
            address: inherited.notifyAddress, descriptor: Descriptor(owning: inherited.notify))
        lines = NotifyLines(prefix: options.linePrefix(notify: inherited.notifyAddress))
        reaping = inherited.reaping
        logs = inherited.logs
        try lock.descriptor.setInherited(false)
        try listener.setInherited(false)
        try notify.descriptor.setInherited(false)
        try logs.setInherited(false)
        for record in inherited.records { restore(record) }
        for startup in inherited.startups {
            try startup.process.report.setInherited(false)
            follow(startup)
        }
        for line in inherited.lines { noting { () throws(SystemError) in try restore(line) } }
        // After the lines: what ended meanwhile gives its own back.
        for record in inherited.records {
            resumeDescent(of: record)
            watchRest(of: record)
        }
        for group in inherited.leftGroups { leave(group) }
    }

    private func watch() throws(SystemError) {
        logs.mostEnded = max(64, Int(clamping: try OpenFiles.limit().hard / 4))
        loop.endTurn = { [unowned self] in endTurn() }
        timer = try loop.timer(.monotonic) {}
        listenerSource = try loop.watch(listener.rawValue, for: .readable) { [unowned self] _ in acceptDaemon() }
        notifySource = try loop.watch(notify.descriptor.rawValue, for: .readable) { [unowned self] _ in listen() }
        sources.append(try loop.watchSignal(Signals.child) { [unowned self] in collectChildren() })
        for number in [Signals.terminate, Signals.interrupt] {
            sources.append(try loop.watchSignal(number) { [unowned self] in endEverything(grace: nil) })
        }
        // What a service manager sends to have an upgraded program take over.
        sources.append(try loop.watchSignal(Signals.hangUp) { [unowned self] in wantsReexecution = true })
        noting { () throws(SystemError) in try watchLock() }
        // Children that ended before the signal was watched.
        collectChildren()
    }

    /// Without its state directory nobody finds this runner any more, and another may take the place.
    private func watchLock() throws(SystemError) {
        let watch = try FileWatch(loop)
        _ = try watch.watchNames(of: options.lockPath) { [unowned self] in
            guard hasLostItsDirectory, ending == nil else { return }
            Program.complain("opsd-runner: \(options.state) was removed: ending")
            endEverything(grace: nil, atMost: Ending.longestGraceOfOrphans)
        }
        lockWatch = watch
    }

    /// Runs until it is told to end, or has been idle long enough.
    public func run() throws(SystemError) {
        // What is due does not wait for a first event: it may be that there never is one.
        endTurn()
        try loop.run()
        removeTraces()
    }

    /// Everything that must happen once per turn, after all that was ready.
    private func endTurn() {
        let now = Clock.read().monotonic
        lookAgain(now: now)
        killSlowStarts(now: now)
        ask()
        escalate(now: now)
        pursueRemains(now: now)
        noting { () throws(SystemError) in try logs.look(now: now) }
        resumeListening()
        resumeAccepting(now: now)
        reportTold()
        tell(now: now)
        if connection?.isClosed == true {
            connection = nil
            hand.drop()
        }
        // The next program would know nothing of an end that has begun.
        if wantsReexecution, ending == nil { reexecute() }
        settle(now: now)
    }

    /// What nobody waits for goes with what comes next: a short operation's start with its end, and opsd wakes once.
    private func tell(now: Int64) {
        guard let connection, connection.hasOutput else {
            tellAt = nil
            return
        }
        if connection.isUrgent || now >= tellAt ?? .max {
            connection.flush()
            tellAt = nil
        } else if tellAt == nil {
            tellAt = now + RunnerProtocol.patience
        }
    }

    /// Decides whether there is an end, else when to wake next.
    private func settle(now: Int64) {
        if let ending, isDone(ending, now: now) { return loop.stop() }
        let isIdle = options.isDetached && connection == nil && table.isEmpty && reaping.isEmpty && !logs.hasEnded
        idleSince = isIdle ? idleSince ?? now : nil
        if let idleSince, now - idleSince >= options.idleLimit { return loop.stop() }
        var wake: [Int64] = table.values.compactMap(\.killAt) + reaping.values.map(\.lookAt)
        for due in [logs.dueAt, tellAt, adoptAt, watchAt, acceptAt, leftGroups.dueAt] {
            if let due { wake.append(due) }
        }
        for startup in startups.values where !startup.isOutOfTime { wake.append(startup.deadline) }
        if let idleSince { wake.append(idleSince + options.idleLimit) }
        if let ending { wake.append(ending.deadline) }
        arm(at: wake.min())
    }

    /// It may fire too early, and then find nothing to do: setting it anew in every turn, for what is told in the next
    /// one anyway, would cost more.
    private func arm(at due: Int64?) {
        guard let timer else { return }
        let isEarlier = due.map { $0 < timer.deadline ?? .max } ?? false
        if isEarlier { noting { () throws(SystemError) in try timer.arm(at: due) } }
    }

    /// For what must not keep the runner from its other attempts: the error is written down.
    func noting(_ body: () throws(SystemError) -> Void) {
        do throws(SystemError) {
            try body()
        } catch {
            Program.complain("opsd-runner: \(error)")
        }
    }

    func report(_ report: RunnerReport) {
        guard let connection, connection.isGreeted else { return }
        connection.send(report)
    }

    /// What has the names in its state directory now may be a successor's.
    var hasLostItsDirectory: Bool { lock.isLost(at: options.lockPath) }

    private func removeTraces() {
        noting { () throws(SystemError) in try groups?.close() }
        noting { () throws(SystemError) in try lines.closeAll() }
        let isOurs = !hasLostItsDirectory
        let isInside = notify.address.hasPrefix(options.state + "/")
        if isOurs { noting { () throws(SystemError) in try Files.remove(options.socketPath) } }
        if !notify.address.hasPrefix("@"), isOurs || !isInside {
            noting { () throws(SystemError) in try Files.remove(notify.address) }
        }
        noting { () throws(SystemError) in try options.removeSharedDirectory(notify: notify.address) }
    }
}

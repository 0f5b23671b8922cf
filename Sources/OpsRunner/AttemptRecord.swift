internal import OpsSystem
internal import OpsSystemd

/// What the runner knows of one attempt, from its launch until opsd has stored its end.
final class AttemptRecord {
    enum Phase {
        case running
        /// The main process has ended; others of the tree are alive.
        case exited(ProcessExit)
        case gone(ProcessExit)
        case failed(step: String, errno: Int32)
    }

    /// What holds the processes of an attempt together.
    enum Tree: Equatable {
        case group(ControlGroup)
        /// No control group: descent from the main process, whose session, orphans and environment are followed.
        case descent
        /// Nothing was started.
        case none
    }

    let attempt: Attempt
    let process: LaunchedProcess
    let tree: Tree
    /// Its group, while that may yet serve the next when this one has left it as it was.
    var keptGroup: KeptGroup?
    let leftovers: LaunchRequest.Leftovers
    let grace: Int64
    /// The user its processes are.
    var uid: UInt32
    /// Where it speaks, until its end; `nil`: at the address that all of its kind share.
    var line: NotifyLine?
    var slot: Int32
    var phase: Phase
    /// Everything it has said so far, the later over the earlier.
    var told = Told()
    /// Said since opsd was last told.
    var untold = Told()
    var isFrozen = false
    /// When what is still alive is killed; CLOCK_BOOTTIME.
    var killAt: Int64?
    /// From one kill to the next.
    var killPause = Pause()
    /// Present while a group outlives its main process.
    var groupWatch: GroupWatch?

    init(
        _ attempt: Attempt, _ phase: Phase, process: LaunchedProcess, tree: Tree,
        leftovers: LaunchRequest.Leftovers = .kill, grace: Int64 = 0, uid: UInt32 = Identity.uid, slot: Int32 = -1
    ) {
        self.uid = uid
        self.slot = slot
        self.attempt = attempt
        self.phase = phase
        self.process = process
        self.tree = tree
        self.leftovers = leftovers
        self.grace = grace
    }

    /// An attempt of which no program ran.
    convenience init(failed request: LaunchRequest, _ error: SpawnError) {
        let nothing = LaunchedProcess(pid: 0, startTicks: 0, at: Clock.read())
        self.init(
            request.attempt, .failed(step: request.subject(of: error), errno: error.errno), process: nothing,
            tree: .none)
    }

    /// Whether a process of it may be alive.
    var isAlive: Bool {
        switch phase {
        case .running, .exited: true
        case .gone, .failed: false
        }
    }

    var hasRunningMain: Bool {
        if case .running = phase { true } else { false }
    }

    /// What opsd has to know of it now.
    var greetingState: RunnerGreeting.State {
        switch phase {
        case .running: .running(process)
        case .exited(let exit): .exited(exit)
        case .gone(let exit): .gone(exit)
        case .failed(let step, let errno): .failed(step: step, errno: errno)
        }
    }

    /// The reports that led to where it stands, for an order that was given again.
    var reports: [RunnerReport] {
        switch phase {
        case .running: [.launched(attempt, process)]
        case .exited(let exit): [.launched(attempt, process), .exited(attempt, exit, treeIsGone: false)]
        case .gone(let exit): [.launched(attempt, process), .exited(attempt, exit, treeIsGone: true)]
        case .failed(let step, let errno): [.failed(attempt, step: step, errno: errno)]
        }
    }
}

/// Wakes the loop when a control group may have become empty.
final class GroupWatch {
    private let events: Descriptor
    private var source: ReadinessSource?

    /// `changed` is told whether the watch is of no more use.
    init(
        _ group: ControlGroup, in loop: EventLoop, _ changed: @escaping (_ isLost: Bool) -> Void
    ) throws(SystemError) {
        events = try group.openEvents()
        source = try loop.watch(events.rawValue, for: .changed) { [unowned self] _ in
            do throws(SystemError) {
                try ControlGroup.acknowledge(events)
            } catch {
                // A watch that cannot be read would be reported for ever.
                Program.complain("opsd-runner: \(error)")
                source?.cancel()
                return changed(true)
            }
            changed(false)
        }
    }

    /// Takes the descriptor out of the loop while it is open.
    deinit { source?.cancel() }
}

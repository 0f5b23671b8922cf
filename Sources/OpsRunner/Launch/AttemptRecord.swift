internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd

/// State of one attempt, from its launch until opsd has stored its end.
final class AttemptRecord {
    enum Phase {
        case running
        /// The main process has ended; other processes of the tree are alive.
        case exited(ProcessExit)
        case gone(ProcessExit)
        case failed(step: String, errno: Int32)
    }

    /// Means by which the processes of an attempt are found.
    enum Tree: Equatable {
        case group(ControlGroup)
        /// No control group: the descendants of the main process, found by session, parent and environment.
        case descendants
        /// Nothing was started.
        case none
    }

    let attempt: AttemptID
    let process: LaunchedProcess
    let tree: Tree
    /// Control group of the attempt, if it goes back to the pool unless the attempt changes it.
    var pooledGroup: PooledControlGroup?
    let leftovers: Leftovers
    let grace: TimeSpan
    /// User that its processes run as.
    var uid: UInt32
    /// Socket that its notifications arrive at, until its end; `nil`: the socket of all attempts without a slot.
    var notifySocket: SlotNotifySocket?
    var slot: Int32
    var phase: Phase
    /// Everything that the attempt has reported so far; later values replace earlier ones.
    var update = OperationUpdate()
    /// Part of the update that was not reported yet.
    var unreportedUpdate = OperationUpdate()
    /// Latest instant up to which the attempt has asked not to be timed out.
    var extendedUntil: MonotonicInstant?
    var isFrozen = false
    /// Instant at which the processes that are still alive are killed; CLOCK_BOOTTIME.
    var killAt: MonotonicInstant?
    /// Delay from one kill to the next.
    var killBackoff = Backoff()
    /// Present while a group outlives its main process.
    var groupWatch: GroupWatch?

    init(
        _ attempt: AttemptID, _ phase: Phase, process: LaunchedProcess, tree: Tree,
        leftovers: Leftovers = .kill, grace: TimeSpan = .zero, uid: UInt32 = Identity.uid, slot: Int32 = -1
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

    /// Records an attempt whose program never ran.
    convenience init(failed request: LaunchRequest, _ error: SpawnError) {
        let nothing = LaunchedProcess(pid: 0, startTicks: 0, at: Clock.read())
        self.init(
            request.attempt, .failed(step: request.subject(of: error), errno: error.errno), process: nothing,
            tree: .none)
    }

    /// True if a process of the attempt may be alive.
    var isAlive: Bool {
        switch phase {
        case .running, .exited: true
        case .gone, .failed: false
        }
    }

    var hasRunningMain: Bool {
        if case .running = phase { true } else { false }
    }

    /// Present state, as the greeting reports it to opsd.
    var attemptState: AttemptState {
        switch phase {
        case .running: .running(process)
        case .exited(let exit): .exited(exit)
        case .gone(let exit): .gone(exit)
        case .failed(let step, let errno): .failed(step: step, errno: errno)
        }
    }

    /// Reports that lead to the present state, for a command that was repeated.
    var reports: [ExecutorReport] {
        switch phase {
        case .running: [.launched(attempt, process)]
        case .exited(let exit): [.launched(attempt, process), .exited(attempt, exit, treeIsGone: false)]
        case .gone(let exit): [.launched(attempt, process), .exited(attempt, exit, treeIsGone: true)]
        case .failed(let step, let errno): [.failed(attempt, step: step, errno: errno)]
        }
    }
}

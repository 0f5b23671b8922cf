public import OpsCore

/// Simulates the runner and its processes. It performs effects, and reports unlawful ones as violations.
public struct FakeWorld: Sendable {
    /// Process tree of one attempt, while any process of it is alive.
    public struct Tree: Sendable {
        public let attempt: AttemptID
        public let process: LaunchedProcess
        public let slot: Int32
        public let runner: String
        public var mainIsAlive = true
        public var othersAreAlive: Bool
        public var isFrozen = false
        /// True if it was told to end.
        public var isTerminating = false
        /// True if a later runner is looking for its processes to kill them.
        public var isReaped = false
        public var exit: ProcessExit?
        /// Treatment of the other processes when the main process has ended.
        public let leftovers: Leftovers
        /// Behaviour of the main process unless it is signalled.
        public let plan: Plan

        /// Returns whether other processes than the main one may stay. The policy may have been edited since the attempt.
        func mayLeaveOthers(_ policy: Policy) -> Bool { policy.leftovers == .leave || leftovers == .leave }
    }
    public struct Plan: Sendable {
        public var code: Int32
        public var isSignalled: Bool
        /// True if it runs until it is told to end.
        public var isEndless: Bool
        public var leavesOthers: Bool
    }

    public internal(set) var trees: [Tree] = []
    public internal(set) var boot = "boot1"
    public internal(set) var runner = "runner1"
    public internal(set) var isRunnerAlive = true
    /// True if the runner was told to end: it ends its operations, reports that, and accepts no new ones.
    public internal(set) var isRunnerEnding = false
    /// True if opsd knows this runner, so that commands reach it.
    public internal(set) var isConnected = false
    /// Attempts that the runner knows and opsd has not acknowledged.
    public internal(set) var inventory: [AttemptID: AttemptState] = [:]
    /// Updates of the attempts in the inventory.
    var updates: [AttemptID: OperationUpdate] = [:]
    /// Reports on their way to opsd, in order.
    public internal(set) var facts: [Event] = []
    /// Reports that were delivered, for a faulty connection that repeats them.
    public internal(set) var reported: [Event] = []
    /// Conditions that are being evaluated, with their tokens.
    public internal(set) var evaluations: [(operation: OperationID, token: Int64)] = []
    public internal(set) var observersOwed: [(operation: OperationID, run: Int32)] = []
    /// Staged launches, including those on their way to the runner.
    var staging = FakeStaging()
    var stagedAttempts: [AttemptID] = []
    /// Every third runner is of a release without staging, and every fifth of one whose staged launches cannot wait for
    /// others.
    var acceptsStaging: Bool { generations % 3 != 0 }
    var acceptsWaiting: Bool { acceptsStaging && generations % 5 != 0 }
    var slotStarts: [AttemptID: SlotStart] = [:]
    var everLaunched: Set<AttemptID> = []
    var acknowledged: Set<AttemptID> = []
    var generations: Int32 = 1
    var nextPid: Int32 = 100

    /// True if most operations succeed and leave no processes.
    let isTame: Bool

    /// True if opsd revokes staged launches only when it performs that effect.
    let isForgetful: Bool

    public init(isTame: Bool = false, isForgetful: Bool = false) {
        self.isTame = isTame
        self.isForgetful = isForgetful
    }

    public func tree(_ attempt: AttemptID) -> Int? { trees.firstIndex { $0.attempt == attempt } }

    /// Attempts whose processes may take the next step.
    public var restless: [AttemptID] {
        trees.filter { ($0.isTerminating || !$0.plan.isEndless) && !$0.isFrozen }.map(\.attempt)
    }

    /// Removes reports that are on their way, and returns them in order.
    public mutating func takeFacts(atMost limit: Int) -> [Event] {
        let taken = Array(facts.prefix(limit))
        facts.removeFirst(taken.count)
        for case .runnerConnected in taken { isConnected = isRunnerAlive }
        for event in taken {
            // Connecting happens once. Only messages over the connection can be repeated, and updates only in their
            // order.
            switch event {
            case .runnerConnected, .runnerLost, .updated, .revocationConfirmed: break
            default: reported.append(event)
            }
        }
        if reported.count > 64 { reported.removeFirst(reported.count - 64) }
        return taken
    }

    public mutating func tell(_ event: Event) { facts.append(event) }

    /// Makes a new connection between opsd and the runner. Messages on their way are lost; the inventory contains
    /// everything.
    public mutating func reconnect() {
        facts.removeAll()
        evaluations.removeAll()
        observersOwed.removeAll()
        isConnected = false
        dropHand()
        if isRunnerAlive { greet() }
    }

    private mutating func greet() {
        tell(
            .runnerConnected(
                Inventory(
                    runner: runner, boot: boot, entries: inventory, updates: updates, isEnding: isRunnerEnding,
                    slotStarts: slotStarts, acceptsStaging: acceptsStaging, acceptsWaiting: acceptsWaiting)))
    }

    /// Without opsd, no staged launch starts.
    mutating func dropHand() {
        staging = FakeStaging()
        stagedAttempts.removeAll()
    }

    /// Lets a process of an attempt send a message, which arrives if any process of the attempt is alive.
    public mutating func say(_ attempt: AttemptID, _ notice: OperationUpdate) {
        switch inventory[attempt] {
        case .running, .exited:
            updates[attempt, default: OperationUpdate()].merge(notice)
            tell(.updated(attempt, notice))
        case .gone, .failed, .accepted, .refused, .ended, nil: break
        }
    }

    /// Lets one tree take its next step: the main process ends, or its other processes do.
    public mutating func advance(
        _ attempt: AttemptID, _ store: FakeStore, at now: Moment, using random: inout SeededGenerator
    ) throws(Violation) {
        guard let place = tree(attempt) else { return }
        if trees[place].mainIsAlive {
            let tree = trees[place]
            endMain(place, at: now)
            noteEnd(of: tree)
            try passOn(store, at: now, using: &random)
        } else {
            trees[place].othersAreAlive = false
            endTree(place)
        }
    }

    private mutating func endMain(_ place: Int, at now: Moment) {
        let tree = trees[place]
        let status: ProcessExit.Status =
            if tree.isTerminating {
                tree.plan.code == 0 ? .code(0) : .signal(15)
            } else {
                tree.plan.isSignalled ? .signal(9) : .code(tree.plan.code)
            }
        let exit = ProcessExit(status: status, at: now)
        trees[place].mainIsAlive = false
        trees[place].exit = exit
        if tree.leftovers == .kill { trees[place].isTerminating = true }
        // With `leftovers: leave`, the runner reports to opsd that there are none.
        let isOver = !tree.othersAreAlive || tree.leftovers == .leave
        if tree.runner == runner, isRunnerAlive {
            inventory[tree.attempt] = isOver ? .gone(exit) : .exited(exit)
            tell(.exited(tree.attempt, exit, treeIsGone: isOver))
        }
        if !tree.othersAreAlive { endTree(place, isTold: true) }
    }

    private mutating func endTree(_ place: Int, isTold: Bool = false) {
        let tree = trees.remove(at: place)
        if tree.isReaped {
            if isRunnerAlive { tell(.gone(tree.attempt)) }
        } else if tree.runner == runner, isRunnerAlive, !isTold, let exit = tree.exit {
            if case .exited? = inventory[tree.attempt] {
                inventory[tree.attempt] = .gone(exit)
                tell(.gone(tree.attempt))
            }
        }
    }

    /// Tells the runner to end, as its service manager does: all operations must end before it ends, and staged
    /// launches do not start.
    public mutating func endRunner() {
        isRunnerEnding = true
        for place in trees.indices where trees[place].runner == runner {
            trees[place].isTerminating = true
            trees[place].isFrozen = false
        }
        greet()
    }

    /// True if an ending runner has nothing left to wait for.
    public var isRunnerDone: Bool {
        isRunnerEnding && inventory.isEmpty && !trees.contains { $0.runner == runner }
    }

    /// Kills the runner; its processes live on without a parent.
    public mutating func killRunner() {
        isRunnerAlive = false
        isRunnerEnding = false
        isConnected = false
        staging = FakeStaging(tokens: staging.tokens)
        inventory.removeAll()
        updates.removeAll()
        slotStarts.removeAll()
        facts.removeAll { event in
            switch event {
            case .observed, .conditionsAnswered: false
            default: true
            }
        }
        tell(.runnerLost)
    }

    /// Starts a runner without operations, after `killRunner` or a boot.
    public mutating func startRunner() {
        generations += 1
        runner = "runner\(generations)"
        isRunnerAlive = true
        for place in trees.indices { trees[place].isReaped = false }
        greet()
    }

    /// Restarts the machine; only its disk survives.
    public mutating func reboot() {
        generations += 1
        boot = "boot\(generations)"
        runner = "runner\(generations)"
        isRunnerAlive = true
        isRunnerEnding = false
        trees.removeAll()
        inventory.removeAll()
        updates.removeAll()
        slotStarts.removeAll()
        reported.removeAll()
        reconnect()
    }
}

extension OperationUpdate {
    /// Merges updates as the runner does: the last result counts, and the first report of the end.
    fileprivate mutating func merge(_ later: OperationUpdate) {
        result = later.result ?? result
        finished = finished ?? later.finished
    }
}

public import OpsCore

/// The runner and its processes, without either: it obeys effects, and calls an unlawful one a violation.
public struct FakeWorld: Sendable {
    /// The process tree of one attempt, while anything of it is alive.
    public struct Tree: Sendable {
        public let attempt: AttemptID
        public let process: Process
        public let slot: Int32
        public let runner: String
        public var mainIsAlive = true
        public var othersAreAlive: Bool
        public var isFrozen = false
        /// Was told to end, so it will.
        public var isTerminating = false
        /// Is being sought and killed by a later runner than its own.
        public var isReaped = false
        public var exit: Exit?
        /// Treatment of the other processes when the main process has ended.
        public let leftovers: Leftovers
        /// Behaviour of the main process unless it is signalled.
        public let plan: Plan
    }
    public struct Plan: Sendable {
        public var code: Int32
        public var isSignalled: Bool
        /// Goes on until it is told to end.
        public var isEndless: Bool
        public var leavesOthers: Bool
    }

    public internal(set) var trees: [Tree] = []
    public internal(set) var boot = "boot1"
    public internal(set) var runner = "runner1"
    public internal(set) var isRunnerAlive = true
    /// It was told to end: it ends what it has, tells of that, and takes nothing more.
    public internal(set) var isRunnerEnding = false
    /// opsd has heard of this runner, so orders reach it.
    public internal(set) var isConnected = false
    /// Attempts that the runner knows and opsd has not acknowledged.
    public internal(set) var inventory: [AttemptID: Inventory.Entry] = [:]
    /// Updates of the attempts in the inventory.
    var updates: [AttemptID: OperationUpdate] = [:]
    /// Facts on their way to opsd, in order.
    public internal(set) var facts: [Event] = []
    /// Facts that once were told, to be told again by a bad wire.
    public internal(set) var reported: [Event] = []
    /// Conditions being asked, with their tokens.
    public internal(set) var evaluations: [(operation: OperationID, token: Int64)] = []
    public internal(set) var observersOwed: [(operation: OperationID, run: Int32)] = []
    /// Launches that the runner starts by itself, and launches that are on their way to it.
    var staging = FakeStaging()
    var stagedAttempts: [AttemptID] = []
    /// Every third runner is of a release that knows no hand, and every fifth of one in whose hand nothing waits.
    var acceptsStaging: Bool { generations % 3 != 0 }
    var acceptsWaiting: Bool { acceptsStaging && generations % 5 != 0 }
    var slotStarts: [AttemptID: SlotStart] = [:]
    var everLaunched: Set<AttemptID> = []
    var acknowledged: Set<AttemptID> = []
    var generations: Int32 = 1
    var nextPid: Int32 = 100

    /// Most of what executes succeeds, and leaves nothing behind.
    let isTame: Bool

    /// True if opsd takes launches back only when it performs the command to revoke them.
    let isForgetful: Bool

    public init(isTame: Bool = false, isForgetful: Bool = false) {
        self.isTame = isTame
        self.isForgetful = isForgetful
    }

    public func tree(_ attempt: AttemptID) -> Int? { trees.firstIndex { $0.attempt == attempt } }

    /// Everything to do, one step each: which processes may end next.
    public var restless: [AttemptID] {
        trees.filter { ($0.isTerminating || !$0.plan.isEndless) && !$0.isFrozen }.map(\.attempt)
    }

    /// Removes reports that are on their way and returns them, in order.
    public mutating func takeFacts(atMost limit: Int) -> [Event] {
        let taken = Array(facts.prefix(limit))
        facts.removeFirst(taken.count)
        for case .runnerConnected in taken { isConnected = isRunnerAlive }
        for event in taken {
            // A connection is made once: only what is said over it can come twice, and words in their order alone.
            switch event {
            case .runnerConnected, .runnerLost, .updated, .revocationConfirmed: break
            default: reported.append(event)
            }
        }
        if reported.count > 64 { reported.removeFirst(reported.count - 64) }
        return taken
    }

    public mutating func tell(_ event: Event) { facts.append(event) }

    /// A new connection between opsd and the runner: what was on its way is lost, the inventory has it all.
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

    /// Nothing begins behind the back of an opsd that is gone.
    mutating func dropHand() {
        staging = FakeStaging()
        stagedAttempts.removeAll()
    }

    /// A process of an attempt speaks, and the runner hears it while anything of it is alive.
    public mutating func say(_ attempt: AttemptID, _ notice: OperationUpdate) {
        switch inventory[attempt] {
        case .running, .exited:
            updates[attempt, default: OperationUpdate()].merge(notice)
            tell(.updated(attempt, notice))
        case .gone, .failed, .accepted, .refused, .ended, nil: break
        }
    }

    /// One tree takes its next step: the main process ends, or what it left behind does.
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
        let status: Exit.Status =
            if tree.isTerminating {
                tree.plan.code == 0 ? .code(0) : .signal(15)
            } else {
                tree.plan.isSignalled ? .signal(9) : .code(tree.plan.code)
            }
        let exit = Exit(status: status, at: now)
        trees[place].mainIsAlive = false
        trees[place].exit = exit
        if tree.leftovers == .kill { trees[place].isTerminating = true }
        // With `leftovers: leave` opsd gets the report that there are none.
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

    /// The runner is told to end, as by its service manager: all that it has is to end before it does, and what is in
    /// its hand stays there.
    public mutating func endRunner() {
        isRunnerEnding = true
        for place in trees.indices where trees[place].runner == runner {
            trees[place].isTerminating = true
            trees[place].isFrozen = false
        }
        greet()
    }

    /// Nothing is left for an ending runner to wait for.
    public var isRunnerDone: Bool {
        isRunnerEnding && inventory.isEmpty && !trees.contains { $0.runner == runner }
    }

    /// The runner dies; its processes live on and no one is their parent.
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

    /// A runner with empty hands, after `killRunner` or a boot.
    public mutating func startRunner() {
        generations += 1
        runner = "runner\(generations)"
        isRunnerAlive = true
        for place in trees.indices { trees[place].isReaped = false }
        greet()
    }

    /// The machine dies, and comes up with nothing but its disk.
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
    /// As the runner keeps what was said: the last result counts, and the first word on the end.
    fileprivate mutating func merge(_ later: OperationUpdate) {
        result = later.result ?? result
        finished = finished ?? later.finished
    }
}

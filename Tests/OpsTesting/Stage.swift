public import OpsCore

/// A scheduler with a disk, a judge, and processes that end when the test says so: for scenes written by hand.
public struct Stage<Tested: TestedScheduler> {
    public private(set) var core: Tested
    public private(set) var store = FakeStore()
    public private(set) var now = Moment(monotonic: 1_000_000_000, wall: 1_700_000_000_000_000_000)
    /// Launched and not ended, in the order of their starts.
    public private(set) var running: [AttemptID] = []
    /// All orders given so far.
    public private(set) var effects: [Effect] = []
    /// Every operation that was started, once a start.
    public private(set) var started: [OperationID] = []
    private var judge = Judge()
    private var workers: Int32
    private var isDraining = false

    public init(workers: Int32 = 2) throws {
        self.workers = workers
        core = Tested(store.snapshot(), workers: workers, at: now)
        try perform(.runnerConnected(Inventory(runner: "runner1", boot: "boot1")))
    }

    public var executing: [OperationID] { running.map(\.operation) }

    /// One turn for these events; a refusal is thrown.
    @discardableResult
    public mutating func perform(_ events: Event...) throws -> [Acceptance] {
        var taken: [Submission] = []
        var answers: [Acceptance] = []
        for event in events {
            answers.append(try core.handle(event, at: now).get())
            switch event {
            case .submit(let submission): taken.append(submission)
            case .setWorkers(let count, _): workers = count
            case .setDraining(let isOn): isDraining = isOn
            default: break
            }
        }
        try endTurn(taken)
        return answers
    }

    /// The ids of what was submitted in a turn of its own.
    @discardableResult
    public mutating func submit(_ submission: Submission) throws -> [OperationID] {
        guard case .submitted(_, let first, let count)? = try perform(.submit(submission)).first else { return [] }
        return (0..<Int64(count)).map { OperationID(first.rawValue + $0) }
    }

    /// The main process of an operation ends, and nothing else of it is alive.
    public mutating func end(_ id: OperationID, code: Int32 = 0) throws {
        guard let attempt = running.first(where: { $0.operation == id }) else {
            throw Violation(.settles, "\(id) does not execute")
        }
        pass(1_000_000)
        try perform(exit(of: attempt, code))
    }

    /// The fact of an end, to be told together with other events.
    public mutating func exit(of attempt: AttemptID, _ code: Int32 = 0) -> Event {
        running.removeAll { $0 == attempt }
        return .exited(attempt, Exit(status: .code(code), at: now), treeIsGone: true)
    }

    /// Ends what executes, first started first, until nothing does; gives back how many that were.
    @discardableResult
    public mutating func drain() throws -> Int {
        var ended = 0
        while let first = executing.first {
            try require(ended < 1000, .settles, "more than a thousand ends")
            try end(first)
            ended += 1
        }
        return ended
    }

    public mutating func pass(_ nanoseconds: Int64) {
        now.monotonic += nanoseconds
        now.wall += nanoseconds
    }

    /// opsd dies and comes up again from its disk; the runner never noticed.
    public mutating func restart() throws {
        core = Tested(store.snapshot(), workers: workers, at: now)
        judge.forget(store, at: now)
        var inventory = Inventory(runner: "runner1", boot: "boot1")
        for attempt in running {
            inventory.entries[attempt] = .running(
                Process(pid: Int32(attempt.operation.rawValue), startTicks: 1, at: now))
        }
        try perform(.runnerConnected(inventory))
    }

    private mutating func endTurn(_ taken: [Submission]) throws(Violation) {
        let transition = core.endTurn(at: now)
        let setting = Judge.Setting(
            workers: workers, runner: "runner1", isDraining: isDraining, boot: "boot1", now: now)
        try judge.commit(transition, to: &store, submissions: taken, setting)
        effects += transition.effects
        for effect in transition.effects {
            guard case .launch(let attempt, _) = effect else { continue }
            running.append(attempt)
            started.append(attempt.operation)
        }
        for record in store.unfinished {
            try require(!core.why(record.id, at: now).isEmpty, .explanation, "\(record.id) waits for nothing")
        }
    }
}

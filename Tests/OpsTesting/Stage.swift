public import OpsCore

/// A scheduler with a disk and a judge, for scenes written by hand: a process ends when the test lets it end.
public struct Stage<Tested: TestedScheduler> {
    public private(set) var core: Tested
    public private(set) var store = FakeStore()
    public private(set) var now = Moment(monotonic: .seconds(1), wall: .seconds(1_700_000_000))
    /// Attempts that were launched and have not ended, in the order of their starts.
    public private(set) var running: [AttemptID] = []
    /// All effects so far.
    public private(set) var effects: [Effect] = []
    /// Operations that were started, once for each start.
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

    /// Handles these events in one turn; throws a refusal.
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

    /// Submits in a turn of its own, and returns the ids.
    @discardableResult
    public mutating func submit(_ submission: Submission) throws -> [OperationID] {
        guard case .submitted(_, let first, let count)? = try perform(.submit(submission)).first else { return [] }
        return (0..<Int64(count)).map { OperationID(first.rawValue + $0) }
    }

    /// Ends the main process of an operation, which leaves no other processes.
    public mutating func end(_ id: OperationID, code: Int32 = 0) throws {
        guard let attempt = running.first(where: { $0.operation == id }) else {
            throw Violation(.settles, "\(id) does not execute")
        }
        pass(.milliseconds(1))
        try perform(exit(of: attempt, code))
    }

    /// Returns the report of an end, to be handled together with other events.
    public mutating func exit(of attempt: AttemptID, _ code: Int32 = 0) -> Event {
        running.removeAll { $0 == attempt }
        return .exited(attempt, ProcessExit(status: .code(code), at: now), treeIsGone: true)
    }

    /// Ends executing operations in the order of their starts until none is left; returns their number.
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

    public mutating func pass(_ span: TimeSpan) {
        now += span
    }

    /// Kills opsd and starts it again from the disk; the runner is not affected.
    public mutating func restart() throws {
        core = Tested(store.snapshot(), workers: workers, at: now)
        judge.forget(store, at: now)
        var inventory = Inventory(runner: "runner1", boot: "boot1")
        for attempt in running {
            inventory.entries[attempt] = .running(
                LaunchedProcess(pid: Int32(attempt.operation.rawValue), startTicks: 1, at: now))
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

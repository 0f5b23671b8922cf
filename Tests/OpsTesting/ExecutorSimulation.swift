internal import OpsCore

/// Simulates the use of one executor other than the runner: a seed drives submissions, jobs, lost reports and crashes.
/// Each commit is compared with what really happened in the engine.
public struct ExecutorSimulation {
    private static let name = "engine"
    private static let window: Int32 = 3

    private var random: SeededGenerator
    private var store = FakeStore()
    private var engine: FakeEngine
    private var core: Scheduler
    private var now = Moment.firstOfSimulations
    private let seed: UInt64
    public private(set) var turns = 0
    public private(set) var successes = 0

    public init(seed: UInt64, fault: FakeEngine.Fault = .none) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        engine = FakeEngine(fault: fault)
        core = Scheduler(Snapshot(), workers: 2, at: now)
    }

    /// Runs a part with faults, and then a part without, in which every operation must finish.
    public mutating func run() throws(Violation) {
        try restart(crashed: false)
        for _ in 0..<200 {
            try disturb()
            if random.chance(30) { try turn([submission()]) }
            if random.chance(5), let id = store.unfinished.map(\.id).randomElement(using: &random) {
                try turn([.cancel([id], by: "ann", reason: nil, force: false)])
            }
            if random.chance(10), let id = store.unfinished.map(\.id).randomElement(using: &random) {
                try turn([
                    random.chance(50) ? .suspend(.operations([id]), freeze: true) : .resume(.operations([id]))
                ])
            }
            try step()
        }
        for round in 0..<3000 where !store.unfinished.isEmpty {
            if round % 20 == 0 {
                try connect()
                try turn([.resume(.operations(store.unfinished.map(\.id)))])
            }
            try step()
        }
        let left = store.unfinished.map { "\($0.id) \($0.state)" }
        try require(left.isEmpty, .settles, "seed \(seed): \(left) after \(turns) turns")
    }

    // MARK: Steps

    /// Lets time pass and the engine work, and delivers a few reports.
    private mutating func step() throws(Violation) {
        now += .milliseconds(500)
        try engine.advance(at: now, using: &random)
        var events: [Event] = []
        while !engine.reports.isEmpty, random.chance(70) {
            let report = engine.reports.remove(at: random.below(engine.reports.count))
            events.append(.external(Self.name, report))
        }
        try turn(events.isEmpty ? [.tick] : events)
    }

    private mutating func disturb() throws(Violation) {
        if random.chance(4) { engine.forget(at: now, using: &random) }
        if random.chance(5), !engine.reports.isEmpty {
            engine.reports.append(random.pick(engine.reports))
        }
        if random.chance(5), !engine.reports.isEmpty { engine.reports.remove(at: random.below(engine.reports.count)) }
        if random.chance(3), engine.isConnected {
            engine.isConnected = false
            try turn([.external(Self.name, .runnerLost)])
        }
        if random.chance(20), !engine.isConnected { try connect() }
        if random.chance(2) { try connect() }
        if random.chance(2) { try restart(crashed: true) }
    }

    private mutating func submission() -> Event {
        var submission = Submission()
        let count = 1 + random.below(3)
        for place in 0..<count {
            var policy = Policy()
            policy.executor = Self.name
            if random.chance(30) { policy.timeout = .seconds(20) }
            if random.chance(50) {
                policy.retry = RetryPolicy(limit: 2, backoff: .seconds(1), onInterrupted: random.chance(50))
            }
            submission.add(
                priority: random.chance(30) ? Int8(random.below(9)) : 0,
                categories: random.chance(30) ? [.units("db")] : [], policy: policy,
                after: place > 0 && random.chance(40) ? [Int32(place - 1)] : [],
                when: random.pick(EdgeCondition.allCases))
        }
        return .submit(submission)
    }

    private mutating func connect() throws(Violation) {
        let greeting = engine.connect(at: now, forgetting: random.chance(30))
        try turn([.external(Self.name, greeting)])
    }

    /// Starts opsd again from the disk.
    private mutating func restart(crashed: Bool) throws(Violation) {
        if crashed { engine.isConnected = false }
        var snapshot = store.snapshot()
        snapshot.executors = [ExecutorSettings(name: Self.name, window: Self.window)]
        core = Scheduler(snapshot, workers: 2, at: now)
        try turn([.runnerConnected(Inventory(runner: "r", boot: "b"))])
    }

    // MARK: The turn

    /// Handles events, commits, and performs effects; sometimes opsd dies between two of these steps.
    private mutating func turn(_ events: [Event]) throws(Violation) {
        turns += 1
        var taken: [Submission] = []
        for event in events {
            let result = core.handle(event, at: now)
            if case .submit(let submission) = event, case .success = result { taken.append(submission) }
        }
        let transition = core.endTurn(at: now)
        if let broken = core.checkInvariants().first { throw Violation(.coreInvariant, "seed \(seed): \(broken)") }
        let dies = random.chance(3)
        if dies, random.chance(50) { return try restart(crashed: true) }
        try store.commit(transition, submissions: taken, boot: "b", at: now)
        for change in transition.changes { try judge(change) }
        let inFlight = store.records.count { $0.countsForLimits }
        try require(inFlight <= Int(Self.window), .poolLimit, "seed \(seed): \(inFlight) attempts are in flight")
        let performed = dies ? random.below(transition.effects.count + 1) : transition.effects.count
        for case .external(_, let effect) in transition.effects.prefix(performed) {
            try engine.perform(effect, store: store, at: now)
        }
        if dies { try restart(crashed: true) }
    }

    /// Checks that an attempt succeeds only if its job succeeded, and ends only when none of its jobs can start any
    /// more.
    private mutating func judge(_ change: Change) throws(Violation) {
        guard case .attemptEnded(let attempt, let outcome, _, _) = change else { return }
        if outcome == .succeeded {
            successes += 1
            try require(
                engine.truth[attempt] == .exited(0), .oneOutcome,
                "seed \(seed): \(attempt) succeeded, in truth \(String(describing: engine.truth[attempt]))")
        }
        let alive = engine.jobs.contains { $0.attempt == attempt }
        try require(!alive, .nothingLeftBehind, "seed \(seed): \(attempt) is \(outcome), and a job of it is alive")
    }
}

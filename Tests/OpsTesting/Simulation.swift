import OpsCore

/// One simulation of opsd: a seed drives users, processes, clocks and disasters, and every commit is checked.
public struct Simulation<Tested: TestedScheduler> {
    /// Fate of a turn after the scheduler has ended it.
    enum Fate: String { case completed, commitFails, crashBeforeCommit, crashAfterCommit, crashAmidEffects }

    let seed: UInt64
    let habits: Habits
    var random: SeededGenerator
    var rateRandom: SeededGenerator
    var restartRandom: SeededGenerator
    var partRandom: SeededGenerator
    var store = FakeStore()
    var world: FakeWorld
    var judge = Judge()
    var core: Tested
    var now = Moment.firstOfSimulations
    var workers: Int32
    var isDraining = false
    /// True once the wall clock was set.
    var isClockSet = false
    /// The runner that the core knows.
    var knownRunner: String?
    /// True until the turn has handled an event: rows and core still agree.
    private var isFirstEvent = false
    /// Operations that a user gave up on; their processes may be alive.
    var abandoned: Set<OperationID> = []
    var lastWords = LastWords()
    public internal(set) var history = History()
    public private(set) var turns = 0
    public private(set) var starts = 0
    public private(set) var tally = StagingTally()
    public internal(set) var turnsInTwoParts = 0

    public init(seed: UInt64, habits: Habits? = nil) {
        self.seed = seed
        random = SeededGenerator(seed: seed)
        var chosen = habits ?? Habits(using: &random)
        rateRandom = SeededGenerator(seed: ~seed)
        restartRandom = SeededGenerator(seed: seed &+ 1 << 32)
        partRandom = SeededGenerator(seed: seed &+ 2 << 32)
        chosen.hasRates = seed.isMultiple(of: 3)
        self.habits = chosen
        world = FakeWorld(isTame: self.habits.isPlain, isForgetful: self.habits.isForgetful)
        workers = Int32(1 + random.below(3))
        core = Tested(store.snapshot(), workers: workers, at: now)
        world.reconnect()
    }

    /// Runs a part with faults, and then a part without, in which everything must finish.
    public mutating func run() throws(Failure) {
        do throws(Violation) {
            for _ in 0..<habits.turns { try liveOneTurn() }
            try settle()
        } catch {
            for record in store.unfinished { history.note("\(record.id): \(core.why(record.id, at: now))") }
            throw Failure(seed: seed, violation: error, history: history)
        }
    }

    public var summary: String {
        """
        seed \(seed): \(turns) turns, \(store.records.count) operations, \(starts) starts; \(tally)
        """
    }
    public var digest: UInt64 { history.digest }

    private mutating func liveOneTurn() throws(Violation) {
        try disturb()
        var events = world.takeFacts(atMost: random.below(4))
        if !habits.isPlain || random.chance(15) {
            for _ in 0..<random.below(3) { events.append(request()) }
        }
        dropSecondRetry(&events)
        if random.chance(habits.duplicates), !world.reported.isEmpty {
            let again = random.pick(world.reported)
            if canRepeat(again) { events.append(again) }
        }
        if events.isEmpty, !habits.isPlain || random.chance(20) { events = [.tick] }
        try turn(events, fate: fate())
    }

    /// Returns whether a connection can repeat a report: its first one is the inventory, and the messages of a process keep
    /// their order.
    private func canRepeat(_ report: Event) -> Bool {
        if case .updated(let attempt, let words) = report, words.result != world.updates[attempt]?.result {
            return false
        }
        return knownRunner != nil || !report.isRunnerReport
    }

    /// Removes the second retry of a turn: the operations that a retry reopens are read between turns, so a second one
    /// would have read them too early.
    private func dropSecondRetry(_ events: inout [Event]) {
        var isFirst = true
        events.removeAll { event in
            guard case .retry = event else { return false }
            defer { isFirst = false }
            return !isFirst
        }
    }

    private mutating func fate() -> Fate {
        guard random.chance(habits.crashes) else { return .completed }
        return random.pick([.commitFails, .crashBeforeCommit, .crashAfterCommit, .crashAmidEffects])
    }

    /// Handles events, decides, commits and performs effects as the daemon does, with the given fate.
    mutating func turn(_ events: [Event], fate: Fate = .completed) throws(Violation) {
        turns += 1
        history.begin(turns, now, fate.rawValue)
        var taken: [Submission] = []
        isFirstEvent = true
        var rest = events[...]
        while let event = rest.popFirst() {
            if !event.isRunnerReport { try recall(&rest, &taken) }
            try hand(event, to: &taken)
        }
        if core.mustRevokeStaged(at: now) { try recall(&rest, &taken) }
        try endTurn(taken, fate, upTo: limit())
        if core.hasPutOff { try endSecondPart() }
    }

    /// Ends the turn, commits it and performs its effects. Beyond `limit` the core puts work off.
    mutating func endTurn(_ taken: [Submission], _ fate: Fate, upTo limit: Int) throws(Violation) {
        let transition = core.endTurn(at: now, upTo: limit)
        let isComplete = !core.hasPutOff
        history.record(transition)
        if isComplete, let broken = core.brokenInvariant() { throw Violation(.coreInvariant, broken) }
        if fate == .commitFails || fate == .crashBeforeCommit { return rebuild() }
        try judge.commit(transition, to: &store, submissions: taken, setting, isComplete: isComplete)
        starts += transition.changes.count { if case .started = $0 { true } else { false } }
        for change in transition.changes { tally.count(change) }
        for case .stage(_, let after) in transition.effects where !after.isEmpty { tally.early += 1 }
        if fate == .crashAfterCommit { return rebuild() }
        let performed =
            fate == .crashAmidEffects ? random.below(transition.effects.count + 1) : transition.effects.count
        for effect in transition.effects.prefix(performed) {
            if case .acknowledge(let attempt) = effect { try inspectWords(of: attempt) }
            try world.perform(effect, store: store, at: now, using: &random)
        }
        try inspectWorld()
        if fate == .crashAmidEffects { return rebuild() }
        for tree in world.trees where tree.isFrozen && world.isConnected {
            // The user who gave the operation up has accepted that its fate is unknown.
            if abandoned.contains(tree.attempt.operation) { continue }
            try require(store[tree.attempt.operation].isFrozen, .legalEffect, "\(tree.attempt) is frozen")
        }
        guard isComplete else { return }
        try inspectExplanations()
        try inspectAnswers()
        try compareWithRestart()
    }

    var setting: Judge.Setting {
        Judge.Setting(workers: workers, runner: knownRunner, isDraining: isDraining, boot: world.boot, now: now)
    }

    mutating func hand(_ event: Event, to taken: inout [Submission]) throws(Violation) {
        // A restarted core takes staged launches for started before it records that.
        let agrees = isFirstEvent && !store.unfinished.contains { $0.staged != nil && $0.isWaiting }
        let expected = agrees ? judge.rules(store, setting).answer(to: event) : .any
        isFirstEvent = false
        let result = core.handle(event, at: now)
        history.record(event, result)
        // A canary answers another event.
        if core.comparable != nil, !expected.permits(result) {
            throw Violation(.rejection, "\(event) answered with \(result), expected \(expected)")
        }
        judge.heard(event, store, at: now)
        lastWords.heard(event, store)
        switch (event, result) {
        case (.submit(let submission), .success(let acceptance)):
            taken.append(submission)
            guard case .submitted(_, _, let count) = acceptance, count == submission.operations.count else {
                throw Violation(.rejection, "a submission answered with \(acceptance)")
            }
        case (.setWorkers(let count, _), .success): workers = count
        case (.setDraining(let isOn), .success): isDraining = isOn
        case (.runnerConnected(let inventory), _): knownRunner = inventory.isEnding ? nil : inventory.runner
        case (.runnerLost, _): knownRunner = nil
        case (.stagedStarted(let attempt, _), _):
            world.stagedAttempts.removeAll { $0 == attempt }
            tally.started += 1
            if store[attempt.operation].state == .pending { tally.startedEarly += 1 }
        case (.cancel(let ids, _, _, force: true), .success):
            for id in ids { abandoned.formUnion(familyOf(id)) }
        default: break
        }
    }

    private func familyOf(_ id: OperationID) -> [OperationID] {
        guard store.has(id) else { return [] }
        return [id] + store.children(of: id).flatMap { familyOf($0.id) }
    }

    /// Starts opsd again from the disk.
    mutating func rebuild() {
        core = Tested(store.snapshot(boot: world.boot), workers: workers, at: now)
        judge.forget(store, at: now)
        world.reconnect()
        knownRunner = nil
        isDraining = false
    }

    /// Checks that every living process belongs to an executing operation, unless a user has given it up.
    private func inspectWorld() throws(Violation) {
        for tree in world.trees {
            let record = store[tree.attempt.operation]
            if let running = record.running, running.attempt == tree.attempt, !running.isOver { continue }
            // The runner has started it as a staged launch; the report is on its way.
            if record.staged?.attempt == tree.attempt { continue }
            if tree.mayLeaveOthers(record.policy), !tree.mainIsAlive { continue }
            if abandoned.contains(record.id) { continue }
            throw Violation(.nothingLeftBehind, "\(tree.attempt) is alive, its operation \(record.state)")
        }
    }

    /// Checks that every update of an attempt that the runner may forget is stored, except updates that leftover
    /// processes have just sent.
    private func inspectWords(of attempt: AttemptID) throws(Violation) {
        guard let said = world.updates[attempt]?.result, !abandoned.contains(attempt.operation),
            !lastWords.unheard.contains(attempt)
        else { return }
        let isOnItsWay = world.facts.contains { if case .updated(attempt, _) = $0 { true } else { false } }
        let stored = store[attempt.operation].results[attempt.number]
        try require(
            stored == said || isOnItsWay, .nothingLeftBehind,
            "\(attempt) acknowledged; it said \(said), stored is \(stored ?? "nothing")")
    }

    private func inspectExplanations() throws(Violation) {
        for record in store.unfinished {
            let reasons = core.why(record.id, at: now)
            try require(!reasons.isEmpty, .explanation, "\(record.id) (\(record.state)) waits for nothing")
            for id in reasons.flatMap(\.ids) {
                try require(
                    store.has(id) && !store[id].isFinished, .explanation, "\(record.id) waits for \(id): \(reasons)")
            }
        }
        if let wall = core.nextDeadline.wall {
            try require(wall > now.wall, .deadlines, "wants a turn at \(wall), at \(now.wall)")
        }
        if let monotonic = core.nextDeadline.monotonic {
            try require(monotonic > now.monotonic, .deadlines, "wants a turn at \(monotonic), at \(now.monotonic)")
        }
    }
}

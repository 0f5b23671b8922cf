public import OpsCore

/// An engine with its executor: jobs wait for their release, start, end and are forgotten. Reports to opsd may be lost,
/// repeated and reordered, and the executor may restart.
public struct FakeEngine: Sendable {
    /// Faults that an executor may have.
    public enum Fault: Sendable {
        case none
        /// Submits again without looking for an existing job of the attempt.
        case submitsBlindly
        /// Treats a job that the engine has forgotten as one that succeeded.
        case trustsForgottenJobs
    }

    public enum Truth: Equatable, Sendable {
        case exited(Int32)
        /// The engine lost the job or ended it, so nobody knows whether it succeeded.
        case lost
    }

    enum State {
        case held, released, running
    }

    struct Job {
        var number: Int
        var attempt: AttemptID
        var state = State.held
        /// True if its processes are stopped, so that it does not end by itself.
        var isFrozen = false
    }

    let fault: Fault
    private(set) var jobs: [Job] = []
    private var nextNumber = 1
    /// Ends that opsd has not acknowledged.
    private var lostEnds: [AttemptID: ExternalEnd] = [:]
    private var exits: [AttemptID: ProcessExit] = [:]
    /// Number of starts of each attempt, and its real end.
    private(set) var starts: [AttemptID: Int] = [:]
    public private(set) var truth: [AttemptID: Truth] = [:]
    /// Reports on their way to opsd.
    var reports: [Event] = []
    public internal(set) var isConnected = false

    public init(fault: Fault = .none) { self.fault = fault }

    // MARK: The engine

    /// Advances one job by one step.
    mutating func advance(at now: Moment, using random: inout SeededGenerator) throws(Violation) {
        guard !jobs.isEmpty else { return }
        let place = random.below(jobs.count)
        switch jobs[place].state {
        case .held:
            break
        case .released: try start(place, at: now)
        case .running where jobs[place].isFrozen: break
        case .running: end(place, random.chance(70) ? 0 : 1, at: now)
        }
    }

    private mutating func start(_ place: Int, at now: Moment) throws(Violation) {
        let attempt = jobs[place].attempt
        jobs[place].state = .running
        starts[attempt, default: 0] += 1
        try require(starts[attempt] == 1, .oneProcessAnAttempt, "\(attempt) has started twice")
        tell(.launched(attempt, LaunchedProcess(pid: 0, startTicks: 0, at: now)))
    }

    private mutating func end(_ place: Int, _ code: Int32, at now: Moment) {
        let attempt = jobs.remove(at: place).attempt
        truth[attempt] = .exited(code)
        let exit = ProcessExit(status: .code(code), at: now)
        exits[attempt] = exit
        tell(.exited(attempt, exit, treeIsGone: true))
    }

    /// Makes the engine forget a job, or its node fail.
    mutating func forget(at now: Moment, using random: inout SeededGenerator) {
        guard !jobs.isEmpty else { return }
        let job = jobs.remove(at: random.below(jobs.count))
        // A held job has not run. When opsd asks again, it is submitted again.
        guard job.state != .held else { return }
        truth[job.attempt] = .lost
        if fault == .trustsForgottenJobs {
            let exit = ProcessExit(status: .code(0), at: now)
            exits[job.attempt] = exit
            return tell(.exited(job.attempt, exit, treeIsGone: true))
        }
        finish(job.attempt, .interrupted, "no record of job \(job.number)", at: now)
    }

    private mutating func finish(_ attempt: AttemptID, _ outcome: ExternalEnd.Outcome, _ cause: String, at now: Moment)
    {
        let end = ExternalEnd(outcome: outcome, cause: cause, at: now)
        lostEnds[attempt] = end
        tell(.ended(attempt, end))
    }

    // MARK: The executor

    private mutating func tell(_ report: Event) { if isConnected { reports.append(report) } }

    /// Performs one effect.
    ///
    /// - Parameter store: The current content of the disk.
    mutating func perform(_ effect: Effect, store: FakeStore, at now: Moment) throws(Violation) {
        guard isConnected else { return }
        switch effect {
        case .submit(let attempt, _, _):
            let running = store[attempt.operation].running
            try require(running?.attempt == attempt, .commitBeforeEffect, "\(attempt) is submitted, not stored")
            submit(attempt)
        case .release(let attempt):
            guard let place = jobs.firstIndex(where: { $0.attempt == attempt }) else { return }
            let stored = store[attempt.operation].running?.job
            try require(stored != nil, .commitBeforeEffect, "\(attempt) is released, its job is not stored")
            // Before each release, the job is compared with the one that opsd has stored.
            for place in jobs.indices where jobs[place].attempt == attempt && jobs[place].state == .held {
                if fault == .submitsBlindly || stored == String(jobs[place].number) { jobs[place].state = .released }
            }
            if jobs[place].state == .held { tell(.accepted(attempt, job: String(jobs[place].number))) }
        case .terminate(let attempt, _):
            guard let place = jobs.firstIndex(where: { $0.attempt == attempt }) else {
                return hasEnded(attempt) ? () : tell(.gone(attempt))
            }
            jobs.remove(at: place)
            truth[attempt] = .lost
            finish(attempt, .cancelled, "ended", at: now)
        case .freeze(let attempt):
            // Its end may have been decided later in the same turn.
            let running = store.has(attempt.operation) ? store[attempt.operation].running : nil
            if let running, running.attempt == attempt, !running.isOver,
                store[attempt.operation].resolution == nil
            {
                try require(store[attempt.operation].isFrozen, .legalEffect, "\(attempt) is frozen")
            }
            setFrozen(attempt, true)
        case .thaw(let attempt): setFrozen(attempt, false)
        case .acknowledge(let attempt):
            let running = store.has(attempt.operation) ? store[attempt.operation].running : nil
            try require(
                running?.attempt != attempt || running?.isOver == true, .nothingLeftBehind,
                "\(attempt) is acknowledged, its end is not stored")
            (exits[attempt], lostEnds[attempt]) = (nil, nil)
        default: throw Violation(.legalEffect, "\(effect) for an executor")
        }
    }

    /// A job that has not started has no processes to stop.
    private mutating func setFrozen(_ attempt: AttemptID, _ isFrozen: Bool) {
        for place in jobs.indices where jobs[place].attempt == attempt && jobs[place].state == .running {
            jobs[place].isFrozen = isFrozen
        }
    }

    private func hasEnded(_ attempt: AttemptID) -> Bool { exits[attempt] != nil || lostEnds[attempt] != nil }

    private mutating func submit(_ attempt: AttemptID) {
        if let exit = exits[attempt] { return tell(.exited(attempt, exit, treeIsGone: true)) }
        if let end = lostEnds[attempt] { return tell(.ended(attempt, end)) }
        if fault != .submitsBlindly, let job = jobs.first(where: { $0.attempt == attempt }) {
            return tell(.accepted(attempt, job: String(job.number)))
        }
        jobs.append(Job(number: nextNumber, attempt: attempt))
        tell(.accepted(attempt, job: String(nextNumber)))
        nextNumber += 1
    }

    /// Connects again: reports that were on their way are lost, and the greeting contains all that is known.
    mutating func connect(at now: Moment, forgetting isForgetful: Bool) -> Event {
        isConnected = true
        reports = []
        var inventory = Inventory(runner: "engine", boot: "")
        // An executor that has lost its table lists only ends, and finds jobs when it is asked to submit.
        for job in jobs where !isForgetful {
            inventory.entries[job.attempt] =
                job.state == .running
                ? .running(LaunchedProcess(pid: 0, startTicks: 0, at: now)) : .accepted(job: String(job.number))
        }
        for (attempt, exit) in exits { inventory.entries[attempt] = .gone(exit) }
        for (attempt, end) in lostEnds { inventory.entries[attempt] = .ended(end) }
        return .runnerConnected(inventory)
    }
}

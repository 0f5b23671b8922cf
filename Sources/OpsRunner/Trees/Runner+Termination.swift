internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd

/// Shutdown of the runner itself.
struct Shutdown {
    /// Latest end of this process. Exits that are not acknowledged by then are lost.
    var deadline: MonotonicInstant
    /// Time for a connected daemon to store the last exits.
    static let patience = TimeSpan.seconds(5)
    /// Longest grace of operations whose end no daemon can learn any more.
    static let longestGraceWithoutState = TimeSpan.seconds(10)
}

/// Signals to whole trees.
extension Runner {
    /// Sends SIGTERM to every process of an attempt at the end of the turn, and SIGKILL after `grace`.
    func terminate(_ record: AttemptRecord, grace: TimeSpan) {
        // Without grace a SIGTERM could only race with the SIGKILL.
        if grace > .zero { terminating.append(record) }
        let now = Clock.read().monotonic
        // A second command may shorten the time that is left, but not lengthen it.
        record.killAt = min(record.killAt ?? .distantFuture, now.clampedSum(max(grace, .zero)))
    }

    /// Sends the SIGTERMs of this turn. Thaws and continues the trees so that each process can act on it.
    func sendTerminations() {
        let records = terminating.filter(\.isAlive)
        terminating = []
        if records.isEmpty { return }
        // All processes are stopped first. So none forks between two looks at the machine, and a process that a handler
        // starts to clean up is not among those that get a SIGTERM.
        let members = signal(records, Signals.stop)
        for number in [Signals.terminate, Signals.resume] {
            for process in members { logErrors { try Signals.send(number, to: process) } }
        }
        for record in records where record.isFrozen {
            if case .group(let group) = record.tree { logErrors { try group.setFrozen(false) } }
            record.isFrozen = false
        }
    }

    /// Kills the trees whose grace is over, again and again until they are gone.
    func killOverdue(now: MonotonicInstant) {
        let due = table.values.filter { $0.killAt.map { $0 <= now } ?? false }
        for record in due {
            // The end comes as an event. The repetition is for processes that no kill has reached.
            record.killAt = record.isAlive ? now + record.killBackoff.next() : nil
            guard record.isAlive, case .group(let group) = record.tree else { continue }
            withdrawGroup(of: record)
            logErrors { try group.kill() }
            // For a group that could not be watched.
            finishIfGone(record)
        }
        signal(due.filter { $0.isAlive && $0.tree == .descendants }, Signals.kill)
    }

    /// Sends a signal to every process of some attempts, those born meanwhile included. Returns the processes.
    @discardableResult
    func signal(_ records: [AttemptRecord], _ number: Int32) -> [ProcessRecord] {
        var signalled: [ProcessRecord] = []
        var trees: [(attempt: AttemptID, main: Int32)] = []
        for record in records {
            switch record.tree {
            case .none: break
            case .group(let group): logErrors { try group.signal(number, recording: &signalled) }
            case .descendants: trees.append((record.attempt, record.process.pid))
            }
        }
        if trees.isEmpty { return signalled }
        logErrors {
            var known: Set<Int32> = []
            // Forks can be faster than one pass. Each pass finds the children of processes not reached before.
            for _ in 0..<32 {
                try descendants.adopt(try Children.all(), mains: mains) { logs.isTrimming($0) }
                let fresh = try descendants.members(of: trees).filter { known.insert($0.pid).inserted }
                if fresh.isEmpty { return }
                for process in fresh {
                    signalled.append(process)
                    try Signals.send(number, to: process)
                }
            }
        }
        return signalled
    }

    func setFrozen(_ attempt: AttemptID, _ frozen: Bool) {
        // A tree that is being terminated must be able to end.
        guard let record = table[attempt], record.isAlive, record.isFrozen != frozen, record.killAt == nil else {
            return
        }
        logErrors {
            switch record.tree {
            case .group(let group): try group.setFrozen(frozen)
            case .descendants: signal([record], frozen ? Signals.stop : Signals.resume)
            case .none: return
            }
            record.isFrozen = frozen
        }
    }

    /// Ends all trees, then this process. `grace`: of each tree; `nil`: as its launch says.
    func shutDown(grace: TimeSpan?, atMost bound: TimeSpan = .max) {
        logErrors { try Service.notify("STOPPING=1") }
        let living = table.values.filter(\.isAlive)
        for record in living { terminate(record, grace: min(grace ?? record.grace, bound)) }
        let longest = living.map { min(grace ?? $0.grace, bound) }.max() ?? .zero
        let deadline = Clock.read().monotonic.clampedSum(longest).clampedSum(Shutdown.patience * 2)
        let isNews = shutdown == nil
        shutdown = Shutdown(deadline: deadline)
        // opsd revokes the staged launches when it learns of the shutdown.
        staged.removeAll()
        if isNews { reportShutdown() }
    }

    /// Returns whether all trees are gone, and their ends stored as far as a daemon can store them.
    func isDone(_ shutdown: Shutdown, now: MonotonicInstant) -> Bool {
        if now >= shutdown.deadline { return true }
        if table.values.contains(where: \.isAlive) { return false }
        // An end cannot be stored in a directory that was removed.
        return table.isEmpty || connection == nil || hasLostItsDirectory
    }
}

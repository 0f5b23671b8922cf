internal import OpsSystem
internal import OpsSystemd

/// How the runner itself is to end.
struct Ending {
    /// The latest: what is not acknowledged by then is lost.
    var deadline: Int64
    /// How long a daemon that is connected gets to store the last exits.
    static let patience: Int64 = 5_000_000_000
    /// What operations get at most to end when nobody can learn any more how they ended.
    static let longestGraceOfOrphans: Int64 = 10_000_000_000
}

/// Signals to whole trees.
extension Runner {
    /// SIGTERM to every process (at the end of the turn), SIGKILL after `grace`.
    func terminate(_ record: AttemptRecord, grace: Int64) {
        // Without grace nothing could come of a SIGTERM but a race with the SIGKILL.
        if grace > 0 { asking.append(record) }
        let now = Clock.read().monotonic
        // A second order may shorten the time that is left, never lengthen it.
        record.killAt = min(record.killAt ?? .max, now.clampedSum(max(grace, 0)))
    }

    /// SIGTERM to the trees that are to end, thawed and continued so that each process can act on it.
    func ask() {
        let records = asking.filter(\.isAlive)
        asking = []
        if records.isEmpty { return }
        // All stand still first: nobody forks past the looks at the machine, and what a handler starts to clean up
        // behind itself was not there yet and gets no SIGTERM.
        let members = signal(records, Signals.stop)
        for number in [Signals.terminate, Signals.resume] {
            for process in members { noting { () throws(SystemError) in try Signals.send(number, to: process) } }
        }
        for record in records where record.isFrozen {
            if case .group(let group) = record.tree {
                noting { () throws(SystemError) in try group.setFrozen(false) }
            }
            record.isFrozen = false
        }
    }

    /// Kills what has had its time, and again until it is gone.
    func escalate(now: Int64) {
        let due = table.values.filter { $0.killAt.map { $0 <= now } ?? false }
        for record in due {
            // Its end comes as an event; looked at again for processes that no kill reached.
            record.killAt = record.isAlive ? now + record.killPause.take() : nil
            guard record.isAlive, case .group(let group) = record.tree else { continue }
            keepGroupToItself(record)
            noting { () throws(SystemError) in try group.kill() }
            // And for a group that could not be watched.
            endIfGone(record)
        }
        signal(due.filter { $0.isAlive && $0.tree == .descent }, Signals.kill)
    }

    /// Sends to every process, those included that are born meanwhile; returns whom it told.
    @discardableResult
    private func signal(_ records: [AttemptRecord], _ number: Int32) -> [ProcessRecord] {
        var told: [ProcessRecord] = []
        var descents: [(attempt: Attempt, main: Int32)] = []
        for record in records {
            switch record.tree {
            case .none: break
            case .group(let group): noting { () throws(SystemError) in try group.signal(number, telling: &told) }
            case .descent: descents.append((record.attempt, record.process.pid))
            }
        }
        if descents.isEmpty { return told }
        noting { () throws(SystemError) in
            var known: Set<Int32> = []
            // A storm of forks runs ahead of one look; each pass finds the children of those not reached before.
            for _ in 0..<32 {
                try descent.adopt(mains: mains) { logs.isTrimming($0) }
                let fresh = try descent.members(of: descents).filter { known.insert($0.pid).inserted }
                if fresh.isEmpty { return }
                for process in fresh {
                    told.append(process)
                    try Signals.send(number, to: process)
                }
            }
        }
        return told
    }

    func setFrozen(_ attempt: Attempt, _ frozen: Bool) {
        // What is being ended must stay able to end.
        guard let record = table[attempt], record.isAlive, record.isFrozen != frozen, record.killAt == nil else {
            return
        }
        noting { () throws(SystemError) in
            switch record.tree {
            case .group(let group): try group.setFrozen(frozen)
            case .descent: signal([record], frozen ? Signals.stop : Signals.resume)
            case .none: return
            }
            record.isFrozen = frozen
        }
    }

    /// Ends all trees, then this process; `grace` nil: each has its own.
    func endEverything(grace: Int64?, atMost bound: Int64 = .max) {
        noting { () throws(SystemError) in try Service.notify("STOPPING=1") }
        let living = table.values.filter(\.isAlive)
        for record in living { terminate(record, grace: min(grace ?? record.grace, bound)) }
        let longest = living.map { min(grace ?? $0.grace, bound) }.max() ?? 0
        let deadline = Clock.read().monotonic.clampedSum(longest).clampedSum(2 * Ending.patience)
        let isNews = ending == nil
        ending = Ending(deadline: deadline)
        // What is in hand would begin behind the end; opsd takes it back when it hears of that.
        hand.drop()
        if isNews { tellEnding() }
    }

    /// All trees are gone, and their ends stored as far as somebody is there to store them.
    func isDone(_ ending: Ending, now: Int64) -> Bool {
        if now >= ending.deadline { return true }
        if table.values.contains(where: \.isAlive) { return false }
        // Nobody can store an end in a directory that is not there.
        return table.isEmpty || connection == nil || hasLostItsDirectory
    }
}

internal import OpsSystem
internal import OpsSystemd

/// How processes end.
extension Runner {
    /// Waits for every child that has ended: main processes and adopted orphans.
    func collectChildren() {
        var ended: [(AttemptRecord, EndedChild)] = []
        noting { () throws(SystemError) in
            while let child = try Children.takeEnded() {
                if endedTrim(child) { continue }
                descent.collected(child.pid)
                guard let attempt = mains.removeValue(forKey: child.pid), let record = table[attempt] else { continue }
                ended.append((record, child))
            }
        }
        // Before anything is called gone: those whose parent is among the dead are our children now.
        adoptOrphans()
        for (record, child) in ended { mainEnded(record, child) }
        if !descent.isEmpty { endEmptyDescents() }
        passSlotsOn()
    }

    private func endedTrim(_ child: EndedChild) -> Bool {
        do throws(SystemError) {
            return try logs.trimEnded(child)
        } catch {
            Program.complain("opsd-runner: \(error)")
            return true
        }
    }

    /// Who cannot be asked who is whose child (no descriptor is left) asks again soon, and calls nothing gone until then.
    private func adoptOrphans() {
        adoptAt = nil
        if descent.isEmpty { return }
        noting { () throws(SystemError) in
            adoptAt = Clock.read().monotonic + Runner.adoptionPause
            try descent.adopt(mains: mains) { logs.isTrimming($0) }
            adoptAt = nil
        }
    }

    private static let adoptionPause: Int64 = 100_000_000

    /// Removes the group once nothing lives in it any more.
    func leave(_ group: ControlGroup) {
        noting { () throws(SystemError) in try leftGroups.add(group, now: Clock.read().monotonic) }
    }

    /// What could not be found out before.
    func lookAgain(now: Int64) {
        if let adoptAt, adoptAt <= now { collectChildren() }
        noting { () throws(SystemError) in try leftGroups.lookAgain(now: now) }
        if let watchAt, watchAt <= now {
            self.watchAt = nil
            for record in table.values where record.groupWatch == nil && !record.hasRunningMain {
                watchRest(of: record)
            }
        }
    }

    private func mainEnded(_ record: AttemptRecord, _ child: EndedChild) {
        guard hasStarted(record) else { return }
        // What it said comes before how it ended, whichever of the two woke us.
        hear(record)
        let exit = exit(of: record, child)
        record.phase = .exited(exit)
        // It may have been the group that was killed.
        if exit.status == .signal(Signals.kill) { keepGroupToItself(record) }
        if isTreeGone(record) { return end(record, exit, isNews: true) }
        if record.leftovers == .leave {
            if case .group(let group) = record.tree { leave(group) }
            retireLine(of: record)
            return end(record, exit, isNews: true, isLeft: true)
        }
        reportTold()
        if !record.attempt.isErrand { hand.close(for: record.attempt) }
        report(.exited(record.attempt, exit, treeIsGone: false))
        watchRest(of: record)
        if record.leftovers == .kill { terminate(record, grace: record.grace) }
    }

    private func exit(of record: AttemptRecord, _ child: EndedChild) -> ProcessExit {
        var exit = ProcessExit(
            status: .code(0), userMicroseconds: child.userMicroseconds, systemMicroseconds: child.systemMicroseconds,
            maxResidentBytes: child.maxResidentBytes, at: Clock.read())
        switch child.status {
        case .code(let code): exit.status = .code(code)
        case .signal(let number): exit.status = .signal(number)
        }
        if case .group(let group) = record.tree { noting { () throws(SystemError) in try account(group, to: &exit) } }
        return exit
    }

    /// What the whole tree used: the main process answers only for children that it has waited for.
    private func account(_ group: ControlGroup, to exit: inout ProcessExit) throws(SystemError) {
        if groups?.controllers.contains("cpu") == true {
            let time = try group.values(in: "cpu.stat")
            exit.userMicroseconds = max(exit.userMicroseconds, time["user_usec"] ?? 0)
            exit.systemMicroseconds = max(exit.systemMicroseconds, time["system_usec"] ?? 0)
        }
        if groups?.controllers.contains("memory") == true {
            exit.maxResidentBytes = max(exit.maxResidentBytes, try group.value("", in: "memory.peak") ?? 0)
            // What the OOM killer took from a tree that succeeded all the same is no cause of anything.
            guard exit.status != .code(0) else { return }
            exit.outOfMemory = try group.value("oom_kill", in: "memory.events") ?? 0 > 0
        }
    }

    /// Nobody comes into its group after it: Linux (6.18 was seen to) also kills whoever is born from outside into a group
    /// that was killed once, for it counts the kills of the group that the parent is in.
    func keepGroupToItself(_ record: AttemptRecord) {
        if let kept = record.keptGroup { sharedGroups.letGo(kept) }
        record.keptGroup = nil
    }

    /// Proof, not guess: the group can be removed, or no child of ours belongs to the attempt.
    func isTreeGone(_ record: AttemptRecord) -> Bool {
        switch record.tree {
        case .group(let group):
            do throws(SystemError) {
                if let kept = record.keptGroup {
                    // If anything is left in it, it is this attempt's alone from now on.
                    record.keptGroup = nil
                    if try sharedGroups.takeBack(kept) { return true }
                }
                return try group.remove()
            } catch {
                Program.complain("opsd-runner: \(error)")
                return false
            }
        case .descent: return adoptAt == nil && !descent.hasOrphan(of: record.attempt)
        case .none: return true
        }
    }

    /// `isNews`: the exit itself has not been reported yet. `isLeft`: processes of it live on.
    func end(_ record: AttemptRecord, _ exit: ProcessExit, isNews: Bool, isLeft: Bool = false) {
        hear(record)
        noting { () throws(SystemError) in
            try logs.end(record.attempt, isLeft: isLeft, now: Clock.read().monotonic)
        }
        giveBack(record.line, slot: record.slot)
        record.line = nil
        noteFreeSlot(of: record, exit, isNews: isNews)
        record.phase = .gone(exit)
        record.killAt = nil
        record.groupWatch = nil
        if record.tree == .descent { descent.end(record.attempt, main: record.process.pid) }
        // What it said last comes before its end.
        reportTold()
        report(isNews ? .exited(record.attempt, exit, treeIsGone: true) : .gone(record.attempt))
    }

    /// Waits for the end of those that outlive the main process.
    func watchRest(of record: AttemptRecord) {
        guard case .exited = record.phase, case .group(let group) = record.tree else { return }
        noting { () throws(SystemError) in
            record.groupWatch = try GroupWatch(group, in: loop) { [unowned self, unowned record] isLost in
                if isLost { watchLater(record) }
                endIfGone(record)
            }
        }
        if record.groupWatch == nil { watchLater(record) }
        // What ended before the watch began makes no event.
        endIfGone(record)
    }

    private func watchLater(_ record: AttemptRecord) {
        record.groupWatch = nil
        watchAt = watchAt ?? Clock.read().monotonic + Runner.watchPause
    }

    private static let watchPause: Int64 = 1_000_000_000

    /// Ends a record whose main process has ended and whose tree is gone.
    func endIfGone(_ record: AttemptRecord) {
        guard case .exited(let exit) = record.phase, isTreeGone(record) else { return }
        end(record, exit, isNews: false)
    }

    private func endEmptyDescents() {
        for record in table.values where record.tree == .descent { endIfGone(record) }
    }
}

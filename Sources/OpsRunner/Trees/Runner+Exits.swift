internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd

/// Ends of processes and of trees.
extension Runner {
    /// Waits for every child that has ended: main processes and adopted orphans.
    func collectChildren() {
        var ended: [(AttemptRecord, EndedChild)] = []
        logErrors {
            while let child = try Children.collectEnded() {
                if finishTrim(child) { continue }
                descendants.removeOrphan(child.pid)
                guard let attempt = mains.removeValue(forKey: child.pid), let record = table[attempt] else { continue }
                ended.append((record, child))
            }
        }
        // Before any tree counts as gone: processes whose parent is among the dead are our children now.
        adoptOrphans()
        for (record, child) in ended { finishMain(of: record, child) }
        if !descendants.isEmpty { finishEmptyTrees() }
        startStagedLaunches()
    }

    private func finishTrim(_ child: EndedChild) -> Bool {
        do throws(SystemError) {
            return try logs.finishTrim(child)
        } catch {
            Program.writeError("opsd-runner: \(error)")
            return true
        }
    }

    /// Records new children. If they cannot be listed (no descriptor is left), tries again soon; no tree counts as gone
    /// until then.
    private func adoptOrphans() {
        adoptionRetryAt = nil
        orphanLookAt = nil
        if descendants.isEmpty { return }
        let now = Clock.read().monotonic
        logErrors {
            adoptionRetryAt = now + Runner.adoptionPause
            try descendants.adopt(try Children.all(), mains: mains) { logs.isTrimming($0) }
            adoptionRetryAt = nil
        }
        if descendants.hasUnclearOrphans {
            orphanLookAt = now + (descendants.hasOnlyUnreadableOrphans ? Runner.unreadablePause : Runner.orphanPause)
        }
    }

    private static let adoptionPause = TimeSpan.milliseconds(100)
    private static let orphanPause = TimeSpan.milliseconds(10)
    private static let unreadablePause = TimeSpan.milliseconds(250)

    /// Follows a group that outlives its attempt, and removes it once it is empty.
    func watchLeftovers(in group: ControlGroup) {
        logErrors { try leftoverGroups.add(group, now: Clock.read().monotonic) }
    }

    /// Repeats what failed for want of a descriptor, and looks again at unclear orphans.
    func retryWatches(now: MonotonicInstant) {
        if let due = [adoptionRetryAt, orphanLookAt].compactMap(\.self).min(), due <= now { collectChildren() }
        logErrors { try leftoverGroups.retry(now: now) }
        if let watchRetryAt, watchRetryAt <= now {
            self.watchRetryAt = nil
            for record in table.values where record.groupWatch == nil && !record.hasRunningMain {
                watchRest(of: record)
            }
        }
    }

    private func finishMain(of record: AttemptRecord, _ child: EndedChild) {
        guard completeStartup(of: record) else { return }
        // Notifications of the attempt come before its end, whichever of the two woke the loop.
        receiveNotifications(of: record)
        let exit = exit(of: record, child)
        record.phase = .exited(exit)
        // The signal may have been a kill of the whole group.
        if exit.status == .signal(Signals.kill) { withdrawGroup(of: record) }
        if removeTreeIfEmpty(of: record) { return finish(record, exit, isNews: true) }
        // `leave` is for processes that outlive an end of their own. A terminated tree is killed whole after its grace.
        if record.leftovers == .leave, record.killAt == nil {
            // Nothing thaws the processes that are left after the attempt is gone.
            setFrozen(record.attempt, false)
            if case .group(let group) = record.tree { watchLeftovers(in: group) }
            retireNotifySocket(of: record)
            return finish(record, exit, isNews: true, hasLeftovers: true)
        }
        reportUpdates()
        if !record.attempt.isHelper { staged.block(for: record.attempt) }
        report(.exited(record.attempt, exit, treeIsGone: false))
        watchRest(of: record)
        if record.leftovers == .kill { terminate(record, grace: record.grace) }
    }

    private func exit(of record: AttemptRecord, _ child: EndedChild) -> ProcessExit {
        var exit = ProcessExit(status: child.status, usage: child.usage, at: Clock.read())
        if case .group(let group) = record.tree { logErrors { try addUsage(of: group, to: &exit) } }
        return exit
    }

    /// Adds the usage of the whole tree: that of the main process includes only children that it has waited for.
    private func addUsage(of group: ControlGroup, to exit: inout ProcessExit) throws(SystemError) {
        if groups?.controllers.contains("cpu") == true {
            let time = try group.values(in: "cpu.stat")
            exit.usage.userMicroseconds = max(exit.usage.userMicroseconds, time["user_usec"] ?? 0)
            exit.usage.systemMicroseconds = max(exit.usage.systemMicroseconds, time["system_usec"] ?? 0)
        }
        if groups?.controllers.contains("memory") == true {
            exit.usage.maxResidentBytes = max(exit.usage.maxResidentBytes, try group.value("", in: "memory.peak") ?? 0)
            // If the tree succeeded, the OOM killer is not the cause of its end.
            guard exit.status != .code(0) else { return }
            exit.outOfMemory = try group.value("oom_kill", in: "memory.events") ?? 0 > 0
        }
    }

    /// Withdraws the group of an attempt from the pool. A group that was killed once must serve no other attempt: Linux
    /// (seen with 6.18) also kills a process that is born into it from outside, since it counts the kills of the group
    /// that the parent is in.
    func withdrawGroup(of record: AttemptRecord) {
        if let pooled = record.pooledGroup { groupPool.withdraw(pooled) }
        record.pooledGroup = nil
    }

    /// Returns whether the tree of an attempt is proven gone: its group was removed or went back to the pool, or none of
    /// our children belongs to it.
    func removeTreeIfEmpty(of record: AttemptRecord) -> Bool {
        switch record.tree {
        case .group(let group):
            do throws(SystemError) {
                if let pooled = record.pooledGroup {
                    // If anything is left in the group, it belongs to this attempt alone from now on.
                    record.pooledGroup = nil
                    if try groupPool.release(pooled) { return true }
                }
                return try group.remove()
            } catch {
                Program.writeError("opsd-runner: \(error)")
                return false
            }
        case .descendants: return adoptionRetryAt == nil && !descendants.hasOrphan(of: record.attempt)
        case .none: return true
        }
    }

    /// Ends an attempt. `isNews`: its exit has not been reported yet. `hasLeftovers`: processes of it live on.
    func finish(_ record: AttemptRecord, _ exit: ProcessExit, isNews: Bool, hasLeftovers: Bool = false) {
        // Messages that are left in the socket must not count for the next operation of the slot.
        if !receiveNotifications(of: record) { retireNotifySocket(of: record) }
        closeLogs(of: record.attempt, hasLeftovers: hasLeftovers)
        noteOutputs(of: record, hasLeftovers: hasLeftovers)
        releaseNotifySocket(record.notifySocket, slot: record.slot)
        record.notifySocket = nil
        releaseSlot(of: record, exit, isNews: isNews)
        record.phase = .gone(exit)
        record.killAt = nil
        record.groupWatch = nil
        if record.tree == .descendants { descendants.end(record.attempt, main: record.process.pid) }
        // Its last update comes before its end.
        reportUpdates()
        report(isNews ? .exited(record.attempt, exit, treeIsGone: true) : .gone(record.attempt))
    }

    /// Tells opsd if the attempt has left something in its output directory.
    private func noteOutputs(of record: AttemptRecord, hasLeftovers: Bool) {
        // A directory that cannot be examined now may have files in it.
        var isUsed = true
        logErrors { isUsed = try outputDirectories.release(record.attempt, hasLeftovers: hasLeftovers) }
        guard isUsed else { return }
        record.update.hasOutputs = true
        record.unreportedUpdate.hasOutputs = true
        updatedAttempts.insert(record.attempt)
    }

    /// Ends what is done for the logs of an attempt while it runs.
    func closeLogs(of attempt: AttemptID, hasLeftovers: Bool) {
        let now = Clock.read().monotonic
        // Before the log is trimmed, which is a write.
        logErrors { try logSampler.end(attempt) }
        logErrors { try logs.end(attempt, hasLeftovers: hasLeftovers, now: now) }
    }

    /// Waits for the end of the processes that outlive the main process.
    func watchRest(of record: AttemptRecord) {
        guard case .exited = record.phase, case .group(let group) = record.tree else { return }
        logErrors {
            record.groupWatch = try GroupWatch(group, in: loop) { [unowned self, unowned record] isLost in
                if isLost { watchLater(record) }
                finishIfGone(record)
            }
        }
        if record.groupWatch == nil { watchLater(record) }
        // Processes that ended before the watch began cause no event.
        finishIfGone(record)
    }

    private func watchLater(_ record: AttemptRecord) {
        record.groupWatch = nil
        watchRetryAt = watchRetryAt ?? Clock.read().monotonic + Runner.watchPause
    }

    private static let watchPause = TimeSpan.seconds(1)

    /// Ends an attempt whose main process has ended and whose tree is gone.
    func finishIfGone(_ record: AttemptRecord) {
        guard case .exited(let exit) = record.phase, removeTreeIfEmpty(of: record) else { return }
        finish(record, exit, isNews: false)
    }

    private func finishEmptyTrees() {
        for record in table.values where record.tree == .descendants { finishIfGone(record) }
    }
}

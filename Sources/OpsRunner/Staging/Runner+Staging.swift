internal import OpsExecutor
internal import OpsExecutorServer
internal import OpsSystem
internal import OpsSystemd

/// Starting staged launches.
extension Runner {
    /// Adds a staged launch. An attempt that it depends on may have ended while the command was on its way.
    func stage(_ request: LaunchRequest, after: [AttemptID]) {
        let rest = after.filter { !staged.hasSucceeded($0) }
        for attempt in rest where table[attempt]?.isAlive == false { staged.block(for: attempt) }
        staged.add(request, after: rest)
        startStagedLaunches()
    }

    /// Offers the slot of an attempt to staged launches if the attempt succeeded, undisturbed and with its whole tree;
    /// else starts nothing more until opsd has acknowledged the end.
    func releaseSlot(of record: AttemptRecord, _ exit: ProcessExit, isNews: Bool) {
        guard !record.attempt.isHelper else { return }
        let hasResult = record.update.result != nil || record.update.hasOutputs
        // An earlier program may not have passed on the slot. A result has to go through opsd to the dependents.
        if isNews, exit.status == .code(0), !exit.outOfMemory, record.killAt == nil, !record.isFrozen, record.slot >= 0,
            !hasResult || !staged.isDependency(record.attempt)
        {
            staged.addFreeSlot(record.slot, of: record.attempt)
            if !hasResult { staged.recordSuccess(of: record.attempt) }
        } else {
            staged.block(for: record.attempt)
        }
    }

    /// Starts staged launches in the slots that have become free. The reports go out at the end of the turn: the process
    /// is made first, and opsd reads them while it runs.
    func startStagedLaunches() {
        guard staged.canStart, let connection, connection.isGreeted, !connection.isClosed, shutdown == nil else {
            return
        }
        logErrors {
            while staged.canStart {
                guard try connection.acquireToken() else { return staged.removeAll() }
                guard let launch = staged.popNext() else { return }
                report(.stagedStarted(launch.attempt, SlotStart(slot: launch.slot, at: Clock.read())))
                self.launch(launch)
            }
        }
    }
}

internal import OpsExecutor
internal import OpsSystem
internal import OpsSystemd

/// Killing the processes of an earlier runner. They are not our children, so their end causes no event.
extension Runner {
    func killStaleTree(of attempt: AttemptID, socket: String, uid: UInt32?) {
        // An attempt of this runner is terminated as such.
        if let record = table[attempt] {
            if record.isAlive { terminate(record, grace: .zero) } else { report(.gone(attempt)) }
            return
        }
        staleTrees[attempt] = StaleTree(socket: socket, uid: uid, lookAt: Clock.read().monotonic)
    }

    /// Kills the stale trees that are due: by control group, and by environment and session in one pass over /proc.
    func killStaleTrees(now: MonotonicInstant) {
        if staleTrees.isEmpty { return }
        let due = staleTrees.filter { $0.value.lookAt <= now }
        if due.isEmpty { return }
        logErrors {
            let survivors = try Survivors(of: due, ours: Identity.pid, descendants.environments)
            let pooled = try groupPool.groupsOfEarlierRunners()
            for (attempt, tree) in due {
                for process in survivors[attempt] { try Signals.send(Signals.kill, to: process) }
                let isGroupGone = try killGroups(of: attempt, pooled[attempt] ?? [])
                if isGroupGone && survivors[attempt].isEmpty && !survivors.mayLackProcess(of: tree) {
                    staleTrees[attempt] = nil
                    report(.gone(attempt))
                } else {
                    var next = tree
                    next.lookAt = now + next.backoff.next()
                    staleTrees[attempt] = next
                }
            }
        }
        // Trees that were not reached because of an error are tried later.
        for (attempt, tree) in staleTrees where tree.lookAt <= now {
            staleTrees[attempt]?.lookAt = now + Backoff.longest
        }
    }

    /// Kills the groups of an attempt. `pooled`: groups of the pool that the attempt was the last to use.
    private func killGroups(of attempt: AttemptID, _ pooled: [ControlGroup]) throws(SystemError) -> Bool {
        guard let own = groups?.group(attempt.groupName) else { return true }
        var isGone = true
        for group in [own] + pooled where Files.exists(group.path) {
            if try group.remove() { continue }
            try group.kill()
            isGone = false
        }
        return isGone
    }
}

import OpsCore

/// Results that arrive too late: processes kept by `leftovers: leave` sent them after the end of the attempt. Messages
/// of the main process are reported with its end or before it, so they are never among these.
struct LastWords {
    private var exited: Set<AttemptID> = []
    private var decided: Set<AttemptID> = []
    private(set) var unheard: Set<AttemptID> = []

    /// - Parameter store: Its state before the turn of this event.
    mutating func heard(_ event: Event, _ store: FakeStore) {
        switch event {
        case .runnerConnected(let inventory):
            for (attempt, state) in inventory.entries {
                switch state {
                case .exited(let exit), .gone(let exit): heard(exit, of: attempt, store)
                default: break
                }
            }
            for (attempt, notice) in inventory.updates where leavesOthers(attempt.operation, store) {
                if notice.finished != nil { decided.insert(attempt) }
            }
        case .exited(let attempt, let exit, _): heard(exit, of: attempt, store)
        case .finish(let id, _, _, _):
            if leavesOthers(id, store), let running = store[id].running { decided.insert(running.attempt) }
        case .updated(let attempt, let notice):
            guard leavesOthers(attempt.operation, store) else { return }
            if notice.result != nil, isOver(attempt, store) { unheard.insert(attempt) }
            if notice.finished != nil { decided.insert(attempt) }
        default: break
        }
    }

    private mutating func heard(_ exit: ProcessExit, of attempt: AttemptID, _ store: FakeStore) {
        guard leavesOthers(attempt.operation, store) else { return }
        exited.insert(attempt)
        if case .code(let code) = exit.status, store[attempt.operation].policy.successCodes.contains(code) { return }
        decided.insert(attempt)
    }

    private func leavesOthers(_ id: OperationID, _ store: FakeStore) -> Bool {
        guard store.has(id) else { return false }
        return store[id].policy.completion == .notify && store[id].policy.leftovers == .leave
    }

    private func isOver(_ attempt: AttemptID, _ store: FakeStore) -> Bool {
        let record = store[attempt.operation]
        guard let running = record.running, running.attempt == attempt, !running.isOver else { return true }
        return (running.exit != nil || exited.contains(attempt))
            && (record.resolution != nil || decided.contains(attempt))
    }
}

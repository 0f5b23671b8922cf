internal import OpsCore
internal import OpsStore

extension RunnerLink {
    /// Marks processes kept by `leftovers: leave` as gone in the inventory: they are not tracked once their operation
    /// has ended. If opsd died before it acknowledged that end, the runner still reports them, and the scheduler, which
    /// no longer knows the attempt, would kill them.
    func markLeftProcessesGone(in inventory: inout Inventory) {
        guard let core = turns.core else { return }
        for case (let attempt, .exited(let exit)) in inventory.entries where !core.isExecuting(attempt) {
            if leavesProcesses(attempt) { inventory.entries[attempt] = .gone(exit) }
        }
    }

    /// Returns true if the operation's policy leaves the processes of an ended attempt running. Leftovers of a
    /// cancelled or abandoned operation are killed in any case.
    private func leavesProcesses(_ attempt: AttemptID) -> Bool {
        do throws(StoreError) {
            guard try history.policy(of: attempt.operation)?.leftovers == .leave else { return false }
            let ended = try history.attempts(of: attempt.operation).first { $0.number == attempt.number }
            return ended?.outcome == .succeeded || ended?.outcome == .failed
        } catch {
            log.error("\(error)")
            return false
        }
    }
}

internal import OpsCore
internal import OpsStore

extension Daemon {
    /// What an operation leaves behind by consent is alone from its end on. Where opsd died before it had told the runner
    /// of that end, the runner still answers for it: to the rules, which know the attempt no more, a stranger to end.
    func leaveAlone(_ inventory: inout Inventory) {
        guard let core else { return }
        for case (let attempt, .exited(let exit)) in inventory.entries where !core.isExecuting(attempt) {
            if wasLeft(attempt) { inventory.entries[attempt] = .gone(exit) }
        }
    }

    /// What was cancelled or given up on was to end, whatever its operation had consented to.
    private func wasLeft(_ attempt: AttemptID) -> Bool {
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

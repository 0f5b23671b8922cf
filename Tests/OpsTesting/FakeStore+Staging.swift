import OpsCore

extension FakeStore {
    /// Applies a change to staged launches.
    mutating func applyHand(_ change: Change, boot: String) throws(Violation) {
        switch change {
        case .staged(let attempt, let runner):
            let record = self[attempt.operation]
            try require(
                record.isWaiting && record.staged == nil && record.attempt + 1 == attempt.number, .lawfulSteps,
                "\(attempt) staged of \(record)")
            self[attempt.operation].staged = Record.StagedLaunch(attempt: attempt, runner: runner, boot: boot)
        case .unstaged(let attempt):
            try staged(attempt)
            self[attempt.operation].staged = nil
            guard self[attempt.operation].state == .executing else { return }
            let isUntouched =
                self[attempt.operation].running?.process == nil && self[attempt.operation].resolution == nil
            try require(isUntouched, .lawfulSteps, "\(attempt) withdrawn, which has begun")
            self[attempt.operation].state = .ready
            self[attempt.operation].attempt -= 1
            self[attempt.operation].attemptsInRun -= 1
            self[attempt.operation].running = nil
        case .assumedStarted(let attempt, let run, let slot, let at):
            let staged = try staged(attempt)
            let id = attempt.operation
            try require(
                self[id].isWaiting && self[id].run == run, .lawfulSteps, "\(attempt) presumed of \(self[id])")
            self[id].state = .executing
            self[id].attempt = attempt.number
            self[id].attemptsInRun += 1
            self[id].running = Record.Running(
                attempt: attempt, slot: slot, runner: staged.runner, boot: staged.boot, startedAt: at)
        case .startConfirmed(let attempt, let begun):
            try staged(attempt)
            try require(
                self[attempt.operation].running?.attempt == attempt, .lawfulSteps, "\(attempt) placed, not executing")
            self[attempt.operation].staged = nil
            self[attempt.operation].running?.slot = begun.slot
            self[attempt.operation].running?.startedAt = begun.at
            self[attempt.operation].readyAt = min(self[attempt.operation].readyAt, begun.at.wall)
            self[attempt.operation].hasStarted = true
            settleEdges(on: attempt.operation)
        default: break
        }
    }

    @discardableResult
    private func staged(_ attempt: AttemptID) throws(Violation) -> Record.StagedLaunch {
        guard has(attempt.operation), let staged = self[attempt.operation].staged, staged.attempt == attempt
        else {
            throw Violation(.lawfulSteps, "\(attempt) was not staged")
        }
        return staged
    }
}

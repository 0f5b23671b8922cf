import OpsCore

extension FakeStore {
    /// What is foretold of the starts that the runner makes by itself, and what becomes of it.
    mutating func applyHand(_ change: Change, boot: String) throws(Violation) {
        switch change {
        case .foretold(let attempt, let runner):
            let record = self[attempt.operation]
            try require(
                record.isWaiting && record.foretold == nil && record.attempt + 1 == attempt.number, .lawfulSteps,
                "\(attempt) foretold of \(record)")
            self[attempt.operation].foretold = Record.Foretold(attempt: attempt, runner: runner, boot: boot)
        case .withdrawn(let attempt):
            try foretold(attempt)
            self[attempt.operation].foretold = nil
            guard self[attempt.operation].state == .executing else { return }
            let isUntouched = self[attempt.operation].running?.process == nil && self[attempt.operation].ending == nil
            try require(isUntouched, .lawfulSteps, "\(attempt) withdrawn, which has begun")
            self[attempt.operation].state = .ready
            self[attempt.operation].attempt -= 1
            self[attempt.operation].attemptsInRun -= 1
            self[attempt.operation].running = nil
        case .presumed(let attempt, let run, let slot, let at):
            let foretold = try foretold(attempt)
            let id = attempt.operation
            try require(
                self[id].isWaiting && self[id].run == run, .lawfulSteps, "\(attempt) presumed of \(self[id])")
            self[id].state = .executing
            self[id].attempt = attempt.number
            self[id].attemptsInRun += 1
            self[id].running = Record.Running(
                attempt: attempt, slot: slot, runner: foretold.runner, boot: foretold.boot, startedAt: at)
        case .placed(let attempt, let begun):
            try foretold(attempt)
            try require(
                self[attempt.operation].running?.attempt == attempt, .lawfulSteps, "\(attempt) placed, not executing")
            self[attempt.operation].foretold = nil
            self[attempt.operation].running?.slot = begun.slot
            self[attempt.operation].running?.startedAt = begun.at
            self[attempt.operation].hasStarted = true
            settleEdges(on: attempt.operation)
        default: break
        }
    }

    @discardableResult
    private func foretold(_ attempt: AttemptID) throws(Violation) -> Record.Foretold {
        guard has(attempt.operation), let foretold = self[attempt.operation].foretold, foretold.attempt == attempt
        else {
            throw Violation(.lawfulSteps, "\(attempt) was not foretold")
        }
        return foretold
    }
}

internal import OpsCore
internal import OpsRunner

extension Daemon {
    /// Before anything is put to the rules that is no word of the runner, and before they decide more than the hand
    /// foresees: what has not been begun of it will not be, and what has has been told.
    func takeHandBack() {
        guard longTurn == nil, (core?.stagedCount ?? 0) > 0 else { return }
        runner.takeHandBack()
        handIsBack(taken: 0)
        runner.hearWhatWasPutOff()
    }

    /// `taken`: so many were begun of which nobody has told.
    func handIsBack(taken: Int) {
        guard (core?.stagedCount ?? 0) > 0 else { return }
        if longTurn != nil { return keepForLater(.stagingRevoked(started: taken)) }
        _ = core?.handle(.stagingRevoked(started: taken), at: .now())
        turn.hasEvents = true
        wakeUp()
    }
}

extension RunnerReport {
    /// Told of an attempt of an operation, and of nothing else.
    var isWordOfAttempt: Bool {
        switch self {
        case .hello, .pong: false
        case .launched(let attempt, _), .failed(let attempt, _, _), .exited(let attempt, _, _), .gone(let attempt),
            .updated(let attempt, _), .stagedStarted(let attempt, _, _):
            !attempt.isHelper
        case .stagingRevoked: true
        }
    }
}

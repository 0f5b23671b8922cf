internal import OpsCore
internal import OpsExecutor

extension Turns {
    /// Revokes staged launches before the scheduler handles an event that is no report of an attempt, or decides more
    /// than the staging plan foresees. The runner has started those that it has reported, and starts no other.
    func revokeStaged() {
        guard longTurn == nil, (core?.stagedCount ?? 0) > 0 else { return }
        host.revokeStagedLaunches()
        stagingRevoked(started: 0)
        host.handleDeferredReports()
    }

    /// Lets the scheduler handle a revocation. `started`: the number of launches that may have started without a
    /// report.
    func stagingRevoked(started: Int) {
        guard (core?.stagedCount ?? 0) > 0 else { return }
        if longTurn != nil { return keepForLater(.stagingRevoked(started: started)) }
        _ = inform(.stagingRevoked(started: started))
        turn.hasEvents = true
        wakeUp()
    }
}

extension ExecutorReport {
    /// True for a report of one attempt of an operation, or of revoked launches.
    var concernsAttempt: Bool {
        switch self {
        case .hello, .pong: false
        case .launched(let attempt, _), .failed(let attempt, _, _), .exited(let attempt, _, _), .gone(let attempt),
            .updated(let attempt, _), .stagedStarted(let attempt, _), .accepted(let attempt, _),
            .refused(let attempt, _), .ended(let attempt, _):
            !attempt.isHelper
        case .stagingRevoked: true
        }
    }
}

/// Staged launches are what would start next. Their intents are on disk, and the runner starts the first that may go the
/// moment an attempt succeeds; so no slot waits for a commit.
///
/// Some staged operations are ready and wait for a slot of the full pool; others wait for the success of executing ones.
/// They are always what would start next, in order, and no report of the runner alone can change that: everything that
/// executes is plain, and whatever else its success unblocks comes after the last of them. Before anything else is
/// handled they are revoked, which needs no answer of the runner: so no rule ever meets a staged operation.
///
/// A staged operation stays `ready`, out of its lane, or `pending`. `Scheduler+StagingPlan` chooses them.
extension Scheduler {
    /// Number of launches that the runner has been given, or is about to be, and has not reported.
    public var handCount: Int { staging.count }

    public func isInHand(_ attempt: AttemptID) -> Bool {
        guard let place = table.index(of: attempt.operation) else { return false }
        return table[place].traits.contains(.inHand) && table[place].attempt + 1 == attempt.number
    }

    /// Whether the runner has launches for a while: its reports may be gathered for one turn.
    public var handSuffices: Bool { staging.count >= Limits.hand / 2 && capacity.isExactlyFull }

    /// Whether a turn that ends now would decide more than the staged launches allow: then they are revoked first.
    public func mustRecall(at now: Moment) -> Bool {
        guard !staging.isEmpty else { return false }
        if staging.mustRevoke(at: now) { return true }
        // The runner passes on the slots that it sees become free; other starts are for a turn.
        if capacity.hasFreeSlot,
            staging.operations.contains(where: { table[$0].state == .ready }) || lanes.hasProcess
        {
            return true
        }
        return timers.isDue(at: now)
    }

    // MARK: Starts of the runner

    /// Records the start of a staged launch: a start like any other, but for the launch.
    mutating func taken(_ attempt: AttemptID, at begun: Place) {
        guard let place = table.index(of: attempt.operation) else { return }
        if let index = presumedExecution(of: place), executions[index].attempt == attempt.number {
            return settlePresumption(index, begun)
        }
        guard isInHand(attempt), table[place].state == .ready else { return }
        staging.start(place, until: now.monotonic + Limits.shortRun)
        table[place].traits.remove(.inHand)
        _ = begin(place, holding: [], slot: capacity.occupy(begun.slot), at: begun.at)
    }

    // MARK: Revoking

    /// Unstages an operation whose end is decided: its dependency did not succeed.
    mutating func discardStaged(_ place: OperationIndex) {
        guard table[place].traits.contains(.inHand), staging.discard(place) else { return }
        table[place].traits.remove(.inHand)
        tell(.withdrawn(AttemptID(table[place].operationID, table[place].attempt + 1)))
    }

    /// Revokes what is staged. `started`: the number of launches that the runner has started without reporting them;
    /// each could start only when the ready ones before it had. Nil: any of them may have started, or may yet.
    mutating func revokeStaged(started: Int?) {
        guard !staging.isEmpty else { return }
        scratch.sawOnlyRunnerReports = false
        order(.recall)
        var unreported = started ?? .max
        for place in staging.revoke() {
            table[place].traits.remove(.inHand)
            if unreported > 0 {
                if table[place].state == .ready { unreported -= 1 }
                presume(place, runner: capacity.runner ?? "", boot: "")
            } else {
                tell(.withdrawn(AttemptID(table[place].operationID, table[place].attempt + 1)))
                enterLane(place)
            }
        }
    }

    /// Revokes what the caller of `handle` or `endTurn` has left staged. Nobody has taken the launches back from the
    /// runner, so each counts as started until the runner confirms the revocation.
    mutating func revokeUnasked() { revokeStaged(started: nil) }

    /// Returns to the lanes what the runner has not started: it reports a start before it confirms a revocation.
    mutating func revocationConfirmed() {
        staging.confirmRevocation()
        guard let runner = capacity.runner else { return }
        let unheard = executions.indices.filter {
            executions[$0].isPresumed && executions[$0].runner == runner && !executions[$0].isConfirmed
        }
        for index in unheard { settleUnstarted(index) }
    }

    mutating func runnerLost() {
        capacity.runner = nil
        // The next runner holds none of them.
        output.withdrawAll(.recall)
        staging.disconnect()
    }
}

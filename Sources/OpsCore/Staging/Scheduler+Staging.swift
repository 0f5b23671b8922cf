/// Staged launches are those of the operations that would start next. Their intents are on disk, and the runner starts
/// the first that may start as soon as an attempt succeeds. So no slot waits for a commit.
///
/// Some staged operations are ready and wait for a slot of the full pool; others wait for the success of executing
/// ones. They are always the next operations in order, and no report of the runner can change that: every executing
/// operation is plain, and all others that its success unblocks come after the last staged one. Before anything else is
/// handled they are revoked, which needs no answer of the runner: so no rule ever meets a staged operation.
///
/// A staged operation stays `ready`, out of its lane, or `pending`. `Scheduler+StagingPlan` chooses them.
extension Scheduler {
    /// Number of launches that the runner has been given, or is about to be, and has not reported.
    public var stagedCount: Int { staging.count }

    public func isStaged(_ attempt: AttemptID) -> Bool {
        guard let operation = table.index(of: attempt.operation) else { return false }
        return table[operation].traits.contains(.staged) && table[operation].attempt + 1 == attempt.number
    }

    /// True if the runner has launches for a while: its reports may be gathered for one turn.
    public var hasEnoughStaged: Bool { staging.count >= Limits.stagedLaunches / 2 && capacity.isExactlyFull }

    /// Returns whether a turn that ends now would decide more than the staged launches allow: then they are revoked first.
    public func mustRevokeStaged(at now: Moment) -> Bool {
        guard !staging.isEmpty else { return false }
        if staging.mustRevoke(at: now) { return true }
        // The runner fills only slots that a success frees. All other starts need a turn.
        if capacity.hasFreeSlot,
            staging.operations.contains(where: { table[$0].state == .ready }) || lanes.hasProcess
        {
            return true
        }
        if let instant = nextRatedStart, instant <= now.monotonic { return true }
        return timers.isDue(at: now)
    }

    // MARK: Starts of the runner

    /// Records the start of a staged launch, which the runner has made by itself.
    mutating func stagedStarted(_ attempt: AttemptID, at begun: SlotStart) {
        guard let operation = table.index(of: attempt.operation) else { return }
        if let index = registry.assumedExecution(of: operation), executions[index].attempt == attempt.number {
            confirmStart(index, begun)
            return confirm(index)
        }
        guard isStaged(attempt), table[operation].state == .ready else { return }
        staging.start(operation, until: now.monotonic + Limits.shortRun)
        table[operation].traits.remove(.staged)
        _ = begin(operation, holding: [], slot: capacity.occupy(begun.slot), at: begun.at)
    }

    // MARK: Revoking

    /// Unstages an operation whose end is decided: its dependency did not succeed.
    mutating func discardStaged(_ operation: OperationIndex) {
        guard table[operation].traits.contains(.staged), staging.discard(operation) else { return }
        table[operation].traits.remove(.staged)
        record(.unstaged(AttemptID(table[operation].operationID, table[operation].attempt + 1)))
    }

    /// Revokes all staged launches. `started`: the number of launches that the runner has started without reporting
    /// them; each could start only after the ready ones before it. Nil: any of them may have started, or may still
    /// start.
    mutating func revokeStaged(started: Int?) {
        guard !staging.isEmpty else { return }
        scratch.sawOnlyRunnerReports = false
        emit(.revokeStaged)
        var unreported = started ?? .max
        for operation in staging.revoke() {
            table[operation].traits.remove(.staged)
            if unreported > 0 {
                if table[operation].state == .ready { unreported -= 1 }
                assumeStarted(operation, runner: capacity.runner ?? "", boot: "")
            } else {
                record(.unstaged(AttemptID(table[operation].operationID, table[operation].attempt + 1)))
                enterLane(operation)
            }
        }
    }

    /// Revokes the launches that the caller of `handle` or `endTurn` has left staged. The runner may start them until
    /// it confirms the revocation, so each of them counts as started.
    mutating func revokeStagedUnconfirmed() { revokeStaged(started: nil) }

    /// Returns the operations that the runner has not started to their lanes. The runner reports each start before it
    /// confirms a revocation.
    mutating func revocationConfirmed() {
        staging.confirmRevocation()
        for index in unconfirmedStarts { unstageOrLaunch(index) }
    }

    /// True if starts are assumed that the connected runner has not reported: it undoes them when it confirms the
    /// revocation.
    public var hasUnconfirmedStarts: Bool { !unconfirmedStarts.isEmpty }

    private var unconfirmedStarts: [ExecutionIndex] {
        guard let runner = capacity.runner else { return [] }
        return executions.indices.filter {
            executions[$0].isAssumed && executions[$0].runner == runner && !executions[$0].isConfirmed
        }
    }

    mutating func runnerLost() {
        capacity.runner = nil
        // The next runner holds none of them.
        output.withdrawAll(.revokeStaged)
        staging.disconnect()
    }
}

internal import OpsExecutor
internal import OpsSystem

/// Launches that opsd has stored and sent in advance. When an attempt succeeds, the runner starts the first staged launch
/// that waits for no other attempt, in the slot that became free.
///
/// Each staged launch stands for one token of a semaphore that opsd shares. opsd revokes staged launches by acquiring
/// their tokens, so a launch in this list is valid only if the runner acquires a token for it.
struct StagedLaunches {
    private struct Launch {
        let request: LaunchRequest
        /// Attempts that have to succeed first and have not yet.
        var after: [AttemptID]
    }

    private var launches: [Launch] = []
    /// Attempts that ended otherwise than by plain success and whose end opsd has not acknowledged. Nothing starts while
    /// there are any: opsd decides what comes next.
    private var blockers: Set<AttemptID> = []
    /// Attempts that have succeeded and whose end opsd has not acknowledged: a launch that depends on one of them may
    /// still arrive.
    private var succeeded: Set<AttemptID> = []
    /// Slots of those attempts that no other attempt has yet.
    private var freeSlots: [(attempt: AttemptID, slot: Int32)] = []
    /// True if a launch waits for an attempt whose end opsd has stored, so that it can never start. Until opsd revokes it,
    /// no later launch starts before it.
    private var isStuck = false

    mutating func add(_ launch: LaunchRequest, after: [AttemptID]) {
        launches.append(Launch(request: launch, after: after))
    }

    func hasSucceeded(_ attempt: AttemptID) -> Bool { succeeded.contains(attempt) }

    /// Returns whether a staged launch depends on an attempt.
    func isDependency(_ attempt: AttemptID) -> Bool { launches.contains { $0.after.contains(attempt) } }

    /// Starts nothing more until opsd acknowledges the end of an attempt.
    mutating func block(for attempt: AttemptID) { blockers.insert(attempt) }

    /// Notes that opsd has stored the end of an attempt. Launches that it stages from now on take that end into account.
    mutating func acknowledge(_ attempt: AttemptID) {
        if isDependency(attempt) { isStuck = true }
        blockers.remove(attempt)
        succeeded.remove(attempt)
        freeSlots.removeAll { $0.attempt == attempt }
    }

    /// Removes all staged launches.
    mutating func removeAll() {
        launches.removeAll(keepingCapacity: launches.count < 64)
        isStuck = false
    }

    /// Forgets everything, for a daemon that gets a full inventory.
    mutating func reset() { self = StagedLaunches() }

    /// Offers the slot of an attempt that has succeeded to staged launches.
    mutating func addFreeSlot(_ slot: Int32, of attempt: AttemptID) { freeSlots.append((attempt: attempt, slot: slot)) }

    mutating func recordSuccess(of attempt: AttemptID) {
        succeeded.insert(attempt)
        for index in launches.indices where !launches[index].after.isEmpty {
            launches[index].after.removeAll { $0 == attempt }
        }
    }

    /// Withdraws a slot that opsd has given to another attempt.
    mutating func removeFreeSlot(_ slot: Int32) { freeSlots.removeAll { $0.slot == slot } }

    /// True if a staged launch and a slot for it are ready.
    var canStart: Bool {
        !freeSlots.isEmpty && blockers.isEmpty && !isStuck && launches.contains(where: \.after.isEmpty)
    }

    /// Removes and returns the launch that starts now, with its slot; `nil` unless `canStart`.
    mutating func popNext() -> LaunchRequest? {
        guard canStart, let index = launches.firstIndex(where: \.after.isEmpty) else { return nil }
        var request = launches.remove(at: index).request
        request.slot = freeSlots.removeFirst().slot
        return request
    }
}

/// Fair queues: among operations of equal effective priority those of the submitter with the least slot time start first.
///
/// The turn of a fair queue comes when that of its first operation comes, as in any other queue. Then, of the
/// operations that may start, one of the submitter with the least slot time starts instead. So fairness within a queue
/// changes nothing between queues.
extension Scheduler {
    /// Returns the lane to consider instead of the best one; the best one stays a candidate.
    mutating func fairest(insteadOf entry: LaneEntry) -> LaneEntry {
        let key = lanes[entry.lane].key
        guard let account = key.account, entry.key == lanes[entry.lane].top,
            let first = lanes[entry.lane].members.first, obstacle(to: first.operation, in: entry.lane) == nil
        else { return entry }
        var best = (used: slotTimes.used(account, at: now.monotonic), key: entry.key)
        var chosen = entry.lane
        for lane in lanes.ofFairQueue(key.queue) where lane != entry.lane {
            let top = lanes[lane].top
            guard lanes[lane].mayBeChosen, top != .max,
                OperationRow.effective(ofKey: top) == OperationRow.effective(ofKey: entry.key),
                capacity.hasFreeSlot || !lanes[lane].key.needsSlot, let other = lanes[lane].key.account
            else { continue }
            let used = slotTimes.used(other, at: now.monotonic)
            guard (used, top) < best, let first = lanes[lane].members.first,
                obstacle(to: first.operation, in: lane) == nil
            else { continue }
            (best, chosen) = ((used, top), lane)
        }
        guard chosen != entry.lane else { return entry }
        makeCandidate(entry.lane)
        unpark(chosen)
        return lanes.choose(chosen)
    }

    /// Returns the account of the submitter of an operation; nil for a group, and in a queue that is not fair.
    mutating func account(of operation: OperationIndex) -> AccountIndex? {
        let row = table[operation]
        guard queues[row.queue].isFair, !row.isGroup else { return nil }
        return slotTimes.account(row.queue, submitter(of: operation), at: now.monotonic)
    }

    /// Returns the submitter of an operation; nil: a privileged user.
    private func submitter(of operation: OperationIndex) -> UInt32? {
        table[operation].partition.map { partitions[$0].key.user }
    }

    /// Counts a process that starts or ends in a fair queue.
    mutating func countSlotTime(_ operation: OperationIndex, _ step: Int32) {
        guard let account = account(of: operation) else { return }
        let used = slotTimes.count(account, step, at: now.monotonic)
        let queue = queues[table[operation].queue].name
        record(.slotTimeUsed(queue: queue, user: submitter(of: operation) ?? 0, used: used, at: now.wall))
    }

    /// Counts a process that executed when opsd ended.
    mutating func resumeSlotTime(of operation: OperationIndex) {
        if let account = account(of: operation) { slotTimes.resume(account) }
    }

    /// Restores the slot time of all fair queues. Only the wall clock says how long opsd was away.
    mutating func restore(_ slotTime: [Snapshot.SlotTime]) {
        // A difference does not overflow, whatever the clock was set to.
        let latest = WallInstant(nanoseconds: .max / 2)
        for stored in slotTime {
            guard let queue = queues.find(stored.queue), queues[queue].isFair else { continue }
            let user = registry.privilegedUsers.contains(stored.user) ? nil : stored.user
            slotTimes.restore(
                queue, user, used: stored.used, at: now.monotonic - max(.zero, min(now.wall, latest) - stored.at))
        }
    }

    /// Makes a queue fair, or not: its operations enter other lanes, and slot time counts from now on.
    mutating func setFairness(of queue: QueueIndex, _ isFair: Bool) {
        guard queues[queue].isFair != isFair else { return }
        let members = table.indices.filter { table[$0].queue == queue && table[$0].lane != nil && !table[$0].isGroup }
        for operation in members { leaveLane(operation) }
        queues[queue].isFair = isFair
        record(.queueFairnessSet(queues[queue].name, isFair: isFair))
        if isFair {
            for index in executions.indices where executions[index].countsForLimits {
                let operation = executions[index].operation
                if table[operation].queue == queue { countSlotTime(operation, 1) }
            }
        } else {
            slotTimes.forget(queue)
        }
        for operation in members { enterLane(operation) }
    }

    /// Returns whether one of two ready operations starts before the other, as far as is known now.
    func precedes(_ other: OperationIndex, _ operation: OperationIndex) -> Bool {
        let (a, b) = (table[other], table[operation])
        guard a.queue == b.queue, a.effective == b.effective, queues[a.queue].isFair, !a.isGroup, !b.isGroup else {
            return a.key < b.key
        }
        return (slotTime(of: other), a.key) < (slotTime(of: operation), b.key)
    }

    private func slotTime(of operation: OperationIndex) -> TimeSpan {
        guard let account = slotTimes.find(table[operation].queue, submitter(of: operation)) else { return .zero }
        return slotTimes.reading(account, at: now.monotonic)
    }

    /// Returns the number of processes of each user in each fair queue.
    func processesInFairQueues() -> [SlotTimes.Key: Int32] {
        var running: [SlotTimes.Key: Int32] = [:]
        for index in executions.indices where executions[index].countsForLimits {
            let operation = executions[index].operation
            guard queues[table[operation].queue].isFair, !table[operation].isGroup else { continue }
            running[SlotTimes.Key(queue: table[operation].queue, user: submitter(of: operation)), default: 0] += 1
        }
        return running
    }
}

extension Lane {
    /// True if its first member lacks only its turn or a resource.
    fileprivate var mayBeChosen: Bool {
        switch status {
        case .candidate: true
        case .parked(let resource): resource != .evaluations && resource != .yielding
        case .idle, .evaluating: false
        }
    }
}

/// Conditions of an operation are evaluated once everything else permits its start. Meanwhile it holds no slot and no
/// category.
extension Scheduler {
    /// Returns whether the conditions of the only member of a lane are known to be true. If they are not known, their
    /// evaluation starts, or the lane waits for its turn.
    mutating func conditionsHold(evaluatingIfNeeded operation: OperationIndex, in lane: LaneIndex) -> Bool {
        guard table[operation].traits.contains(.hasConditions) else { return true }
        if let inquiry = conditions[operation] {
            if let until = inquiry.validUntil, until >= now.monotonic { return true }
            if inquiry.isEvaluating || inquiry.nextEvaluationAt != nil {
                lanes[lane].status = .evaluating
                return false
            }
        }
        // While its conditions are evaluated, its position is not reserved.
        reservations.requestReview()
        let user = evaluationUser(of: operation)
        guard conditions.isTurn(of: user) else {
            park(lane, at: .evaluations)
            // A free evaluation is for the user whose turn it is.
            wake(.evaluations)
            return false
        }
        let token = conditions.start(operation, of: user)
        lanes[lane].status = .evaluating
        emit(.evaluate(table[operation].operationID, token: token))
        return false
    }

    /// Returns the user as which conditions are evaluated; nil: a privileged one.
    func evaluationUser(of operation: OperationIndex) -> ConditionQueue.User {
        table[operation].partition.map { partitions[$0].key.user }
    }

    /// Removes and returns the lane whose conditions are evaluated next, if an evaluation is free.
    mutating func popNextEvaluation() -> LaneIndex? {
        while let user = conditions.next {
            if let lane = lanes.popBest(from: &conditions.parked[user, default: LaneHeap()], at: .evaluations) {
                return lane
            }
            // All its lanes have left.
            conditions.leaveLine(user)
        }
        return nil
    }

    mutating func conditionsAnswered(_ id: OperationID, token: Int64, _ answer: ConditionAnswer) {
        guard let operation = unfinished(id), let list = policy(of: operation)?.conditions, !list.isEmpty,
            conditions.end(operation, token: token)
        else { return }
        switch answer {
        case .allTrue:
            let until = now.monotonic + max(list.map(\.every).min() ?? .zero, Limits.evaluationPause)
            conditions.setValid(operation, until: until)
            if let expiry = conditions[operation]?.expiresAt { timers.set(.recheck, of: id.rawValue, at: expiry) }
            if let lane = lane(of: operation) { makeCandidate(lane) }
        case .isFalse(let index, let detail), .isUnknown(let index, let detail):
            publish(.conditionFalse, operation, detail: detail)
            conditions.setFalse(operation, index: index)
            let condition = list[min(Int(index), list.count - 1)]
            handleFalseCondition(
                of: operation, index: index, detail: detail, condition, answer.consequence(for: condition))
        }
        wake(.evaluations)
    }

    private mutating func handleFalseCondition(
        of operation: OperationIndex, index: Int32, detail: String, _ condition: ConditionPolicy,
        _ consequence: ConditionPolicy.Otherwise
    ) {
        let cause = Cause.conditionFalse(index: index, detail: detail)
        let id = table[operation].operationID
        switch consequence {
        case .succeed:
            let below = Resolution(outcome: .notNeeded, cause: .groupSkipped(id))
            decideTree(operation, Resolution(outcome: .succeeded, cause: .upToDate), below: below)
        case .fail:
            let below = Resolution(outcome: .skipped, cause: .groupSkipped(id))
            decideTree(operation, Resolution(outcome: .failed, cause: cause), below: below)
        case .skip: skip(operation, Skip(cause: cause, outcome: .notNeeded))
        case .wait:
            let again = now.monotonic + max(condition.every, Limits.evaluationPause)
            conditions.repeatEvaluation(of: operation, at: again)
            timers.set(.recheck, of: id.rawValue, at: again)
        }
    }

    /// Lets the conditions of an operation be evaluated again when its turn comes. Those of the first one that waits for a slot
    /// or a category are evaluated at once: if they were evaluated only when there is room, later operations would take it.
    mutating func recheck(_ operation: OperationIndex) {
        _ = conditions.remove(operation)
        guard let lane = lane(of: operation) else { return }
        makeCandidate(lane)
        guard mayStart, isNext(operation, in: lane) else { return }
        // No earlier entry counts from now on.
        _ = lanes.choose(lane)
        let resource = lanes[lane].wokenBy
        lanes[lane].wokenBy = nil
        _ = conditionsHold(evaluatingIfNeeded: operation, in: lane)
        if let resource { wake(resource) }
    }

    /// Returns whether a lane waits for nothing but a category or a slot, and no other lane gets it first.
    private mutating func isNext(_ operation: OperationIndex, in lane: LaneIndex) -> Bool {
        switch obstacle(to: operation, in: lane) {
        case .category(let category): categories[category].lanes.entries.first?.lane == lane
        case nil: lanes[lane].key.needsSlot && !capacity.hasFreeSlot && lanes.firstProcess()?.lane == lane
        default: false
        }
    }

    /// Stops the evaluation for an operation that leaves its lane, and forgets the last result.
    mutating func stopEvaluating(_ operation: OperationIndex) {
        guard table[operation].traits.contains(.hasConditions), let inquiry = conditions.remove(operation) else {
            return
        }
        if inquiry.expiresAt != nil { noteStaleTimer(.recheck) }
        guard inquiry.isEvaluating else { return }
        let id = table[operation].operationID
        if !output.withdraw(.evaluate(id, token: inquiry.token)) { emit(.stopEvaluating(id)) }
        wake(.evaluations)
    }

    /// Stops the evaluations for operations whose queue is suspended, or for all operations.
    mutating func stopEvaluating(where isSuspended: (OperationRow) -> Bool) {
        for operation in conditions.evaluated where isSuspended(table[operation]) {
            stopEvaluating(operation)
            if let lane = lane(of: operation) { makeCandidate(lane) }
        }
    }
}

extension ConditionAnswer {
    /// Returns the consequence of a result that is not true. An unknown one fails the operation, unless it may wait.
    func consequence(for condition: ConditionPolicy) -> ConditionPolicy.Otherwise {
        if case .isUnknown = self, condition.otherwise != .wait { return .fail }
        return condition.otherwise
    }
}

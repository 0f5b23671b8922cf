/// Conditions are asked once everything else allows the start; nothing is taken meanwhile.
extension Scheduler {
    /// Whether the conditions of a lane's one member are known to be true. Asks them when they are not.
    mutating func conditionsHold(evaluatingIfNeeded place: OperationIndex, in lane: LaneIndex) -> Bool {
        guard table[place].traits.contains(.hasConditions) else { return true }
        if let inquiry = conditions[place] {
            if let until = inquiry.standsUntil, until >= now.monotonic { return true }
            if inquiry.isAsking || inquiry.askAgainAt != nil {
                lanes[lane].status = .evaluating
                return false
            }
        }
        // While it is being asked it keeps no place from others.
        reservations.doubt()
        let user = evaluationUser(of: place)
        guard conditions.isTurn(of: user) else {
            park(lane, at: .evaluations)
            // The user whose turn it is, if one is free.
            wake(.evaluations)
            return false
        }
        let token = conditions.ask(place, of: user)
        lanes[lane].status = .evaluating
        order(.evaluate(table[place].operationID, token: token))
        return false
    }

    /// The user for whom conditions are evaluated; nil: a privileged one.
    func evaluationUser(of place: OperationIndex) -> ConditionQueue.User {
        table[place].partition.map { partitions[$0].key.user }
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
        guard let place = unfinished(id), let list = policy(of: place)?.conditions, !list.isEmpty,
            conditions.answer(place, token: token)
        else { return }
        switch answer {
        case .allTrue:
            conditions.hold(place, until: now.monotonic + (list.map(\.every).min() ?? 0))
            if let lane = table[place].lane { makeCandidate(lane) }
        case .isFalse(let index, let detail):
            report(.conditionFalse, place, detail: detail)
            conditions.noteFalse(place, index: index)
            handleFalseCondition(place, index, detail, list[min(Int(index), list.count - 1)])
        }
        wake(.evaluations)
    }

    private mutating func handleFalseCondition(
        _ place: OperationIndex, _ index: Int32, _ detail: String, _ condition: ConditionPolicy
    ) {
        let cause = Cause.conditionFalse(index: index, detail: detail)
        let id = table[place].operationID
        switch condition.otherwise {
        case .fail:
            let below = Ended(outcome: .skipped, cause: .groupSkipped(id))
            decideTree(place, Ended(outcome: .failed, cause: cause), below: below)
        case .skip:
            let below = Ended(outcome: .skipped, cause: .groupSkipped(id))
            decideTree(place, Ended(outcome: .skipped, cause: cause), below: below)
        case .wait:
            let again = now.monotonic + max(condition.every, 1)
            conditions.rest(place, until: again)
            timers.set(.recheck, of: id.rawValue, at: again)
        }
    }

    /// It has rested long enough: asked again when its turn comes.
    mutating func recheck(_ place: OperationIndex) {
        _ = conditions.remove(place)
        if let lane = table[place].lane { makeCandidate(lane) }
    }

    /// It leaves its lane: an answer would say nothing any more, and a true one stands no longer.
    mutating func stopAsking(_ place: OperationIndex) {
        guard table[place].traits.contains(.hasConditions), let inquiry = conditions.remove(place) else {
            return
        }
        if inquiry.askAgainAt != nil { noteStaleTimer(.recheck) }
        guard inquiry.isAsking else { return }
        order(.stopEvaluating(table[place].operationID))
        wake(.evaluations)
    }

    /// Nothing is asked of what is suspended with its queue or with all.
    mutating func stopAsking(where isSuspended: (OperationRow) -> Bool) {
        for place in conditions.asking where isSuspended(table[place]) {
            stopAsking(place)
            if let lane = table[place].lane { makeCandidate(lane) }
        }
    }
}

/// Conditions are asked once everything else allows the start; nothing is taken meanwhile.
extension Scheduler {
    /// Whether the conditions of a lane's one member are known to be true. Asks them when they are not.
    mutating func isAsked(_ place: OperationIndex, in lane: LaneIndex) -> Bool {
        guard table[place].traits.contains(.hasConditions) else { return true }
        if let inquiry = inquiries[place] {
            if let until = inquiry.standsUntil, until >= now.monotonic { return true }
            if inquiry.isAsking || inquiry.askAgainAt != nil {
                lanes[lane].status = .evaluating
                return false
            }
        }
        // While it is being asked it keeps no place from others.
        if reservations > 0 { reservationsInDoubt = true }
        guard evaluating < Limits.evaluationsAtOnce else {
            park(lane, at: .evaluations)
            return false
        }
        lastToken += 1
        evaluating += 1
        inquiries[place] = Inquiry(token: lastToken, isAsking: true)
        lanes[lane].status = .evaluating
        order(.evaluate(table[place].operationID, token: lastToken))
        return false
    }

    mutating func conditionsAnswered(_ id: OperationID, token: Int64, _ answer: ConditionAnswer) {
        guard let place = unfinished(id), var inquiry = inquiries[place], inquiry.token == token, inquiry.isAsking,
            let conditions = policy(of: place)?.conditions, !conditions.isEmpty
        else { return }
        evaluating -= 1
        inquiry.isAsking = false
        switch answer {
        case .allTrue:
            inquiry.standsUntil = now.monotonic + (conditions.map(\.every).min() ?? 0)
            inquiries[place] = inquiry
            if let lane = table[place].lane { makeCandidate(lane) }
        case .isFalse(let index, let detail):
            report(.conditionFalse, place, detail: detail)
            inquiry.falseIndex = index
            inquiries[place] = inquiry
            isFalse(place, index, detail, conditions[min(Int(index), conditions.count - 1)])
        }
        wake(.evaluations)
    }

    private mutating func isFalse(
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
            inquiries[place]?.askAgainAt = again
            monotonicTimers.add(TimerHeap.Entry(at: again, id: id.rawValue, kind: .recheck))
        }
    }

    /// It has rested long enough: asked again when its turn comes.
    mutating func recheck(_ place: OperationIndex) {
        inquiries[place] = nil
        if let lane = table[place].lane { makeCandidate(lane) }
    }

    /// It leaves its lane: an answer would say nothing any more, and a true one stands no longer.
    mutating func stopAsking(_ place: OperationIndex) {
        guard table[place].traits.contains(.hasConditions), let inquiry = inquiries.removeValue(forKey: place) else {
            return
        }
        if inquiry.askAgainAt != nil { markStaleTimer() }
        guard inquiry.isAsking else { return }
        evaluating -= 1
        order(.stopEvaluating(table[place].operationID))
        wake(.evaluations)
    }

    /// Nothing is asked of what is suspended with its queue or with all.
    mutating func stopAsking(where isSuspended: (OperationRow) -> Bool) {
        for place in inquiries.keys.sorted() where isSuspended(table[place]) && inquiries[place]?.isAsking == true {
            stopAsking(place)
            if let lane = table[place].lane { makeCandidate(lane) }
        }
    }
}

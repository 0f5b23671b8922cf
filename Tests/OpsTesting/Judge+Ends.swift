import OpsCore

extension Judge {
    /// Checks that an end is the one that the facts stored before it allow.
    func judgeEnd(_ id: OperationID, _ outcome: Outcome, _ cause: Cause?, _ rules: Rules) throws(Violation) {
        let record = rules.store[id]
        let isDecided = record.resolution?.isOrdered ?? false
        if record.state == .executing, let exit = record.running?.exit, record.policy.completion == .exit, !isDecided {
            if outcome == .succeeded {
                guard case .code(let code) = exit.status, record.policy.successCodes.contains(code) else {
                    throw Violation(.oneOutcome, "\(id) succeeded by \(exit.status)")
                }
                let failed = rules.store.children(of: id).contains { $0.outcome?.isUnsuccessful ?? false }
                try require(!failed, .oneOutcome, "\(id) succeeded with an unsuccessful child")
            }
            if case .exitStatus(let code)? = cause {
                try require(exit.status == .code(code), .oneOutcome, "\(id): \(code) told, \(exit.status) stored")
            }
        }
        try judgeNeed(record, outcome, cause, rules)
        try judgeGroup(record, outcome, cause, rules)
        if outcome == .skipped || outcome == .notNeeded, case .dependency(let root, let how)? = cause {
            // An operation that was reopened since, or whose own root was, is not checked.
            let deeper = rules.store.root(rules.store[root])
            let isRoot = deeper == root || rules.store[deeper].run > 1 || rules.store[root].run > 1
            try require(
                rules.store[root].outcome == how && isRoot, .oneOutcome,
                "\(id) skipped because of \(root), said to be \(how)")
        }
        // A dependent that was reopened since is not checked.
        if case .providedFor(let dependent, let how)? = cause, rules.store[dependent].run == 1 {
            try require(
                rules.store[dependent].outcome == how, .oneOutcome,
                "\(id) provided for \(dependent), said to be \(how)")
        }
        try judgeRetryOwed(record, outcome, cause, rules)
    }

    /// Checks that an operation is "not needed" only if its own condition says so, or an edge whose dependency did
    /// nothing wrong. Otherwise its skip counts.
    private func judgeNeed(_ record: Record, _ outcome: Outcome, _ cause: Cause?, _ rules: Rules) throws(Violation) {
        guard outcome == .skipped || outcome == .notNeeded else { return }
        let isNeedless: Bool
        switch cause {
        case .conditionFalse: isNeedless = true
        case .dependency(let root, _), .neverStarted(let root):
            // Edges of operations that were reopened since, or that end with their group, prove nothing any more.
            let out = record.edges.filter { rules.isOutOfReach($0) }
            guard rules.store[root].run == 1, !out.isEmpty else { return }
            let needless = out.filter { edge in
                let target = rules.store[edge.on].outcome
                return target == .notNeeded || edge.when == .failed && target == .succeeded
            }
            // If edges disagree, the first one that became impossible decided.
            guard needless.isEmpty || needless.count == out.count else { return }
            isNeedless = !needless.isEmpty
        default: return
        }
        try require(
            isNeedless == (outcome == .notNeeded), .oneOutcome,
            "\(record.id) ended \(outcome) by \(String(describing: cause))")
    }

    /// Checks that a group fails because of children that did not succeed, and not because of those that were not
    /// needed.
    private func judgeGroup(_ record: Record, _ outcome: Outcome, _ cause: Cause?, _ rules: Rules) throws(Violation) {
        guard record.flags.contains(.group), record.state == .executing else { return }
        let isFailed = rules.store.children(of: record.id).contains { $0.outcome?.isUnsuccessful ?? false }
        if case .children? = cause {
            try require(isFailed, .oneOutcome, "\(record.id) failed without an unsuccessful child")
        } else if outcome == .succeeded {
            try require(!isFailed, .oneOutcome, "\(record.id) succeeded with an unsuccessful child")
        }
    }

    /// An attempt that its policy retries does not end the operation.
    private func judgeRetryOwed(
        _ record: Record, _ outcome: Outcome, _ cause: Cause?, _ rules: Rules
    ) throws(Violation) {
        guard let retry = record.policy.retry, record.attemptsInRun > 0, record.attemptsInRun <= retry.limit else {
            return
        }
        if let deadline = record.policy.deadline, deadline <= rules.now.wall { return }
        // Nothing starts again below an operation that was cancelled or timed out.
        let endings = rules.store.ancestors(of: record).compactMap { $0.resolution?.outcome }
        if endings.contains(where: { $0 == .cancelled || $0 == .timedOut }) { return }
        let isOwed: Bool
        switch cause {
        case .exitStatus(let code):
            isOwed = outcome == .failed && retry.onFailed && (retry.exitCodes.isEmpty || retry.exitCodes.contains(code))
        case .runnerLost, .machineRestarted: isOwed = retry.onInterrupted
        case .ranLongerThan: isOwed = retry.onTimedOut
        default: isOwed = false
        }
        try require(!isOwed, .oneOutcome, "\(record.id) ended \(outcome), but \(retry.limit) retries are allowed")
    }

    /// Checks that the back-off grows by its factor up to its maximum, and that jitter changes it by at most its share.
    func judgeRetry(_ id: OperationID, _ notBefore: WallInstant, _ counts: Bool, _ rules: Rules) throws(Violation) {
        let record = rules.store[id]
        // An attempt that no runner accepted does not count.
        if !counts { return try require(record.running?.process == nil, .oneOutcome, "\(id) begun, and not counted") }
        guard let retry = record.policy.retry else { throw Violation(.oneOutcome, "\(id) retried without a policy") }
        try require(record.attemptsInRun <= retry.limit, .oneOutcome, "\(id) retried beyond \(retry.limit)")
        var delay = Double(retry.backoff.nanoseconds)
        for _ in 1..<max(1, Int(record.attemptsInRun)) {
            delay = min(delay * Double(retry.factor) / 1000, Double(retry.max.nanoseconds))
        }
        delay = min(delay, Double(retry.max.nanoseconds)) * Double(1000 - retry.jitter) / 1000
        let end = min(rules.now.wall, record.running?.exit?.at.wall ?? rules.now.wall)
        try require(
            notBefore >= end + .nanoseconds(Int64(delay) - 1), .noEarlyStart,
            "\(id) retried after \(notBefore - end) of \(delay)")
    }

    /// Checks the rules that hold between turns. After a turn that has put work off, timers may be overdue and operations
    /// may still start.
    func judgeRest(_ rules: Rules, isComplete: Bool) throws(Violation) {
        for record in rules.store.unfinished {
            if let edge = record.edges.first(where: rules.isOutOfReach), record.isWaiting {
                throw Violation(.nothingIdle, "\(record.id) waits for \(edge), which is out of reach")
            }
            if record.isWaiting {
                let mustWait = rules.mustWait(record)
                try require(
                    (record.state == .pending) == mustWait, .nothingIdle,
                    "\(record.id) is told to be \(record.state), waits: \(rules.before(Milestone(id: record.id, isEnd: false)))"
                )
                if let parent = record.parent, let resolution = rules.store[parent].resolution, resolution.isOrdered,
                    resolution.outcome == .cancelled || resolution.outcome == .timedOut
                {
                    throw Violation(
                        .oneOutcome, "\(record.id) still waits in \(parent), which is \(resolution.outcome)")
                }
                if let parent = record.parent, rules.store[parent].isFinished {
                    throw Violation(.oneOutcome, "\(record.id) outlives \(parent)")
                }
            }
            if isComplete {
                if let deadline = record.policy.deadline, deadline <= rules.now.wall, record.isWaiting {
                    throw Violation(.deadlines, "\(record.id) waits past its deadline")
                }
                try judgeTimeout(record, rules)
            }
            if record.state == .executing, record.isGroup {
                let isEmpty = rules.store.children(of: record.id).allSatisfy(\.isFinished)
                try require(!isEmpty, .settles, "group \(record.id) goes on without children")
            }
            if record.hasSlot, record.resolution == nil, !record.isFrozen,
                let group = rules.store.ancestors(of: record).first(where: { $0.isGroup && $0.isFrozen })
            {
                throw Violation(.deadlines, "the clock of \(group.id) stands still while \(record.id) runs")
            }
        }
        if isComplete, let idle = rules.startable(rules.effectivePriorities()).first {
            throw Violation(.nothingIdle, "\(idle.id) could start and does not; overtaken: \(perhapsOvertaken)")
        }
        try judgeExclusion(rules)
    }

    /// Checks the timeout of an attempt of the connected runner. The ends of other attempts are not known.
    private func judgeTimeout(_ record: Record, _ rules: Rules) throws(Violation) {
        guard let running = record.running, running.runner == rules.runner, !record.isFrozen, record.resolution == nil,
            running.timeoutRemaining == nil,
            let timeout = record.policy.timeout
        else { return }
        // The outcome is decided by then, unless the operation waits for children or for its own report.
        if let exit = running.exit {
            let waitsForWord = record.policy.completion == .notify && exit.status == .code(0)
            guard waitsForWord || (record.policy.completion == .exit && record.policy.leftovers == .wait) else {
                return
            }
        }
        try require(
            running.startedAt.monotonic + timeout > rules.now.monotonic, .deadlines,
            "\(record.id) runs past its timeout")
    }

    /// Checks that any two holders of a category allow each other.
    private func judgeExclusion(_ rules: Rules) throws(Violation) {
        let holders = rules.store.unfinished.filter { $0.state == .executing && !$0.categories.isEmpty }
        for (place, a) in holders.enumerated() {
            try require(a.unassigned.isEmpty, .exclusion, "\(a.id) was not told its units of \(a.unassigned)")
            for b in holders[(place + 1)...] {
                for name in Set(a.categories.map(\.name)) where rules.domain(of: a, name) == rules.domain(of: b, name) {
                    guard let one = rules.use(a, name), let other = rules.use(b, name) else { continue }
                    try require(!rules.excludes(one, other), .exclusion, "\(a.id) and \(b.id) both hold \(name)")
                }
            }
        }
    }
}

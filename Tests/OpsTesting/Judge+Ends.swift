import OpsCore

extension Judge {
    /// An end must be the one that the facts stored before it allow.
    func judgeEnd(_ id: OperationID, _ outcome: Outcome, _ cause: Cause?, _ rules: Rules) throws(Violation) {
        let record = rules.store[id]
        let isDecided = record.resolution?.isOrdered ?? false
        if record.state == .executing, let exit = record.running?.exit, record.policy.completion == .exit, !isDecided {
            if outcome == .succeeded {
                guard case .code(let code) = exit.status, record.policy.successCodes.contains(code) else {
                    throw Violation(.oneOutcome, "\(id) succeeded by \(exit.status)")
                }
                let failed = rules.store.children(of: id).contains { $0.outcome != .succeeded }
                try require(!failed, .oneOutcome, "\(id) succeeded with an unsuccessful child")
            }
            if case .exitStatus(let code)? = cause {
                try require(exit.status == .code(code), .oneOutcome, "\(id): \(code) told, \(exit.status) stored")
            }
        }
        if outcome == .skipped, case .dependency(let root, let how)? = cause {
            // Of one that has come back since, or whose own root has, there is no more to say.
            let deeper = rules.store.root(rules.store[root])
            let isRoot = deeper == root || !rules.store[deeper].isFinished || rules.store[root].run > 1
            try require(
                rules.store[root].outcome == how && isRoot, .oneOutcome,
                "\(id) skipped because of \(root), said to be \(how)")
        }
        try judgeRetryOwed(record, outcome, cause, rules)
    }

    /// An attempt that its policy retries is not the end.
    private func judgeRetryOwed(
        _ record: Record, _ outcome: Outcome, _ cause: Cause?, _ rules: Rules
    ) throws(Violation) {
        guard let retry = record.policy.retry, record.attemptsInRun > 0, record.attemptsInRun <= retry.limit else {
            return
        }
        if let deadline = record.policy.deadline, deadline <= rules.now.wall { return }
        // Nothing starts again below a group that is to end.
        if rules.store.ancestors(of: record).contains(where: { $0.resolution?.isOrdered ?? false }) { return }
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

    /// The back-off grows by its factor up to its bound, and jitter moves it by its share at most.
    func judgeRetry(_ id: OperationID, _ notBefore: Int64, _ counts: Bool, _ rules: Rules) throws(Violation) {
        let record = rules.store[id]
        // What no runner took costs nothing.
        if !counts { return try require(record.running?.process == nil, .oneOutcome, "\(id) begun, and not counted") }
        guard let retry = record.policy.retry else { throw Violation(.oneOutcome, "\(id) retried without a policy") }
        try require(record.attemptsInRun <= retry.limit, .oneOutcome, "\(id) retried beyond \(retry.limit)")
        var delay = Double(retry.backoff)
        for _ in 1..<max(1, Int(record.attemptsInRun)) {
            delay = min(delay * Double(retry.factor) / 1000, Double(retry.max))
        }
        delay = min(delay, Double(retry.max)) * Double(1000 - retry.jitter) / 1000
        let end = min(rules.now.wall, record.running?.exit?.at.wall ?? rules.now.wall)
        try require(
            notBefore >= end + Int64(delay) - 1, .noEarlyStart, "\(id) retried after \(notBefore - end) of \(delay)")
    }

    /// Checks the rules that hold between turns.
    func judgeRest(_ rules: Rules) throws(Violation) {
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
            if let deadline = record.policy.deadline, deadline <= rules.now.wall, record.isWaiting {
                throw Violation(.deadlines, "\(record.id) waits past its deadline")
            }
            try judgeTimeout(record, rules)
            if record.state == .executing, record.isGroup {
                let isEmpty = rules.store.children(of: record.id).allSatisfy(\.isFinished)
                try require(!isEmpty, .settles, "group \(record.id) goes on without children")
            }
        }
        if let idle = rules.startable(rules.effectivePriorities()).first {
            throw Violation(.nothingIdle, "\(idle.id) could start and does not; overtaken: \(perhapsOvertaken)")
        }
        try judgeExclusion(rules)
    }

    /// Checks the time-out of an attempt of the connected runner. The ends of other attempts are not known.
    private func judgeTimeout(_ record: Record, _ rules: Rules) throws(Violation) {
        guard let running = record.running, running.runner == rules.runner, !record.isFrozen, record.resolution == nil,
            running.timeoutRemaining == nil,
            let timeout = record.policy.timeout
        else { return }
        // How it comes out is settled by then, unless it is to wait for others or for its word.
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

    /// Checks that each two holders of a category allow each other.
    private func judgeExclusion(_ rules: Rules) throws(Violation) {
        let holders = rules.store.unfinished.filter { $0.state == .executing && !$0.categories.isEmpty }
        for (place, a) in holders.enumerated() {
            for b in holders[(place + 1)...] {
                for name in Set(a.categories.map(\.name)) where rules.domain(of: a, name) == rules.domain(of: b, name) {
                    guard let one = rules.use(a, name), let other = rules.use(b, name) else { continue }
                    try require(!rules.excludes(one, other), .exclusion, "\(a.id) and \(b.id) both hold \(name)")
                }
            }
        }
    }
}

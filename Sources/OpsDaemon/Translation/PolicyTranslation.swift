internal import OpsCore
internal import OpsWire

// Scheduling keys of a submission in the words of the rules.

extension Policy {
    /// Durations that count from the submission become instants.
    init(_ input: PolicyInput, submittedAt now: Int64) {
        self.init()
        timeout = input.timeout
        grace = input.grace
        deadline = input.deadline.map { $0.instant(from: now) }
        notBefore = input.notBefore.map { $0.instant(from: now) }
        retry = input.retry.map { RetryPolicy($0) }
        successCodes = input.successCodes
        completion =
            switch input.completion {
            case .exit: .exit
            case .notify: .notify
            }
        leftovers =
            switch input.leftovers {
            case .kill: .kill
            case .wait: .wait
            case .leave: .leave
            }
        conditions = input.conditions.map { ConditionPolicy($0) }
        childLimit = input.childLimit
        observers = Observers(rawValue: input.observers.rawValue)
    }
}

extension PolicyInput.Time {
    func instant(from now: Int64) -> Int64 {
        switch self {
        case .after(let duration): now + duration
        case .at(let instant): instant
        }
    }
}

extension RetryPolicy {
    init(_ input: PolicyInput.Retry) {
        self.init(
            limit: input.limit, backoff: input.backoff, factor: input.factor, max: input.max, jitter: input.jitter,
            onFailed: input.onFailed, onTimedOut: input.onTimedOut, onInterrupted: input.onInterrupted,
            exitCodes: input.exitCodes)
    }
}

extension ConditionPolicy {
    init(_ input: PolicyInput.Condition) {
        let otherwise: Otherwise =
            switch input.otherwise {
            case .fail: .fail
            case .skip: .skip
            case .wait: .wait
            }
        self.init(otherwise: otherwise, every: input.every)
    }
}

extension CategoryUse {
    init(_ input: CategoryInput) {
        let mode: Mode =
            switch input.mode {
            case .units: .units
            case .exclusive: .exclusive
            case .shared: .shared
            }
        self.init(name: input.name, mode: mode, units: input.units)
    }

    static func strictest(_ inputs: [CategoryInput]) -> [CategoryUse] { strictest(inputs.map(CategoryUse.init)) }
}

extension When {
    init(_ condition: EdgeCondition) {
        self =
            switch condition {
            case .succeeded: .succeeded
            case .finished: .finished
            case .failed: .failed
            case .started: .started
            }
    }
}

extension PolicyInput {
    /// A stored policy, for laying edited keys over it.
    init(_ policy: Policy) {
        self.init()
        timeout = policy.timeout
        grace = policy.grace
        deadline = policy.deadline.map { .at($0) }
        notBefore = policy.notBefore.map { .at($0) }
        retry = policy.retry.map { stored in
            var retry = Retry()
            retry.limit = stored.limit
            retry.backoff = stored.backoff
            retry.factor = stored.factor
            retry.max = stored.max
            retry.jitter = stored.jitter
            retry.onFailed = stored.onFailed
            retry.onTimedOut = stored.onTimedOut
            retry.onInterrupted = stored.onInterrupted
            retry.exitCodes = stored.exitCodes
            return retry
        }
        successCodes = policy.successCodes
        completion =
            switch policy.completion {
            case .exit: .exit
            case .notify: .notify
            }
        leftovers =
            switch policy.leftovers {
            case .kill: .kill
            case .wait: .wait
            case .leave: .leave
            }
        conditions = policy.conditions.map { stored in
            var condition = Condition()
            condition.every = stored.every
            condition.otherwise =
                switch stored.otherwise {
                case .fail: .fail
                case .skip: .skip
                case .wait: .wait
                }
            return condition
        }
        childLimit = policy.childLimit
        observers = Observers(rawValue: policy.observers.rawValue)
    }
}

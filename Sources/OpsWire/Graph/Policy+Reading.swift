/// Reads the values of a policy.
extension Policy {
    /// Returns true if a key belongs to the policy.
    static func isKey(_ key: OperationKey) -> Bool {
        switch key {
        case .limit, .completion, .timeout, .grace, .deadline, .notBefore, .retry, .successCodes, .leftovers,
            .executor:
            true
        default: false
        }
    }

    /// Reads the value of `key`; returns false if it does not belong to the policy.
    ///
    /// - Parameter now: Instant from which durations are counted.
    mutating func read(
        _ key: OperationKey, from scanner: inout JSONScanner, now: WallInstant
    ) throws(JSONError) -> Bool {
        switch key {
        case .timeout: timeout = try scanner.duration(atLeast: .nanoseconds(1))
        case .grace: grace = try scanner.duration(atLeast: .zero)
        case .deadline: deadline = try scanner.time(atLeast: .nanoseconds(1), from: now)
        case .notBefore: notBefore = try scanner.time(atLeast: .zero, from: now)
        case .retry: retry = try RetryPolicy(from: &scanner)
        case .successCodes:
            scanner.skipSpace()
            let start = scanner.position
            successCodes = try scanner.exitCodes()
            if successCodes.isEmpty {
                throw scanner.error(.refused("at least one exit code must count as success"), at: start)
            }
        case .completion: completion = try scanner.choice()
        case .leftovers: leftovers = try scanner.choice()
        case .executor: executor = try scanner.name()
        case .limit: childLimit = Int32(try scanner.integer(in: 0...Int64(Int32.max)))
        default: return false
        }
        return true
    }
}

extension RetryPolicy {
    /// The members, with their names in a graph file.
    enum Key: String, CaseIterable, Sendable {
        case limit, backoff, factor, max, jitter, on, exitCodes, scale
    }

    static let names = Key.allCases.map(\.rawValue)

    init(from scanner: inout JSONScanner) throws(JSONError) {
        self.init(limit: 0)
        try scanner.members(of: Self.names, required: [Key.limit.rawValue]) { (name, scanner) throws(JSONError) in
            if let key = Key(rawValue: name) { try read(key, from: &scanner) }
        }
    }

    /// Reads the value of a member.
    mutating func read(_ key: Key, from scanner: inout JSONScanner) throws(JSONError) {
        switch key {
        case .limit: limit = Int32(try scanner.integer(in: 0...Limits.retries))
        case .backoff: backoff = try scanner.duration(atLeast: .zero)
        case .factor: factor = try scanner.thousandths(in: 1...1000)
        case .max: max = try scanner.duration(atLeast: .zero)
        case .jitter: jitter = try scanner.thousandths(in: 0...1)
        case .on: try readOutcomes(&scanner)
        case .scale: scale = try RetryScale(from: &scanner)
        case .exitCodes:
            scanner.skipSpace()
            let start = scanner.position
            exitCodes = try scanner.exitCodes()
            if exitCodes.isEmpty {
                throw scanner.error(
                    .refused("must not be empty; leave it out to retry after every exit code"), at: start)
            }
        }
    }

    /// Copies the value of a member from another policy.
    mutating func copy(_ key: Key, from other: RetryPolicy) {
        switch key {
        case .limit: limit = other.limit
        case .backoff: backoff = other.backoff
        case .factor: factor = other.factor
        case .max: max = other.max
        case .jitter: jitter = other.jitter
        case .on: (onFailed, onTimedOut, onInterrupted) = (other.onFailed, other.onTimedOut, other.onInterrupted)
        case .exitCodes: exitCodes = other.exitCodes
        case .scale: scale = other.scale
        }
    }

    private mutating func readOutcomes(_ scanner: inout JSONScanner) throws(JSONError) {
        (onFailed, onTimedOut, onInterrupted) = (false, false, false)
        try scanner.elements { (scanner) throws(JSONError) in
            let start = scanner.position
            switch try scanner.string() {
            case "failed": onFailed = true
            case "timedOut": onTimedOut = true
            case "interrupted": onInterrupted = true
            case let other:
                let near = Nearest.suggestion(for: other, among: ["failed", "timedOut", "interrupted"])
                throw scanner.error(.refused("\"\(other)\" is none of failed, timedOut, interrupted\(near)"), at: start)
            }
        }
    }
}

extension RetryScale {
    /// Returns nil for an empty object, with which nothing grows.
    init?(from scanner: inout JSONScanner) throws(JSONError) {
        self.init()
        try scanner.members(of: Self.names) { (name, scanner) throws(JSONError) in
            let factor = try scanner.thousandths(in: Limits.scaleFactor)
            if let key = Key(rawValue: name) { self[key] = factor }
        }
        if isEmpty { return nil }
    }
}

extension Policy {
    /// Copies the values of these keys, which can be edited, from another policy.
    mutating func copy(_ keys: UInt64, from other: Policy) {
        func has(_ key: OperationKey) -> Bool { keys & key.bit != 0 }
        if has(.timeout) { timeout = other.timeout }
        if has(.grace) { grace = other.grace }
        if has(.deadline) { deadline = other.deadline }
        if has(.notBefore) { notBefore = other.notBefore }
        if has(.retry) { retry = other.retry }
        if has(.successCodes) { successCodes = other.successCodes }
        if has(.leftovers) { leftovers = other.leftovers }
        if has(.limit) { childLimit = other.childLimit }
    }

    /// Removes the value of a key.
    mutating func remove(_ key: OperationKey) {
        switch key {
        case .timeout: timeout = nil
        case .deadline: deadline = nil
        case .notBefore: notBefore = nil
        case .retry: retry = nil
        case .limit: childLimit = nil
        default: preconditionFailure("\(key.text) cannot be absent")
        }
    }
}

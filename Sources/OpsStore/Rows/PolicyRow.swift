internal import OpsCore

/// A `Policy` as the row of table `policy`.
enum PolicyRow {
    static let insert = """
        INSERT INTO policy (
            id, timeout, grace, deadline, notBefore, retryLimit, retryBackoff, retryFactor, retryMax, retryJitter,
            retryOn, retryExitCodes, successCodes, completion, leftovers, conditions, childLimit, observers,
            executor, retryScale)
        VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
        """
    static let select = "SELECT * FROM policy WHERE id = ?1"

    static func bind(_ policy: Policy, id: Int64, to statement: Statement) {
        statement.bind(1, id)
        statement.bind(2, policy.timeout)
        statement.bind(3, policy.grace)
        statement.bind(4, policy.deadline)
        statement.bind(5, policy.notBefore)
        statement.bind(6, policy.retry.map { Int64($0.limit) })
        statement.bind(7, policy.retry?.backoff)
        statement.bind(8, policy.retry?.factor)
        statement.bind(9, policy.retry?.max)
        statement.bind(10, policy.retry?.jitter)
        statement.bind(11, policy.retry.map(causes))
        statement.bind(12, policy.retry.map { list($0.exitCodes) })
        statement.bind(13, list(policy.successCodes))
        statement.bind(14, policy.completion == .notify)
        statement.bind(15, leftovers.firstIndex(of: policy.leftovers) ?? 0)
        statement.bind(16, policy.conditions.map(text).joined(separator: ","))
        statement.bind(17, policy.childLimit.map(Int64.init))
        statement.bind(18, observers(policy.observers))
        statement.bind(19, policy.executor)
        statement.bind(20, policy.retry?.scale.map(text))
    }

    static func read(_ statement: Statement) -> Policy {
        var policy = Policy()
        policy.timeout = statement.optionalTime(1)
        policy.grace = statement.time(2)
        policy.deadline = statement.optionalTime(3)
        policy.notBefore = statement.optionalTime(4)
        if let limit = statement.optionalInt32(5) {
            let on = statement.int(10)
            policy.retry = RetryPolicy(
                limit: limit, backoff: statement.time(6), factor: statement.int(7), max: statement.time(8),
                jitter: statement.int(9), onFailed: on & 1 != 0, onTimedOut: on & 2 != 0, onInterrupted: on & 4 != 0,
                exitCodes: integers(statement.text(11)), scale: statement.optionalText(19).flatMap(scale))
        }
        policy.successCodes = integers(statement.text(12))
        policy.completion = statement.bool(13) ? .notify : .exit
        let position = Int(statement.int(14))
        policy.leftovers = leftovers.indices.contains(position) ? leftovers[position] : .kill
        policy.conditions = statement.text(15).split(separator: ",").map(condition)
        policy.childLimit = statement.optionalInt32(16)
        policy.observers = observers(stored: statement.int(17))
        policy.executor = statement.optionalText(18)
        return policy
    }

    private static let leftovers: [Leftovers] = [.kill, .wait, .leave]

    private static func causes(_ retry: RetryPolicy) -> Int64 {
        (retry.onFailed ? 1 : 0) | (retry.onTimedOut ? 2 : 0) | (retry.onInterrupted ? 4 : 0)
    }

    private static func list(_ codes: [Int32]) -> String {
        codes.map { String($0) }.joined(separator: ",")
    }

    private static func integers(_ list: String) -> [Int32] {
        list.split(separator: ",").compactMap { Int32($0) }
    }

    /// `timeout:1500,limits.memory:2000`: factors in thousandths.
    private static func text(_ scale: RetryScale) -> String {
        scale.entries.map { "\($0.key.rawValue):\($0.factor)" }.joined(separator: ",")
    }

    private static func scale(_ text: String) -> RetryScale? {
        var scale = RetryScale()
        for entry in text.split(separator: ",") {
            let parts = entry.split(separator: ":")
            guard let name = parts.first, let key = RetryScale.Key(rawValue: String(name)) else { continue }
            scale[key] = parts.last.flatMap { Int64($0) }
        }
        return scale.isEmpty ? nil : scale
    }

    /// Returns the text of a condition's policy, such as `wait:5000000000`: the consequence of a false result, and the
    /// time for which a result is valid.
    private static func text(_ condition: ConditionPolicy) -> String {
        let word =
            switch condition.otherwise {
            case .fail: "fail"
            case .skip: "skip"
            case .wait: "wait"
            case .succeed: "succeed"
            }
        return "\(word):\(condition.every.nanoseconds)"
    }

    private static func condition(_ text: Substring) -> ConditionPolicy {
        let parts = text.split(separator: ":")
        var condition = ConditionPolicy()
        switch parts.first {
        case "skip": condition.otherwise = .skip
        case "wait": condition.otherwise = .wait
        case "succeed": condition.otherwise = .succeed
        default: condition.otherwise = .fail
        }
        if let every = parts.last.flatMap({ Int64($0) }) { condition.every = .nanoseconds(every) }
        return condition
    }

    private static func observers(_ observers: Observers) -> Int64 {
        (observers.contains(.start) ? 1 : 0) | (observers.contains(.produce) ? 2 : 0)
            | (observers.contains(.finish) ? 4 : 0) | (observers.contains(.failed) ? 8 : 0)
    }

    private static func observers(stored: Int64) -> Observers {
        var observers: Observers = []
        if stored & 1 != 0 { observers.insert(.start) }
        if stored & 2 != 0 { observers.insert(.produce) }
        if stored & 4 != 0 { observers.insert(.finish) }
        if stored & 8 != 0 { observers.insert(.failed) }
        return observers
    }
}

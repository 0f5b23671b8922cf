/// The `changes` of a Set: keys that may change while an operation waits.
public struct OperationEdit: Equatable, Sendable {
    public var priority: Int8?
    public var queue: String?
    /// New argv as JSON.
    public var command: String?
    /// New categories; empty for none.
    public var categories: [CategoryUse]?
    private var changedPolicy: Policy?
    /// Change of `retry`, unless the edit removes it.
    private var retry: RetryEdit?
    private var seen: UInt64 = 0

    /// Reads `changes`; problems name the keys as given.
    ///
    /// - Parameter now: Instant from which durations are counted.
    public init(_ changes: JSONObject, now: WallInstant) throws(GraphRefusal) {
        var decoder = GraphDecoder(now: now)
        var draft = OperationDraft(index: -1, start: 0, knownProblems: 0)
        var problems: [GraphProblem] = []
        for member in changes.members {
            guard let key = OperationKey.find(member.key), key.isEditable else {
                problems.append(GraphProblem(key: member.key, message: Self.refusal(of: member.key)))
                continue
            }
            do throws(JSONError) {
                try scan(Array(member.value.text.utf8)) { scanner throws(JSONError) in
                    // Problems name the keys; to count the lines for each of many errors would take long.
                    scanner.countsLines = false
                    if key == .retry, try scanner.peek() != .null {
                        retry = try RetryEdit(from: &scanner)
                    } else {
                        try decoder.readEdited(key, &draft, &scanner)
                    }
                }
            } catch {
                problems += error.inside(key.text).all.map { GraphProblem(key: $0.path, message: $0.reason.text) }
            }
            seen |= key.bit
        }
        if changes.members.isEmpty { problems.append(GraphProblem(message: "there is nothing to change")) }
        if seen & OperationKey.command.bit != 0, seen & OperationKey.shell.bit != 0 {
            problems.append(
                GraphProblem(key: "shell", message: "there is also a \"command\"; only one of them is possible"))
        }
        guard problems.isEmpty else { throw GraphRefusal(problems: Array(problems.prefix(Limits.problems))) }
        priority = draft.priority
        if draft.operation.command >= 0 { command = decoder.input.commands[draft.operation.command] }
        if draft.operation.queue >= 0 { queue = decoder.input.queues[draft.operation.queue] }
        if seen & OperationKey.categories.bit != 0 {
            let index = draft.operation.categories
            categories = index < 0 ? [] : decoder.input.categorySets[Int(index)]
        }
        changedPolicy = draft.policy
    }

    private static func refusal(of key: String) -> String {
        let editable = OperationKey.allCases.filter(\.isEditable).map(\.text)
        let isKnown = OperationKey.texts.contains(key)
        return isKnown
            ? "cannot be changed any more" : "unknown key\(Nearest.suggestion(for: key, among: editable))"
    }

    /// True if any key of the policy changes.
    public var changesPolicy: Bool { changedPolicy != nil || retry != nil }

    /// Returns the first changed key that does not apply to this kind of operation (a group, or no group), and the
    /// reason.
    public func meaningless(forGroup isGroup: Bool) -> (key: String, reason: String)? {
        guard isGroup else {
            return has(.limit) ? ("limit", "is not a group; only groups have a limit") : nil
        }
        let key = OperationKey.allCases.first { $0.isOfProcess && has($0) }
        return key.map { ($0.text, "is a group, which has no process; set it for the operations inside") }
    }

    /// True if the edit says how to retry, but not how often: an operation without retries cannot be changed like this.
    public var needsStoredRetry: Bool { retry?.hasLimit == false }

    /// Returns the stored policy with the changed keys. Members of `retry` that the edit does not name stay unchanged.
    public func applied(to stored: Policy) -> Policy {
        var policy = stored
        if let changedPolicy { policy.copy(seen, from: changedPolicy) }
        if let retry { policy.retry = retry.applied(to: stored.retry) }
        return policy
    }

    private func has(_ key: OperationKey) -> Bool { seen & key.bit != 0 }
}

/// A change of `retry`: some of its members.
private struct RetryEdit: Equatable, Sendable {
    private var values = RetryPolicy(limit: 0)
    private var given: Set<RetryPolicy.Key> = []

    init(from scanner: inout JSONScanner) throws(JSONError) {
        try scanner.members(of: RetryPolicy.names) { (name, scanner) throws(JSONError) in
            guard let key = RetryPolicy.Key(rawValue: name) else { return }
            given.insert(key)
            // null gives a member its default, which `values` has. The limit has no default.
            if key != .limit, try scanner.skipNull() { return }
            try values.read(key, from: &scanner)
        }
        if given.isEmpty { throw scanner.error(.refused("there is nothing to change")) }
    }

    var hasLimit: Bool { given.contains(.limit) }

    /// Returns the stored value with the given members; without a stored value the other members have their defaults.
    func applied(to stored: RetryPolicy?) -> RetryPolicy {
        guard var policy = stored else { return values }
        for key in given { policy.copy(key, from: values) }
        return policy
    }
}

extension GraphDecoder {
    fileprivate mutating func readEdited(
        _ key: OperationKey, _ draft: inout OperationDraft, _ scanner: inout JSONScanner
    ) throws(JSONError) {
        switch key {
        case .command: draft.operation.command = try command(&scanner)
        case .shell: draft.operation.command = try shell(&scanner)
        case .priority: draft.priority = try scanner.priority()
        case .queue: draft.operation.queue = try queue(&scanner)
        case .categories: draft.operation.categories = try categorySet(&scanner)
        default:
            var policy = draft.policy ?? Policy()
            // null removes these; the others always have a value.
            if key.isRemovable, try scanner.skipNull() {
                policy.remove(key)
            } else {
                let isRead = try policy.read(key, from: &scanner, now: now)
                precondition(isRead, "no reader for \(key)")
            }
            draft.policy = policy
        }
    }
}

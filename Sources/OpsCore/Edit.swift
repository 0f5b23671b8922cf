/// Operations that get the same edit.
public struct EditedTogether: Hashable, Sendable, Codable {
    public var operations: [OperationID]
    var edit: Edit
    public init(_ operations: [OperationID], _ edit: Edit) {
        self.operations = operations
        self.edit = edit
    }
}

extension Event {
    /// Makes the same edit of several operations.
    public static func edit(_ operations: [OperationID], _ edit: Edit) -> Event {
        .edit([EditedTogether(operations, edit)])
    }
}

public struct Edit: Hashable, Sendable, Codable {
    public var priority: Int8?
    public var queue: String?
    /// The whole new policy: the caller has merged the edited keys with the stored ones.
    public var policy: Policy?
    public var categories: [CategoryUse]?
    /// New argv as JSON. Only the store uses it.
    public var command: String?
    public init(
        priority: Int8? = nil, queue: String? = nil, policy: Policy? = nil, categories: [CategoryUse]? = nil,
        command: String? = nil
    ) {
        self.command = command
        self.priority = priority
        self.queue = queue
        self.policy = policy
        self.categories = categories
    }

    private enum CodingKeys: CodingKey { case priority, queue, policy, categories, hasCommand }

    /// A decoded edit has an empty command where the encoded one had any.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        priority = try values.decodeIfPresent(Int8.self, forKey: .priority)
        queue = try values.decodeIfPresent(String.self, forKey: .queue)
        policy = try values.decodeIfPresent(Policy.self, forKey: .policy)
        categories = try values.decodeIfPresent([CategoryUse].self, forKey: .categories)
        command = try values.decode(Bool.self, forKey: .hasCommand) ? "" : nil
    }

    /// Encodes everything but the text of the command, which no record of turns may contain.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: CodingKeys.self)
        try values.encodeIfPresent(priority, forKey: .priority)
        try values.encodeIfPresent(queue, forKey: .queue)
        try values.encodeIfPresent(policy, forKey: .policy)
        try values.encodeIfPresent(categories, forKey: .categories)
        try values.encode(command != nil, forKey: .hasCommand)
    }
}

/// An edit of a value that may be absent.
public enum Setting<Value: Hashable & Sendable & Codable>: Hashable, Sendable, Codable {
    case keep
    case clear
    case set(Value)

    /// Returns the value after the edit.
    func value(insteadOf present: Value?) -> Value? {
        switch self {
        case .keep: present
        case .clear: nil
        case .set(let value): value
        }
    }
}

public struct QueueEdit: Hashable, Sendable, Codable {
    /// Kind of queue that the edit is meant for: it is refused for any other.
    public enum Target: Hashable, Sendable, Codable { case any, new, existing }

    /// Maximum number of processes; cleared: only the pool limits them.
    public var limit: Setting<Int32>
    /// Time of waiting that raises a priority by one; cleared: no ageing.
    public var aging: Setting<TimeSpan>
    /// Executor of operations that are submitted from now on; cleared: the runner.
    public var executor: Setting<String> = .keep
    /// Order of operations that are submitted from now on; nil: unchanged.
    public var order: QueueOrder?
    /// True if operations of the submitter with the least slot time start first; nil: unchanged.
    public var isFair: Bool?
    public var target: Target
    public init(
        limit: Setting<Int32> = .keep, aging: Setting<TimeSpan> = .keep, order: QueueOrder? = nil, target: Target = .any
    ) {
        self.order = order
        self.limit = limit
        self.aging = aging
        self.target = target
    }
}

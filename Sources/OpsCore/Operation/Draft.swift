/// The scheduling part of one submitted operation. Texts (command, environment, names) never enter the core.
public struct Draft: Sendable, Codable {
    public typealias Flags = OperationFlags
    /// Offset in this submission of the group around it.
    @PackedOffset public var group: Int32?
    /// Offset in `Submission.queues`.
    public var queue: Int32
    /// Offset in `Submission.categorySets`; nil: it needs none.
    @PackedOffset public var categories: Int32?
    /// Offset in `Submission.policies`; nil: `Policy()`.
    @PackedOffset public var policy: Int32?
    public var priority: Int8
    public var flags: Flags
    /// Nil: it starts in the order of submission.
    public var path: EstimatedPath?
    public init(
        group: Int32? = nil, queue: Int32 = 0, categories: Int32? = nil, policy: Int32? = nil, priority: Int8 = 0,
        flags: Flags = [], path: EstimatedPath? = nil
    ) {
        self.group = group
        self.queue = queue
        self.categories = categories
        self.policy = policy
        self.priority = priority
        self.flags = flags
        self.path = path
    }
}

/// An optional offset in four bytes: a submission may have millions of operations.
@propertyWrapper
public struct PackedOffset: Hashable, Sendable, Codable {
    private var rawValue: Int32

    public init(wrappedValue: Int32?) { rawValue = wrappedValue ?? -1 }

    public var wrappedValue: Int32? {
        get { rawValue < 0 ? nil : rawValue }
        set { rawValue = newValue ?? -1 }
    }

    public init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(Int32.self)
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// One edge of a submission: `from` is an offset in the same submission.
public struct DraftEdge: Sendable, Codable {
    public enum Target: Equatable, Sendable, Codable {
        /// Another operation of this submission.
        case local(Int32)
        /// One that exists already.
        case existing(OperationID)
    }
    public var from: Int32
    public var on: Target
    public var when: EdgeCondition
    public init(from: Int32, on: Target, when: EdgeCondition = .succeeded) {
        self.from = from
        self.on = on
        self.when = when
    }
}

/// Operations that one edit is for.
public struct EditedTogether: Hashable, Sendable {
    public var operations: [OperationID]
    var edit: Edit
    public init(_ operations: [OperationID], _ edit: Edit) {
        self.operations = operations
        self.edit = edit
    }
}

extension Event {
    /// The same for all of them.
    public static func edit(_ operations: [OperationID], _ edit: Edit) -> Event {
        .edit([EditedTogether(operations, edit)])
    }
}

public struct Edit: Hashable, Sendable {
    public var priority: Int8?
    public var queue: String?
    /// The whole policy as it is to be (the caller has laid the edited keys over the stored ones).
    public var policy: Policy?
    public var categories: [CategoryUse]?
    public init(priority: Int8? = nil, queue: String? = nil, policy: Policy? = nil, categories: [CategoryUse]? = nil) {
        self.priority = priority
        self.queue = queue
        self.policy = policy
        self.categories = categories
    }
}

public struct QueueEdit: Hashable, Sendable {
    /// `.some(nil)`: no limit but the pool.
    public var limit: Int32??
    /// Nanoseconds for one step; `.some(nil)`: off.
    public var aging: Int64??
    /// Refuse when the queue exists (`queue add`) or does not (`queue set`); nil: either.
    public var mustExist: Bool?
    public init(limit: Int32?? = nil, aging: Int64?? = nil, mustExist: Bool? = nil) {
        self.limit = limit
        self.aging = aging
        self.mustExist = mustExist
    }
}

// Methods about queues, categories and the daemon itself.

public struct ListQueuesRequest: WireRequest {
    public typealias Reply = ListQueuesReply
    public static let method = "ListQueues"
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {}
}

public struct ListQueuesReply: WireRecord {
    public var queues: [QueueRow] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("queues", &queues)
    }
}

public struct SetQueueRequest: WireRequest {
    public typealias Reply = SetQueueReply
    public static let method = "SetQueue"
    public var name = ""
    public var limit: Int?
    public var aging: String?
    public var order: String?
    public var create: Bool?
    public var executor: String?
    public var fair: String?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("limit", &limit)
        try visitor.field("aging", &aging)
        try visitor.field("order", &order)
        try visitor.field("create", &create)
        try visitor.field("executor", &executor)
        try visitor.field("fair", &fair)
    }
}

public struct SetQueueReply: WireRecord {
    public var queue = QueueRow()
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("queue", &queue)
    }
}

public struct RemoveQueueRequest: WireRequest {
    public typealias Reply = Nothing
    public static let method = "RemoveQueue"
    public var name = ""
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
    }
}

public struct ListCategoriesRequest: WireRequest {
    public typealias Reply = ListCategoriesReply
    public static let method = "ListCategories"
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {}
}

public struct ListCategoriesReply: WireRecord {
    public var categories: [CategoryRow] = []
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("categories", &categories)
    }
}

public struct SetCategoryRequest: WireRequest {
    public typealias Reply = SetCategoryReply
    public static let method = "SetCategory"
    public var name = ""
    public var capacity: Int?
    public var units: [String]?
    public var share: Int?
    public var export: String?
    public var rate: String?
    public var unlimited: Bool?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("name", &name)
        try visitor.field("capacity", &capacity)
        try visitor.field("units", &units)
        try visitor.field("share", &share)
        try visitor.field("export", &export)
        try visitor.field("rate", &rate)
        try visitor.field("unlimited", &unlimited)
    }
}

public struct SetCategoryReply: WireRecord {
    public var category = CategoryRow()
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("category", &category)
    }
}

public struct PruneRequest: WireRequest {
    public typealias Reply = PruneReply
    public static let method = "Prune"
    public var olderThan: String?
    public var selection: Selection?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("olderThan", &olderThan)
        try visitor.field("selection", &selection)
    }
}

public struct PruneReply: WireRecord {
    public var removed = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("removed", &removed)
    }
}

public struct BackupRequest: WireRequest {
    public typealias Reply = BackupReply
    public static let method = "Backup"
    public var path = ""
    public var force: Bool?
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("path", &path)
        try visitor.field("force", &force)
    }
}

public struct BackupReply: WireRecord {
    public var bytes: Int64 = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("bytes", &bytes)
    }
}

public struct SetWorkersRequest: WireRequest {
    public typealias Reply = Nothing
    public static let method = "SetWorkers"
    public var workers = 0
    public init() {}
    public mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter) {
        try visitor.field("workers", &workers)
    }
}

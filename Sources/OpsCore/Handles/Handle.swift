/// The number of a record in one table of the scheduler. Each table has a type of its own, so that a number of one
/// table cannot be used in another.
protocol Handle: Hashable, Comparable, Sendable, Codable {
    var rawValue: Int32 { get }
    init(rawValue: Int32)
}

extension Handle {
    static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
    var offset: Int { Int(rawValue) }

    init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(Int32.self))
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

/// The row of an unfinished operation in `OperationTable`.
struct OperationIndex: Handle { let rawValue: Int32 }
/// An `Execution`.
struct ExecutionIndex: Handle { let rawValue: Int32 }
/// A `FinishedOperation` of the present turn.
struct FinishedIndex: Handle { let rawValue: Int32 }
/// The `Group` of a group or producer.
struct GroupIndex: Handle { let rawValue: Int32 }
/// A `Lane`.
struct LaneIndex: Handle { let rawValue: Int32 }
/// A `Queue`.
struct QueueIndex: Handle { let rawValue: Int32 }
/// A `Partition`.
struct PartitionIndex: Handle { let rawValue: Int32 }
/// A `Category`, or the share of one that a group holds.
struct CategoryIndex: Handle { let rawValue: Int32 }
/// An interned set of category uses.
struct CategorySetIndex: Handle { let rawValue: Int32 }
/// The account of a user in a fair queue, in `SlotTimes`.
struct AccountIndex: Handle { let rawValue: Int32 }
/// An executor beside the runner.
struct ExecutorIndex: Handle { let rawValue: Int32 }
/// An interned `Policy`.
struct PolicyIndex: Handle { let rawValue: Int32 }
/// An edge of `DependencyGraph`.
struct EdgeIndex: Handle { let rawValue: Int32 }
/// The entry of a lane in one `LaneOrder`, wherever it moves.
struct LaneTicket: Handle { let rawValue: Int32 }

/// An optional handle in the four bytes of a handle: rows by the million hold several.
@propertyWrapper
struct Packed<Index: Handle>: Equatable, Codable {
    private var rawValue: Int32

    init(wrappedValue: Index?) { rawValue = wrappedValue?.rawValue ?? -1 }

    var wrappedValue: Index? {
        get { rawValue < 0 ? nil : Index(rawValue: rawValue) }
        set { rawValue = newValue?.rawValue ?? -1 }
    }

    init(from decoder: any Decoder) throws {
        rawValue = try decoder.singleValueContainer().decode(Int32.self)
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}

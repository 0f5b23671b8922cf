/// Operations of a submission as a flat list: a group comes before its children, and an operation before those that its
/// conditions provide.
///
/// Values that are rarely set, or often equal, are in tables; an operation contains their indices, or -1.
public struct GraphInput: Sendable {
    public typealias Flags = OperationFlags

    public struct Operation: Sendable {
        /// Index in `names`.
        public internal(set) var name: Int32 = -1
        /// Index of the group that contains it.
        public internal(set) var parent: Int32 = -1
        /// Index in `queues`.
        public internal(set) var queue: Int32 = -1
        /// Index in `categorySets`.
        public internal(set) var categories: Int32 = -1
        /// Index in `policies`; -1 stands for `Policy()`.
        public internal(set) var policy: Int32 = -1
        /// Index in `commands`, which contain argv as JSON; -1 for a group.
        public internal(set) var command: Int32 = -1
        /// Index in `details`, which contain JSON for `OperationDetails`; -1 stands for `{}`.
        public internal(set) var details: Int32 = -1
        /// Index in `labelSets`, which contain JSON objects of texts; -1 stands for `{}`.
        public internal(set) var labels: Int32 = -1
        public internal(set) var priority: Int8 = 0
        public internal(set) var flags: Flags = []
    }

    public struct Edge: Equatable, Sendable {
        public enum Target: Equatable, Sendable {
            /// Another operation of this submission, by index.
            case local(Int32)
            /// An existing operation, as an index in `externals`.
            case external(Int32)
        }
        public var from: Int32
        /// Index of an operation of this submission; for an external one, minus its index in `externals` minus one.
        var on: Int32
        public var when: EdgeCondition
        public var target: Target { on >= 0 ? .local(on) : .external(-1 - on) }
    }

    public internal(set) var operations: [Operation] = []
    /// Edges in no particular order, without duplicates.
    public internal(set) var edges: [Edge] = []
    /// Names of operations, and all texts that edges refer to.
    public internal(set) var names = TextTable()
    public internal(set) var queues = TextTable()
    public internal(set) var commands = TextTable()
    public internal(set) var details = TextTable()
    public internal(set) var labelSets = TextTable()
    public internal(set) var categorySets: [[CategoryUse]] = []
    public internal(set) var policies: [Policy] = []
    /// References to existing operations: `12`, `build@g3`, or `build` if no other operation of the submission has a
    /// name.
    public internal(set) var externals: [String] = []
    /// Environment from `defaults`. It overrides the captured environment, and the operations' own variables override
    /// it.
    public internal(set) var environment = StringMap()
    /// Idempotency keys of operations.
    public internal(set) var keys: [(operation: Int32, key: String)] = []

    public func name(of index: Int) -> String? {
        let name = operations[index].name
        return name < 0 ? nil : names[name]
    }
}

/// Problem because of which a submission is refused.
struct GraphProblem: Equatable, Sendable {
    /// Index in the flat list of operations.
    var index: Int?
    var name: String?
    /// Path of the key: `retry.limit` in an operation, `defaults.timeout` in the submission.
    var key: String?
    var message: String
    /// Offset of the problem in its part.
    var offset: Int?

    var wire: Problem {
        .with {
            $0.index = index
            $0.name = name
            $0.key = key
            $0.message = message
        }
    }
}

/// All problems of a submission, at most `Limits.problems`.
public struct GraphRefusal: Error, Equatable, Sendable {
    var problems: [GraphProblem]
    public var error: ControlError { .invalidOperation(problems.map(\.wire)) }
}

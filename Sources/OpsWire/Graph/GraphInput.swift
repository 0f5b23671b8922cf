/// A submission's operations, flat: a group before its children, what a condition provides after what wants it.
///
/// Values that are rarely set or often equal lie in tables; an operation holds places in them, -1 for none.
public struct GraphInput: Sendable {
    public typealias Flags = OperationFlags

    public struct Operation: Sendable {
        /// In `names`.
        public internal(set) var name: Int32 = -1
        /// Place of the group that holds it.
        public internal(set) var parent: Int32 = -1
        /// In `queues`.
        public internal(set) var queue: Int32 = -1
        /// In `categorySets`.
        public internal(set) var categories: Int32 = -1
        /// In `policies`; -1 is `Policy()`.
        public internal(set) var policy: Int32 = -1
        /// In `commands`: argv as JSON; -1 for a group.
        public internal(set) var command: Int32 = -1
        /// In `details`: JSON that `OperationDetails` reads; -1 is `{}`.
        public internal(set) var details: Int32 = -1
        /// In `labelSets`: a JSON object of texts; -1 is `{}`.
        public internal(set) var labels: Int32 = -1
        public internal(set) var priority: Int8 = 0
        public internal(set) var flags: Flags = []
    }

    public struct Edge: Equatable, Sendable {
        public enum Target: Equatable, Sendable {
            /// Another operation of this submission.
            case local(Int32)
            /// In `externals`.
            case external(Int32)
        }
        public var from: Int32
        /// A place in this submission, or of an external one minus its place minus one.
        var on: Int32
        public var when: EdgeCondition
        public var target: Target { on >= 0 ? .local(on) : .external(-1 - on) }
    }

    public internal(set) var operations: [Operation] = []
    /// Not in any particular order; no two are equal.
    public internal(set) var edges: [Edge] = []
    /// Names of operations, and every text that edges refer to.
    public internal(set) var names = TextTable()
    public internal(set) var queues = TextTable()
    public internal(set) var commands = TextTable()
    public internal(set) var details = TextTable()
    public internal(set) var labelSets = TextTable()
    public internal(set) var categorySets: [[CategoryUse]] = []
    public internal(set) var policies: [Policy] = []
    /// References to operations that exist already: `12`, `build@g3`, and where no other operation of the submission
    /// has a name, `build`.
    public internal(set) var externals: [String] = []
    /// Environment that `defaults` lays over the captured one, under the operations' own.
    public internal(set) var environment = StringMap()
    /// Idempotency keys that operations bear.
    public internal(set) var keys: [(operation: Int32, key: String)] = []

    public func name(of index: Int) -> String? {
        let name = operations[index].name
        return name < 0 ? nil : names[name]
    }
}

/// Something that keeps a submission from being taken.
struct GraphProblem: Equatable, Sendable {
    /// Place in the flattened graph.
    var index: Int?
    var name: String?
    /// Path from the operation, `retry.limit`, or in the submission: `defaults.timeout`.
    var key: String?
    var message: String
    /// The byte in its part at which it was found.
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

/// All that is wrong with a submission, up to `Limits.problems`.
public struct GraphRefusal: Error, Equatable, Sendable {
    var problems: [GraphProblem]
    public var error: ControlError { .invalidOperation(problems.map(\.wire)) }
}

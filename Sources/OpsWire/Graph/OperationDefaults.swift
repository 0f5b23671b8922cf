/// Defaults for every operation with a command. Groups take only queue, priority and labels from them.
struct OperationDefaults: Sendable {
    var policy = Policy()
    var details = OperationDetails()
    /// Indices in the tables, as in an operation.
    var command: Int32 = -1
    var queue: Int32 = -1
    var priority: Int8?
    var categories: Int32 = -1
    var labels = StringMap()
    var flags: GraphInput.Flags = []
    /// Indices in `GraphInput.names`, with the required states.
    var after: [GraphInput.Edge] = []
    /// Indices of `policy` and `details` in their tables.
    var policyIndex: Int32 = -1
    var detailsIndex: Int32 = -1
}

/// An operation while its keys are read.
struct OperationDraft: Sendable {
    var index: Int32
    var seen: UInt64 = 0
    var operation = GraphInput.Operation()
    var priority: Int8?
    /// Policy and details; nil until one of their keys is read, as long as the defaults apply.
    var policy: Policy?
    var details: OperationDetails?
    var labels: StringMap?
    var hasUnknownKey = false
    var start: Int
    /// Number of problems that were known when its reading began.
    var knownProblems: Int

    func has(_ key: OperationKey) -> Bool { seen & key.bit != 0 }
}

/// Results for the previous operation, because neighbouring operations are often alike.
struct DecoderCache: Sendable {
    var policies: [Policy: Int32] = [:]
    var lastPolicy: (value: Policy, index: Int32)?
    var categories: [[CategoryUse]: Int32] = [:]
    /// Number of members of all these sets.
    var categoryUses = 0
    /// Buffer for the JSON of a value before it is interned.
    var scratch = JSONWriter()
}

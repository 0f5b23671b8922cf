/// Keys that are laid under every operation with a command; groups take queue, priority and labels from them alone.
struct OperationDefaults: Sendable {
    var policy = Policy()
    var details = OperationDetails()
    /// Places in the tables, as those of an operation.
    var command: Int32 = -1
    var queue: Int32 = -1
    var priority: Int8?
    var categories: Int32 = -1
    var labels = StringMap()
    var flags: GraphInput.Flags = []
    /// In `GraphInput.names`, with what is awaited of them.
    var after: [GraphInput.Edge] = []
    /// Places of `policy` and `details` in their tables.
    var policyIndex: Int32 = -1
    var detailsIndex: Int32 = -1
}

/// One operation while its keys are read.
struct OperationDraft: Sendable {
    var index: Int32
    var seen: UInt64 = 0
    var operation = GraphInput.Operation()
    var priority: Int8?
    /// Nil until a key of theirs was met: then the defaults' hold.
    var policy: Policy?
    var details: OperationDetails?
    var labels: StringMap?
    var hasUnknownKey = false
    var start: Int
    /// Problems that were known when it began.
    var knownProblems: Int

    func has(_ key: OperationKey) -> Bool { seen & key.bit != 0 }
}

/// Results of the last operation's values: neighbours are often alike.
struct DecoderCache: Sendable {
    var policies: [Policy: Int32] = [:]
    var lastPolicy: (value: Policy, index: Int32)?
    var categories: [[CategoryUse]: Int32] = [:]
    /// The members of all of these.
    var categoryUses = 0
    /// The labels that each label set was made of, as long as groups hand theirs down.
    var scratch = JSONWriter()
}

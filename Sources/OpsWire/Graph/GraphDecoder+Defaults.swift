/// Reads the defaults of a submission: keys that apply to all operations that do not set them.
extension GraphDecoder {
    mutating func read(defaults bytes: [UInt8]) {
        var draft = OperationDraft(index: -1, start: 0, knownProblems: 0)
        do throws(JSONError) {
            try bytes.withUnsafeBufferPointer { buffer throws(JSONError) in
                var scanner = JSONScanner(buffer)
                scanner.countsLines = false
                guard try scanner.peek() == .object else { throw scanner.error(.expected("an object")) }
                try scanner.beginObject()
                _ = try readMembers(&draft, &scanner)
                try scanner.end()
            }
        } catch {
            report(draft, key: nil, error.reason.text, at: error.offset)
            isBroken = true
            return
        }
        if draft.has(.command), draft.has(.shell) {
            report(draft, key: "shell", "there is also a \"command\"; only one of them is possible")
        }
        take(draft)
    }

    private mutating func take(_ draft: OperationDraft) {
        defaults.command = draft.operation.command
        defaults.queue = draft.operation.queue
        defaults.priority = draft.priority
        defaults.categories = draft.operation.categories
        defaults.labels = draft.labels ?? StringMap()
        defaults.flags = draft.operation.flags.intersection([.barrier, .held])
        defaults.after = input.edges
        input.edges = []
        var details = draft.details ?? OperationDetails()
        // Stored once for all operations, not with each one that has variables of its own.
        input.environment = details.environment
        details.environment = StringMap()
        defaults.details = details
        defaults.policy = draft.policy ?? Policy()
        defaults.policy.conditions = details.conditions.map(\.policy)
        defaults.policy.observers = details.observers.present
        defaults.detailsIndex = detailsIndex(defaults.details)
        defaults.policyIndex = policyIndex(defaults.policy)
    }

    mutating func applyDefaultEdges(to draft: OperationDraft) {
        // An operation that all others wait for does not wait for itself.
        for edge in defaults.after where edge.on != draft.operation.name {
            append(GraphInput.Edge(from: draft.index, on: edge.on, when: edge.when))
        }
    }
}

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
        setDefaults(draft)
    }

    private mutating func setDefaults(_ draft: OperationDraft) {
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

    /// Adds the dependencies of the defaults to the operations without own ones. `finish` calls this, when all names
    /// are known: the name of a group may come after its children.
    mutating func applyDefaultEdges() {
        for index in withDefaultEdges {
            for edge in defaults.after where !isNeeded(index, by: edge.on) {
                append(GraphInput.Edge(from: index, on: edge.on, when: edge.when))
                if isBroken { return }
            }
        }
    }

    /// Returns true if the named operation cannot succeed before this one has finished: it is this operation, a group
    /// around it, or an operation whose condition provides it or such a group.
    private func isNeeded(_ operation: Int32, by name: Int32) -> Bool {
        let named = operationOfName[Int(name)]
        guard named >= 0 else { return false }
        // The operations around this one come before it. A provided operation is in the group of its provider.
        var index = operation
        while index > named { index = providers[index] ?? input.operations[Int(index)].parent }
        return index == named
    }
}

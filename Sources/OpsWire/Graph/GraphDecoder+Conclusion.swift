/// Checks and conclusions that need all keys of an operation.
extension GraphDecoder {
    /// Checks the keys of an operation together, and stores their indices in the tables.
    mutating func conclude(_ draft: inout OperationDraft) {
        let isGroup = draft.operation.flags.contains(.group)
        if isGroup { checkGroup(draft) } else { checkPlain(&draft) }
        if !isGroup, !draft.has(.after), !defaults.after.isEmpty { withDefaultEdges.append(draft.index) }
        if !isGroup {
            if !draft.has(.barrier) { draft.operation.flags.formUnion(defaults.flags.intersection(.barrier)) }
            if !draft.has(.held) { draft.operation.flags.formUnion(defaults.flags.intersection(.held)) }
            if !draft.has(.categories) { draft.operation.categories = defaults.categories }
        }
        draft.operation.priority = draft.priority ?? .min
        let details = concludedDetails(draft, isGroup: isGroup)
        draft.operation.details = details.map { detailsIndex($0) } ?? (isGroup ? -1 : defaults.detailsIndex)
        let policy = concludedPolicy(draft, details, isGroup: isGroup)
        draft.operation.policy = policy.map { policyIndex($0) } ?? (isGroup ? -1 : defaults.policyIndex)
        if let labels = draft.labels { draft.operation.labels = labelsIndex(labels) }
    }

    private mutating func checkGroup(_ draft: OperationDraft) {
        for key in OperationKey.allCases where key.isOfProcess && draft.has(key) {
            report(draft, key: key.text, "a group has no process; give it to the operations inside")
        }
    }

    private mutating func checkPlain(_ draft: inout OperationDraft) {
        // A wrong value of these keys has already been reported.
        if draft.has(.operations) || draft.has(.include) { return }
        if draft.has(.limit) { report(draft, key: "limit", "only a group (with \"operations\") has a limit") }
        if draft.has(.command), draft.has(.shell) {
            report(draft, key: "shell", "there is also a \"command\"; only one of them is possible")
        } else if draft.has(.http) {
            if draft.has(.command) || draft.has(.shell) {
                report(draft, key: "http", "there is also a command; only one of them is possible")
            } else if let http = draft.details?.http {
                draft.operation.command = transferCommand(http, draft)
            }
        } else if !draft.has(.command), !draft.has(.shell) {
            draft.operation.command = defaults.command
            // An unknown key may be a mistyped one of these, and has already been reported.
            if defaults.command < 0, !draft.hasUnknownKey {
                report(draft, key: nil, "has no \"command\", \"shell\", \"http\" or \"operations\"")
            }
        }
    }

    /// Returns the index of the command that stands for a transfer.
    private mutating func transferCommand(_ http: HTTPOptions, _ draft: OperationDraft) -> Int32 {
        var writer = JSONWriter()
        http.command.write(to: &writer)
        guard let index = input.commands.intern(writer.bytes) else {
            report(draft, key: "http", "the commands together are too long")
            return -1
        }
        return index
    }

    /// Returns the details of an operation; nil if they do not differ from the defaults.
    private func concludedDetails(_ draft: OperationDraft, isGroup: Bool) -> OperationDetails? {
        guard let own = draft.details, isGroup else { return draft.details }
        var details = OperationDetails()
        if draft.has(.conditions) { details.conditions = own.conditions }
        if draft.has(.observers) { details.observers = own.observers }
        return details
    }

    private func concludedPolicy(_ draft: OperationDraft, _ details: OperationDetails?, isGroup: Bool) -> Policy? {
        guard draft.policy != nil || draft.has(.conditions) || draft.has(.observers) else { return nil }
        var policy = draft.policy ?? defaults.policy
        if isGroup {
            let own = policy
            policy = Policy()
            policy.childLimit = own.childLimit
            if draft.has(.timeout) { policy.timeout = own.timeout }
            if draft.has(.deadline) { policy.deadline = own.deadline }
            if draft.has(.notBefore) { policy.notBefore = own.notBefore }
        }
        if let details {
            policy.conditions = details.conditions.map(\.policy)
            policy.observers = details.observers.present
        }
        return policy
    }
}

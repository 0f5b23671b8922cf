internal import OpsCore
internal import OpsWire

/// An edit of operations, before it is merged with the keys of each of them.
struct Edits: Sendable {
    /// A key that does not apply to its operation, or an operation that cannot be edited with any key (`key` is nil).
    struct Refusal: Error {
        let id: OperationID
        let key: String?
        let reason: String
    }

    private let ids: [OperationID]
    private let edit: OperationEdit

    init(_ ids: [OperationID], _ edit: OperationEdit) {
        self.ids = ids
        self.edit = edit
    }

    /// Returns the event for a scheduler.
    func event(for core: Scheduler) throws(Refusal) -> Event {
        try requireMeaning(core)
        return .edit(together(core))
    }

    /// Refuses a key that does not apply to its operation, as at submission, and an operation that has finished.
    private func requireMeaning(_ core: Scheduler) throws(Refusal) {
        for id in ids {
            guard core.contains(id) else {
                throw Refusal(
                    id: id, key: nil,
                    reason: "has finished already; opsctl retry runs it again, opsctl submit --again with changes")
            }
            if let found = edit.meaningless(forGroup: core.isGroup(id)) {
                throw Refusal(id: id, key: found.key, reason: found.reason)
            }
            if edit.needsStoredRetry, core.policy(of: id)?.retry == nil {
                throw Refusal(
                    id: id, key: "retry",
                    reason: "has no retries; add their number with \"limit\", or with opsctl set --retry N")
            }
        }
    }

    /// Edits each policy that occurs once, for all operations that have it.
    private func together(_ core: Scheduler) -> [EditedTogether] {
        var change = Edit(
            priority: edit.priority, queue: edit.queue, categories: edit.categories.map(CategoryUse.strictest),
            command: edit.command)
        guard edit.changesPolicy else { return [EditedTogether(ids, change)] }
        var groups: [EditedTogether] = []
        var indices: [Policy: Int] = [:]
        for id in ids {
            let policy = core.policy(of: id) ?? Policy()
            if let index = indices[policy] {
                groups[index].operations.append(id)
                continue
            }
            indices[policy] = groups.count
            change.policy = edit.applied(to: policy)
            groups.append(EditedTogether([id], change))
        }
        return groups
    }
}

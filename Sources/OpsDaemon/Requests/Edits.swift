internal import OpsCore
internal import OpsWire

/// An edit of operations, before it is merged with the keys of each of them.
struct Edits: Sendable {
    /// A key that does not apply to its operation.
    struct Refusal: Error {
        let id: OperationID
        let key: String
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

    /// Refuses a key that does not apply to its operation, as at submission. The scheduler refuses finished operations.
    private func requireMeaning(_ core: Scheduler) throws(Refusal) {
        for id in ids where core.contains(id) {
            guard let found = edit.meaningless(forGroup: core.isGroup(id)) else { continue }
            throw Refusal(id: id, key: found.key, reason: found.reason)
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

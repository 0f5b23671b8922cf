extension Scheduler {
    mutating func addChild(_ child: OperationIndex, to parent: OperationIndex) {
        let group: GroupIndex
        if let present = registry.group(of: parent) {
            group = present
        } else {
            group = groups.insert(Group(parent: parent))
            table[parent].group = group
            openScopes(of: parent)
            invalidatePriority(of: parent)
        }
        if groups[group].children.count > 16, groups[group].children.count > 2 * Int(groups[group].unfinished) {
            let children = groups[group].children.filter { unfinished(OperationID($0)) != nil }
            groups[group].children = children
        }
        groups[group].children.append(table[child].id)
        groups[group].unfinished += 1
    }

    /// Lets the children of a group that has started become ready. A group without children finishes at once.
    mutating func startGroup(_ operation: OperationIndex) {
        releaseChildren(of: operation)
        if !registry.hasUnfinishedChildren(operation) { endGroup(operation) }
    }

    /// Unblocks the children of a group that has started, or of a producer that was retried with its products.
    mutating func releaseChildren(of operation: OperationIndex) {
        openScopes(of: operation)
        guard let group = group(of: operation) else { return }
        for id in groups[group].children {
            guard let child = unfinished(OperationID(id)), table[child].traits.contains(.groupNotStarted) else {
                continue
            }
            table[child].traits.remove(.groupNotStarted)
            unblock(child)
        }
    }

    /// Counts a finished child. The last one ends its parent.
    mutating func childEnded(_ parent: OperationIndex, _ child: OperationID, _ outcome: Outcome) {
        guard let group = group(of: parent) else { return }
        groups[group].unfinished -= 1
        if outcome.isUnsuccessful { registry.countUnsuccessful(child, below: parent) }
        guard groups[group].unfinished == 0, let index = execution(of: parent),
            !table[parent].traits.contains(.finishPending)
        else { return }
        if table[parent].isGroup {
            endGroup(parent)
        } else if executions[index].isOver {
            endOperation(parent)
        }
    }

    private mutating func endGroup(_ operation: OperationIndex) {
        guard let index = execution(of: operation), let group = table[operation].group.map({ groups[$0] }) else {
            return
        }
        if let end = executions[index].resolution {
            decide(operation, end.outcome, end.cause)
        } else if group.unsuccessful > 0 {
            decide(operation, .failed, .children(first: group.firstUnsuccessful, count: group.unsuccessful))
        } else {
            decide(operation, .succeeded, nil)
        }
    }

    // MARK: Categories that a group holds, as its children see them

    mutating func openScopes(of operation: OperationIndex) {
        guard let index = execution(of: operation), let group = group(of: operation),
            groups[group].scopes.isEmpty
        else { return }
        let bases = categories.needs(of: table[operation].categories)
        let held = executions[index].holding
        for (base, need) in zip(bases, held) {
            let assignment = executions[index].assigned.first { $0.category == need.category }
            let scope = categories.addScope(of: need, assignment, base: base.category)
            groups[group].scopes.append(HeldScope(base: base.category, scope: scope))
            categories[need.category].longHolders.append(operation)
            invalidateClaim(on: need.category)
        }
        if !held.isEmpty { invalidatePriority(of: operation) }
        reservations.requestReview()
    }

    /// Removes the scopes of a group whose children have all finished.
    mutating func closeScopes(of operation: OperationIndex, holding: [Need]) {
        guard let group = group(of: operation), !groups[group].scopes.isEmpty else { return }
        for need in holding {
            categories[need.category].longHolders.removeAll { $0 == operation }
            if categories[need.category].longHolders.isEmpty { setClaim(on: need.category, .min) }
        }
        for held in groups[group].scopes { categories.removeScope(held.scope) }
        groups[group].scopes = []
    }

    /// Resizes the scopes of groups that hold all of a category whose capacity has changed.
    mutating func resizeScopes(of category: CategoryIndex) {
        for holder in categories[category].longHolders {
            guard let group = group(of: holder), let index = execution(of: holder),
                let position = executions[index].holding.firstIndex(where: { $0.category == category }),
                executions[index].holding[position].mode == .exclusive
            else { continue }
            // The scopes have the order of what the group holds.
            let scope = groups[group].scopes[position].scope
            categories[scope].room.capacity = max(1, categories[category].room.capacity)
            let units = categories[category].units
            categories[scope].setUnits(units?.names ?? [], share: units?.share ?? 1)
            invalidateClaim(on: scope)
            resizeScopes(of: scope)
            wake(.category(scope))
        }
    }
}

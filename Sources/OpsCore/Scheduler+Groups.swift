extension Scheduler {
    mutating func adopt(_ child: OperationIndex, by parent: OperationIndex) {
        let family: FamilyIndex
        if let present = table[parent].family {
            family = present
        } else {
            family = families.insert(Family(parent: parent))
            table[parent].family = family
            openScopes(of: parent)
            doubt(parent)
        }
        if families[family].children.count > 16, families[family].children.count > 2 * Int(families[family].unfinished)
        {
            let children = families[family].children.filter { unfinished(OperationID($0)) != nil }
            families[family].children = children
        }
        families[family].children.append(table[child].id)
        families[family].unfinished += 1
    }

    /// A group has become executing: its children may.
    mutating func startGroup(_ operation: OperationIndex) {
        releaseChildren(of: operation)
        if !registry.hasUnfinishedChildren(operation) { endGroup(operation) }
    }

    /// A group, or a producer that was retried with its products, executes: what waited for that alone is ready.
    mutating func releaseChildren(of operation: OperationIndex) {
        openScopes(of: operation)
        guard let family = table[operation].family else { return }
        for id in families[family].children {
            guard let child = unfinished(OperationID(id)), table[child].traits.contains(.groupNotStarted) else {
                continue
            }
            table[child].traits.remove(.groupNotStarted)
            release(child)
        }
    }

    /// A child has finished; the last one lets its parent finish.
    mutating func childEnded(_ parent: OperationIndex, _ child: OperationID, _ outcome: Outcome) {
        guard let family = table[parent].family else { return }
        families[family].unfinished -= 1
        if outcome != .succeeded { registry.countUnsuccessful(child, below: parent) }
        guard families[family].unfinished == 0, let index = table[parent].execution,
            !table[parent].traits.contains(.ending)
        else { return }
        if table[parent].isGroup {
            endGroup(parent)
        } else if executions[index].isOver {
            endOperation(parent)
        }
    }

    private mutating func endGroup(_ operation: OperationIndex) {
        guard let index = table[operation].execution, let family = table[operation].family.map({ families[$0] }) else {
            return
        }
        if let end = executions[index].ending {
            decide(operation, end.outcome, end.cause)
        } else if family.unsuccessful > 0 {
            decide(operation, .failed, .children(first: family.firstUnsuccessful, count: family.unsuccessful))
        } else {
            decide(operation, .succeeded, nil)
        }
    }

    // MARK: What a group holds, as its children see it

    mutating func openScopes(of operation: OperationIndex) {
        guard let index = table[operation].execution, let family = table[operation].family,
            families[family].scopes.isEmpty
        else { return }
        let bases = categories.needs(of: table[operation].categories)
        let held = executions[index].holding
        for (base, need) in zip(bases, held) {
            let scope = categories.addScope(of: need, base: base.category)
            families[family].scopes.append((base.category, scope))
            categories[need.category].familyHolders.append(operation)
            doubtClaim(on: need.category)
        }
        if !held.isEmpty { doubt(operation) }
        reservations.doubt()
    }

    /// Removes the scopes of a group whose children have all finished.
    mutating func closeScopes(of operation: OperationIndex, holding: [Need]) {
        guard let family = table[operation].family, !families[family].scopes.isEmpty else { return }
        for need in holding {
            categories[need.category].familyHolders.removeAll { $0 == operation }
            if categories[need.category].familyHolders.isEmpty { setClaim(on: need.category, .min) }
        }
        for (_, scope) in families[family].scopes { categories.removeScope(scope) }
        families[family].scopes = []
    }

    /// A category has another capacity: so has the share of a group that holds all of it.
    mutating func resizeScopes(of category: CategoryIndex) {
        for holder in categories[category].familyHolders {
            guard let family = table[holder].family, let index = table[holder].execution else { continue }
            for (base, scope) in families[family].scopes where base == category {
                let need = executions[index].holding.first { $0.category == category }
                guard need?.mode == .exclusive else { continue }
                categories[scope].capacity = max(1, categories[category].capacity)
                doubtClaim(on: scope)
                resizeScopes(of: scope)
                wake(.category(scope))
            }
        }
    }
}

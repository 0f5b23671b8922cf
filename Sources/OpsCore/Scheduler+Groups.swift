extension Scheduler {
    /// Everything below a group or producer, parents before their children.
    func descendants(of place: Int32) -> [Int32] {
        var result: [Int32] = []
        guard table[place].family >= 0 else { return result }
        var open = [place]
        var next = 0
        while next < open.count {
            let family = table[open[next]].family
            next += 1
            guard family >= 0, families[family].unfinished > 0 else { continue }
            for id in families[family].children {
                guard let child = unfinished(OperationID(id)) else { continue }
                result.append(child)
                if table[child].family >= 0 { open.append(child) }
            }
        }
        return result
    }

    func isAncestor(_ ancestor: Int32, of place: Int32) -> Bool {
        var parent = table[place].parent
        while parent >= 0 {
            if parent == ancestor { return true }
            parent = table[parent].parent
        }
        return false
    }

    mutating func adopt(_ child: Int32, by parent: Int32) {
        if table[parent].family < 0 {
            table[parent].family = families.insert(Family(parent: parent, limit: nil))
            openScopes(of: parent)
            doubt(parent)
        }
        let family = table[parent].family
        if families[family].children.count > 16, families[family].children.count > 2 * Int(families[family].unfinished)
        {
            let children = families[family].children.filter { unfinished(OperationID($0)) != nil }
            families[family].children = children
        }
        families[family].children.append(table[child].id)
        families[family].unfinished += 1
    }

    /// A group has become executing: its children may.
    mutating func startGroup(_ place: Int32) {
        releaseChildren(of: place)
        if families[table[place].family].unfinished == 0 { endGroup(place) }
    }

    /// A group, or a producer that was retried with its products, executes: what waited for that alone is ready.
    mutating func releaseChildren(of place: Int32) {
        openScopes(of: place)
        let family = table[place].family
        for id in families[family].children {
            guard let child = unfinished(OperationID(id)), table[child].traits.contains(.groupNotStarted) else {
                continue
            }
            table[child].traits.remove(.groupNotStarted)
            release(child)
        }
    }

    /// A child has finished; the last one lets its parent finish.
    mutating func childEnded(_ parent: Int32, _ child: OperationID, _ outcome: Outcome) {
        let family = table[parent].family
        families[family].unfinished -= 1
        if outcome != .succeeded { countUnsuccessful(child, below: parent) }
        guard families[family].unfinished == 0, table[parent].state == .executing,
            !table[parent].traits.contains(.ending)
        else { return }
        if table[parent].isGroup {
            endGroup(parent)
        } else if executions[table[parent].place].isOver {
            endOperation(parent)
        }
    }

    mutating func countUnsuccessful(_ child: OperationID, below parent: Int32) {
        let family = table[parent].family
        families[family].unsuccessful += 1
        if families[family].firstUnsuccessful.rawValue == 0 { families[family].firstUnsuccessful = child }
    }

    private mutating func endGroup(_ place: Int32) {
        let family = families[table[place].family]
        if let end = executions[table[place].place].ending {
            decide(place, end.outcome, end.cause)
        } else if family.unsuccessful > 0 {
            decide(place, .failed, .children(first: family.firstUnsuccessful, count: family.unsuccessful))
        } else {
            decide(place, .succeeded, nil)
        }
    }

    // MARK: What a group holds, as its children see it

    /// The needs of an operation with each category that a group above it holds replaced by that group's share.
    func resolve(_ needs: [Need], under parent: Int32) -> [Need] {
        guard parent >= 0, !needs.isEmpty else { return needs }
        var result = needs
        for i in result.indices {
            var ancestor = parent
            search: while ancestor >= 0 {
                if table[ancestor].family >= 0 {
                    for (base, scope) in families[table[ancestor].family].scopes where base == needs[i].category {
                        result[i].category = scope
                        break search
                    }
                }
                ancestor = table[ancestor].parent
            }
        }
        return result
    }

    mutating func openScopes(of place: Int32) {
        guard table[place].state == .executing else { return }
        let family = table[place].family
        guard family >= 0, families[family].scopes.isEmpty else { return }
        let bases = categories.needs(of: table[place].categories)
        let held = executions[table[place].place].holding
        for (base, need) in zip(bases, held) {
            let scope = categories.addScope(of: need, base: base.category)
            families[family].scopes.append((base.category, scope))
            categories[need.category].familyHolders.append(place)
            doubtClaim(on: need.category)
        }
        if !held.isEmpty { doubt(place) }
        if reservations > 0 { reservationsInDoubt = true }
    }

    /// The share that `place` held is no more: its children have all finished.
    mutating func closeScopes(of place: Int32, holding: [Need]) {
        let family = table[place].family
        guard family >= 0, !families[family].scopes.isEmpty else { return }
        for need in holding {
            categories[need.category].familyHolders.removeAll { $0 == place }
            if categories[need.category].familyHolders.isEmpty { setClaim(on: need.category, .min) }
        }
        for (_, scope) in families[family].scopes { categories.removeScope(scope) }
        families[family].scopes = []
    }

    /// A category has another capacity: so has the share of a group that holds all of it.
    mutating func resizeScopes(of category: Int32) {
        for holder in categories[category].familyHolders {
            for (base, scope) in families[table[holder].family].scopes where base == category {
                let need = executions[table[holder].place].holding.first { $0.category == category }
                guard need?.mode == .exclusive else { continue }
                categories[scope].capacity = max(1, categories[category].capacity)
                doubtClaim(on: scope)
                resizeScopes(of: scope)
                wake(.category(scope))
            }
        }
    }

    func resolvedNeeds(of place: Int32) -> [Need] {
        resolve(categories.needs(of: table[place].categories), under: table[place].parent)
    }
}

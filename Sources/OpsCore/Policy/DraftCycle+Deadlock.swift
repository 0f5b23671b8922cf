extension DraftCycle {
    /// Returns the refusal of a deadlock: a group holds a category until its end, and an operation outside of the group
    /// that the group waits for needs the category.
    func deadlock(capacity: (String) -> Int32) -> Rejection? {
        guard submission.operations.contains(where: { $0.flags.contains(.group) && $0.categories != nil }) else {
            return nil
        }
        let sets = submission.categorySets.map { CategoryUse.strictest($0) }
        var names: [String] = []
        var index: [String: CategoryIndex] = [:]
        for use in sets.joined() where index[use.name] == nil {
            index[use.name] = CategoryIndex(rawValue: Int32(names.count))
            names.append(use.name)
        }
        let capacities = names.map { max(1, capacity($0)) }
        let members = submission.operations.indices.map { offset in
            let draft = submission.operations[offset]
            return DeadlockProblem.Member(
                enclosing: groups(above: Int32(offset)).first { holdsUntilChildrenFinish($0) },
                uses: draft.categories.map { sets[Int($0)] }?.compactMap { use in
                    guard let category = index[use.name] else { return nil }
                    let share = domain(of: use.name, above: Int32(offset), sets)
                    return DeadlockProblem.Use(
                        domain: share.group, need: Need(category: category, mode: use.mode, units: use.units),
                        capacity: share.units ?? capacities[category.offset])
                } ?? [],
                holdsUntilChildrenFinish: holdsUntilChildrenFinish(Int32(offset)))
        }
        var problem = DeadlockProblem(members, arcs)
        guard let deadlock = problem.deadlock() else { return nil }
        let cycle = deadlock.cycle.map { DraftEdge.Target.local($0) }
        return deadlock.category.map { .deadlock(cycle, category: names[$0.offset]) } ?? .cycle(cycle)
    }

    private var arcs: [DeadlockProblem.Arc] {
        var result: [DeadlockProblem.Arc] = []
        result.reserveCapacity(arcCount)
        for node in 0..<nodeCount {
            forEach(after: node) { after in
                // The start of each comes before its end anyway.
                if Int(after) != node + 1 || node % 2 == 1 {
                    result.append(DeadlockProblem.Arc(before: Int32(node), after: after))
                }
            }
        }
        return result
    }

    private func holdsUntilChildrenFinish(_ offset: Int32) -> Bool {
        let draft = submission.operations[Int(offset)]
        return draft.flags.contains(.group) && draft.categories != nil
    }

    /// Returns the nearest group around an operation that names a category, and the number of units of its share, if
    /// that is limited. A group that holds all of the category has what the next group around it holds.
    private func domain(
        of name: String, above offset: Int32, _ sets: [[CategoryUse]]
    ) -> (group: Int32?, units: Int32?) {
        var nearest: Int32?
        for group in groups(above: offset) {
            guard let set = submission.operations[Int(group)].categories,
                let share = sets[Int(set)].first(where: { $0.name == name })
            else { continue }
            if nearest == nil { nearest = group }
            if share.mode != .exclusive { return (nearest, share.mode == .units ? share.units : nil) }
        }
        return (nearest, nil)
    }
}

extension DraftCycle {
    /// A circle that a category ties: what a group holds until its end is wanted in between, outside of it.
    func lockUp(capacity: (String) -> Int32) -> Rejection? {
        guard submission.operations.contains(where: { $0.flags.contains(.group) && $0.categories >= 0 }) else {
            return nil
        }
        let sets = submission.categorySets.map { CategoryUse.strictest($0) }
        var names: [String] = []
        var index: [String: Int32] = [:]
        for use in sets.joined() where index[use.name] == nil {
            index[use.name] = Int32(names.count)
            names.append(use.name)
        }
        let capacities = names.map { max(1, capacity($0)) }
        let members = submission.operations.indices.map { place in
            let draft = submission.operations[place]
            return Entanglement.Member(
                enclosing: groups(above: Int32(place)).first { isSpan($0) } ?? -1,
                uses: draft.categories < 0
                    ? []
                    : sets[Int(draft.categories)].map { use in
                        let domain = holder(of: use.name, above: Int32(place), sets)
                        let category = index[use.name] ?? 0
                        var bound = capacities[Int(category)]
                        if let share = domain?.share, share.mode == .units { bound = share.units }
                        return Entanglement.Use(
                            category: category, domain: domain?.group ?? -1,
                            need: Need(category: category, mode: use.mode, units: use.units), capacity: bound)
                    },
                isSpan: isSpan(Int32(place)))
        }
        var problem = Entanglement(members, arcs)
        guard let knot = problem.knot() else { return nil }
        let circle = knot.circle.map { DraftEdge.Target.local($0) }
        return knot.category < 0 ? .cycle(circle) : .lockUp(circle, category: names[Int(knot.category)])
    }

    private var arcs: [Entanglement.Arc] {
        var result: [Entanglement.Arc] = []
        result.reserveCapacity(targets.count)
        for node in heads.indices {
            var arc = heads[node]
            while arc >= 0 {
                let after = targets[Int(arc)]
                // The start of each comes before its end anyway.
                if Int(after) != node + 1 || node % 2 == 1 {
                    result.append(Entanglement.Arc(before: Int32(node), after: after))
                }
                arc = next[Int(arc)]
            }
        }
        return result
    }

    private func isSpan(_ place: Int32) -> Bool {
        let draft = submission.operations[Int(place)]
        return draft.flags.contains(.group) && draft.categories >= 0
    }

    /// The nearest group around an operation that names a category, and what it takes of it.
    private func holder(
        of name: String, above place: Int32, _ sets: [[CategoryUse]]
    ) -> (group: Int32, share: CategoryUse)? {
        for group in groups(above: place) where submission.operations[Int(group)].categories >= 0 {
            let share = sets[Int(submission.operations[Int(group)].categories)].first { $0.name == name }
            if let share { return (group, share) }
        }
        return nil
    }
}

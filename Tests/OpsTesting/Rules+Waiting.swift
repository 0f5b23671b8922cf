import OpsCore

/// The start or the end of an operation, as something that others wait for.
struct Milestone: Hashable {
    var id: OperationID
    var isEnd: Bool
}

extension Rules {
    /// What has to come to pass before this can; holders of categories count only where they have others to wait for.
    func before(_ milestone: Milestone) -> [Milestone] {
        let record = store[milestone.id]
        if milestone.isEnd {
            let children = store.children(of: record.id).filter { !$0.isFinished }
            return (record.isWaiting ? [Milestone(id: record.id, isEnd: false)] : [])
                + children.map { Milestone(id: $0.id, isEnd: true) }
        }
        guard record.isWaiting else { return [] }
        var result = record.edges.filter { !isSatisfied($0) && !store[$0.on].isFinished }.map {
            Milestone(id: $0.on, isEnd: $0.when != .started)
        }
        result += barriersAhead(of: record).map { Milestone(id: $0, isEnd: true) }
        if let parent = record.parent, store[parent].isWaiting { result.append(Milestone(id: parent, isEnd: false)) }
        result += familiesInTheWay(of: record).map { Milestone(id: $0.id, isEnd: true) }
        return result
    }

    /// Groups and producers that hold what it has no room in.
    func familiesInTheWay(of record: Record) -> [Record] {
        shortCategories(of: record).flatMap { holders(for: record, $0) }.filter { holder in
            holder.isGroup || store.records.contains { $0.parent == holder.id && !$0.isFinished }
        }
    }

    /// All that must come to pass before any of these, however indirectly, these included.
    func allBefore(_ milestones: [Milestone]) -> Set<Milestone> {
        var seen = Set(milestones)
        var open = milestones
        while let next = open.popLast() {
            for other in before(next) where seen.insert(other).inserted { open.append(other) }
        }
        return seen
    }

    /// Whether an operation with a kept place waits, through a group that holds what it needs, for the other to start.
    func waits(_ kept: Record, for other: OperationID) -> Bool {
        let holders = familiesInTheWay(of: kept).map { Milestone(id: $0.id, isEnd: true) }
        return allBefore(holders).contains(Milestone(id: other, isEnd: false))
    }

    /// Whether a group that started now would hold, until its end, what an operation outside needs that its children
    /// wait for: neither would ever go on.
    func locksUp(_ group: Record) -> Bool {
        guard group.isGroup, !group.categories.isEmpty else { return false }
        return allBefore([Milestone(id: group.id, isEnd: true)]).contains { milestone in
            let other = store[milestone.id]
            return !milestone.isEnd && other.isWaiting && other.id != group.id
                && !store.ancestors(of: other).contains { $0.id == group.id } && takes(group, from: other)
        }
    }
}

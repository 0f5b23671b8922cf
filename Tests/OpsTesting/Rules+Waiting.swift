import OpsCore

/// The start or the end of an operation, as something that others wait for.
struct Milestone: Hashable {
    var id: OperationID
    var isEnd: Bool
}

extension Rules {
    /// Returns the milestones that must come before this one, apart from categories.
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
        return result
    }

    /// It holds what it takes until its children have ended.
    func isSpan(_ record: Record) -> Bool {
        !record.isFinished && !record.categories.isEmpty
            && (record.isGroup || store.records.contains { $0.parent == record.id && !$0.isFinished })
    }

    /// Spans that hold what it has no room in.
    func spansInTheWay(of record: Record) -> [Record] {
        shortCategories(of: record).flatMap { holders(for: record, $0) }.filter(isSpan)
    }

    /// Returns true if groups that wait, however indirectly, for this start hold something that an operation with a
    /// reservation needs.
    func isAwaited(_ other: OperationID, by kept: [Record]) -> Bool {
        let held = kept.flatMap { spansInTheWay(of: $0) }.map { Milestone(id: $0.id, isEnd: true) }
        return allBeforeWhole(held).contains(Milestone(id: other, isEnd: false))
    }
}

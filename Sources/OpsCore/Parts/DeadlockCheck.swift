/// Groups that yield because their start would close a deadlock. The check reads views of the registry and copies
/// nothing.
struct DeadlockCheck: Codable {
    /// For each such group, the shortest cycle that its start would close: checking it again is cheap.
    private var cycles: [OperationIndex: [WaitNode]] = [:]

    /// Returns whether a group must not start yet, since an operation that it waits for would wait for its end.
    mutating func mustYield(_ group: OperationIndex, _ needs: [Need], in registry: Registry) -> Bool {
        guard !needs.isEmpty, registry.holdsUntilChildrenFinish(group) else { return false }
        if let cycle = cycles[group] {
            if registry.stands(cycle, from: group, needs) { return true }
            cycles[group] = nil
        }
        guard let found = WaitView(registry).deadlock(starting: group, needs) else { return false }
        if !found.path.isEmpty { cycles[group] = found.path }
        return true
    }

    mutating func forget(_ operation: OperationIndex) { if !cycles.isEmpty { cycles[operation] = nil } }

    /// `isWaiting`: whether an operation waits for its turn.
    func checkInvariants(isWaiting: (OperationIndex) -> Bool) -> [String] {
        var broken: [String] = []
        for (group, cycle) in cycles where !isWaiting(group) || cycle.first != .end(group) {
            broken.append("deadlocks: a cycle of \(cycle.count) events is kept for a group that does not wait")
        }
        return broken
    }
}

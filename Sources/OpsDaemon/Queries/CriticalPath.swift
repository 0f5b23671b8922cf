internal import OpsCore
internal import OpsStore
internal import OpsSystem

/// The chain of operations with the largest sum of run times, each of which waited for the one before.
///
/// Every operation has two points, its start and its end. A child starts after its group, and the group ends after its
/// children. So an operation that waits for a group waits for the slowest child.
struct CriticalPath {
    private var ids: [OperationID] = []
    private var runs: [TimeSpan] = []
    private var groups: [OperationID?] = []
    private var edges: [Snapshot.Edge] = []

    mutating func add(_ node: GraphNode) {
        ids.append(node.id)
        groups.append(node.group)
        var run = TimeSpan.zero
        if !node.isGroup, let started = node.startedAt, let finished = node.finishedAt {
            run = max(.zero, finished - started)
        }
        runs.append(run)
    }

    mutating func add(_ edge: Snapshot.Edge) { edges.append(edge) }

    /// Returns the operations of the chain without groups, in order, and its length.
    func longest() -> ([OperationID], TimeSpan) {
        let steps = points()
        var missing = [Int32](repeating: 0, count: steps.count)
        for list in steps { for next in list { missing[next] += 1 } }
        var free = steps.indices.filter { missing[$0] == 0 }
        var best = [TimeSpan](repeating: .zero, count: steps.count)
        var before = [Int](repeating: -1, count: steps.count)
        var last = -1
        var taken = 0
        while taken < free.count {
            let point = free[taken]
            taken += 1
            // The run time of an operation lies between its start and its end.
            let reached = point % 2 == 0 ? best[point].clampedSum(runs[point / 2]) : best[point]
            if point % 2 == 1, last < 0 || best[point] > best[last] { last = point }
            for next in steps[point] {
                let length = next == point + 1 ? reached : best[point]
                if length > best[next] || before[next] < 0 { (best[next], before[next]) = (length, point) }
                missing[next] -= 1
                if missing[next] == 0 { free.append(next) }
            }
        }
        var path: [OperationID] = []
        var point = last
        while point >= 0 {
            if point % 2 == 1, runs[point / 2] > .zero { path.append(ids[point / 2]) }
            point = before[point]
        }
        return (path.reversed(), last < 0 ? .zero : best[last])
    }

    /// Returns the successors of each point: `2 * index` is the start of an operation, `2 * index + 1` its end.
    private func points() -> [[Int]] {
        var indices: [OperationID: Int] = [:]
        indices.reserveCapacity(ids.count)
        for (index, id) in ids.enumerated() { indices[id] = index }
        var steps = [[Int]](repeating: [], count: 2 * ids.count)
        for index in ids.indices {
            steps[2 * index].append(2 * index + 1)
            if let group = groups[index].flatMap({ indices[$0] }) {
                steps[2 * group].append(2 * index)
                steps[2 * index + 1].append(2 * group + 1)
            }
        }
        for edge in edges {
            guard let from = indices[edge.from], let on = indices[edge.on] else { continue }
            steps[2 * on + (edge.when == .started ? 0 : 1)].append(2 * from)
        }
        return steps
    }
}

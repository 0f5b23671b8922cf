/// The longest estimated paths of a submission: the estimate of each operation and of everything behind it.
extension Submission {
    /// Stores the longest path of each operation that `isRanked` selects. `estimates`: milliseconds that each operation
    /// takes by itself; those of groups do not count. Operations in a cycle have no path: such a submission is refused.
    public mutating func setLongestPaths(_ estimates: [Int64], where isRanked: (Int) -> Bool) {
        let paths = longestPaths(estimates)
        for offset in operations.indices where isRanked(offset) {
            operations[offset].path = EstimatedPath(milliseconds: paths[offset])
        }
    }

    /// Returns the longest path of each operation in milliseconds.
    ///
    /// Two numbers per operation: the time from its start on, and the time from its end on. The end of a group is
    /// followed by what waits for the group; its start is followed by its children.
    func longestPaths(_ estimates: [Int64]) -> [Int64] {
        let count = operations.count
        var waits = WaitLists(count: count, edges: edges, operations: operations)
        var fromStart = [Int64](repeating: 0, count: count)
        var fromEnd = [Int64](repeating: 0, count: count)
        while let node = waits.popResolved() {
            let offset = node.offset
            let time: Int64
            if node.isEnd {
                time = fromEnd[offset]
                let own = operations[offset].flags.contains(.group) ? 0 : estimates[offset]
                fromStart[offset] = max(fromStart[offset], time.addingReportingOverflow(own).partialValue)
            } else {
                time = fromStart[offset]
            }
            waits.forEachBefore(node) { before in
                if before.isEnd {
                    fromEnd[before.offset] = max(fromEnd[before.offset], time)
                } else {
                    fromStart[before.offset] = max(fromStart[before.offset], time)
                }
            }
            waits.resolve(node)
        }
        return fromStart
    }
}

/// The start or the end of an operation of a submission.
private struct PathNode {
    let offset: Int
    let isEnd: Bool
    var index: Int { offset * 2 + (isEnd ? 1 : 0) }

    init(_ offset: Int32, isEnd: Bool) { (self.offset, self.isEnd) = (Int(offset), isEnd) }
    init(index: Int) { (offset, isEnd) = (index / 2, index % 2 == 1) }
}

/// For each start and end, the starts and ends that come before it, in one flat array; and how many that come after
/// it are not resolved yet.
private struct WaitLists {
    private var heads: [Int32]
    private var before: [PathNode] = []
    private var following: [Int32]
    private var resolved: [PathNode] = []

    init(count: Int, edges: [DraftEdge], operations: [Draft]) {
        heads = [Int32](repeating: 0, count: count * 2 + 1)
        following = [Int32](repeating: 0, count: count * 2)
        var pairs: [(before: PathNode, after: PathNode)] = []
        pairs.reserveCapacity(edges.count + count)
        for edge in edges {
            guard case .local(let on) = edge.on else { continue }
            pairs.append((PathNode(on, isEnd: edge.when != .started), PathNode(edge.from, isEnd: false)))
        }
        for offset in 0..<Int32(count) {
            pairs.append((PathNode(offset, isEnd: false), PathNode(offset, isEnd: true)))
            guard let group = operations[Int(offset)].group else { continue }
            pairs.append((PathNode(group, isEnd: false), PathNode(offset, isEnd: false)))
            pairs.append((PathNode(offset, isEnd: true), PathNode(group, isEnd: true)))
        }
        for pair in pairs {
            heads[pair.after.index + 1] += 1
            following[pair.before.index] += 1
        }
        for index in 1..<max(1, heads.count) { heads[index] += heads[index - 1] }
        var next = heads
        before = [PathNode](repeating: PathNode(index: 0), count: pairs.count)
        for pair in pairs {
            before[Int(next[pair.after.index])] = pair.before
            next[pair.after.index] += 1
        }
        resolved = following.indices.filter { following[$0] == 0 }.map(PathNode.init(index:))
    }

    mutating func popResolved() -> PathNode? { resolved.popLast() }

    func forEachBefore(_ node: PathNode, _ body: (PathNode) -> Void) {
        for index in heads[node.index]..<heads[node.index + 1] { body(before[Int(index)]) }
    }

    /// Counts a node as resolved for those before it.
    mutating func resolve(_ node: PathNode) {
        for index in heads[node.index]..<heads[node.index + 1] {
            let other = before[Int(index)]
            following[other.index] -= 1
            if following[other.index] == 0 { resolved.append(other) }
        }
    }
}

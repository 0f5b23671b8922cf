/// Looks for a cycle among the operations of one submission, whose nodes are the start and the end of each:
/// an operation starts after what it depends on and after its group has; a group ends after its children.
/// Barriers count: one starts after all before it in its queue, and all after it start when it has ended.
struct DraftCycle {
    let submission: Submission
    /// Node 2i is the start of operation i, 2i+1 its end; `heads` and `following` list the nodes after each.
    private var heads: [Packed<ArcIndex>]
    private var following: [Packed<ArcIndex>] = []
    private var targets: [Int32] = []
    private var outstanding: [Int32]

    /// One arc between two nodes.
    private struct ArcIndex: Handle { let rawValue: Int32 }

    init(_ submission: Submission) {
        self.submission = submission
        let count = submission.operations.count
        heads = [Packed<ArcIndex>](repeating: Packed(wrappedValue: nil), count: 2 * count)
        outstanding = [Int32](repeating: 0, count: 2 * count)
        for (i, draft) in submission.operations.enumerated() {
            let i = Int32(i)
            addArc(from: 2 * i, to: 2 * i + 1)
            guard let group = draft.group else { continue }
            addArc(from: 2 * group, to: 2 * i)
            addArc(from: 2 * i + 1, to: 2 * group + 1)
        }
        for edge in submission.edges {
            guard case .local(let on) = edge.on else { continue }
            addArc(from: edge.when == .started ? 2 * on : 2 * on + 1, to: 2 * edge.from)
        }
        addBarriers()
    }

    private mutating func addArc(from before: Int32, to after: Int32) {
        let arc = ArcIndex(rawValue: Int32(targets.count))
        targets.append(after)
        following.append(heads[Int(before)])
        heads[Int(before)].wrappedValue = arc
        outstanding[Int(after)] += 1
    }

    var nodeCount: Int { heads.count }
    var arcCount: Int { targets.count }

    /// Calls `body` with every node that comes after `node`, the newest arc first.
    func forEach(after node: Int, _ body: (Int32) -> Void) {
        var next = heads[node].wrappedValue
        while let arc = next {
            body(targets[arc.offset])
            next = following[arc.offset].wrappedValue
        }
    }

    private mutating func addBarriers() {
        var lastBarrier: [Int32: Int32] = [:]
        var segment: [Int32: [Int32]] = [:]
        guard submission.operations.contains(where: { $0.flags.contains(.barrier) }) else { return }
        for (i, draft) in submission.operations.enumerated() {
            let i = Int32(i)
            if let barrier = lastBarrier[draft.queue], !encloses(barrier, child: i) {
                addArc(from: 2 * barrier + 1, to: 2 * i)
                for above in groups(above: barrier)
                where submission.operations[Int(above)].flags.contains(.barrier)
                    && submission.operations[Int(above)].queue == draft.queue && !encloses(above, child: i)
                {
                    addArc(from: 2 * above + 1, to: 2 * i)
                }
            }
            guard draft.flags.contains(.barrier) else {
                segment[draft.queue, default: []].append(i)
                continue
            }
            // It does not wait for the groups around it; the next barrier outside of them does.
            let above = (segment[draft.queue] ?? []).filter { encloses($0, child: i) }
            for other in segment[draft.queue] ?? [] where !encloses(other, child: i) {
                addArc(from: 2 * other + 1, to: 2 * i)
            }
            segment[draft.queue] = above
            lastBarrier[draft.queue] = i
        }
    }

    func groups(above child: Int32) -> [Int32] {
        Array(sequence(first: child) { submission.operations[Int($0)].group }.dropFirst())
    }

    private func encloses(_ group: Int32, child: Int32) -> Bool {
        sequence(first: child) { submission.operations[Int($0)].group }.dropFirst().contains(group)
    }

    /// Returns the operations of a cycle in order, the first repeated at the end; nil if there is no cycle.
    func find() -> [DraftEdge.Target]? {
        var outstanding = outstanding
        var open: [Int32] = []
        for node in heads.indices where outstanding[node] == 0 { open.append(Int32(node)) }
        var done = 0
        while let node = open.popLast() {
            done += 1
            forEach(after: Int(node)) { after in
                outstanding[Int(after)] -= 1
                if outstanding[Int(after)] == 0 { open.append(after) }
            }
        }
        return done == heads.count ? nil : cycle(outstanding)
    }

    /// Each remaining node has a remaining node before it, so walking back from any of them closes a cycle.
    private func cycle(_ outstanding: [Int32]) -> [DraftEdge.Target] {
        var before = [Int32?](repeating: nil, count: heads.count)
        for node in heads.indices where outstanding[node] > 0 {
            forEach(after: node) { before[Int($0)] = Int32(node) }
        }
        guard var node = before.indices.first(where: { outstanding[$0] > 0 && before[$0] != nil }).map(Int32.init)
        else { return [] }
        var seen = [Bool](repeating: false, count: heads.count)
        while !seen[Int(node)], let earlier = before[Int(node)] {
            seen[Int(node)] = true
            node = earlier
        }
        // Walking back from here visits the nodes that each waits for, in order.
        let first = node
        var result = [DraftEdge.Target.local(first / 2)]
        repeat {
            node = before[Int(node)] ?? first
            if result.last != .local(node / 2) { result.append(.local(node / 2)) }
        } while node != first
        if result.count == 1 || result.last != result.first { result.append(result[0]) }
        return result
    }
}

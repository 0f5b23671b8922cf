/// Looks for a circle among the operations of one submission, whose nodes are the start and the end of each:
/// an operation starts after what it depends on and after its group has; a group ends after its children.
/// Barriers count: one starts after all before it in its queue, and all after it start when it has ended.
struct DraftCycle {
    let submission: Submission
    /// Node 2i is the start of operation i, 2i+1 its end; `heads` and `next` list what comes after each.
    private(set) var heads: [Int32]
    private(set) var next: [Int32] = []
    private(set) var targets: [Int32] = []
    private var outstanding: [Int32]

    init(_ submission: Submission) {
        self.submission = submission
        let count = submission.operations.count
        heads = [Int32](repeating: -1, count: 2 * count)
        outstanding = [Int32](repeating: 0, count: 2 * count)
        for (i, draft) in submission.operations.enumerated() {
            let i = Int32(i)
            arc(2 * i, 2 * i + 1)
            guard draft.group >= 0 else { continue }
            arc(2 * draft.group, 2 * i)
            arc(2 * i + 1, 2 * draft.group + 1)
        }
        for edge in submission.edges {
            guard case .local(let on) = edge.on else { continue }
            arc(edge.when == .started ? 2 * on : 2 * on + 1, 2 * edge.from)
        }
        addBarriers()
    }

    private mutating func arc(_ before: Int32, _ after: Int32) {
        targets.append(after)
        next.append(heads[Int(before)])
        heads[Int(before)] = Int32(targets.count - 1)
        outstanding[Int(after)] += 1
    }

    private mutating func addBarriers() {
        var lastBarrier: [Int32: Int32] = [:]
        var segment: [Int32: [Int32]] = [:]
        guard submission.operations.contains(where: { $0.flags.contains(.barrier) }) else { return }
        for (i, draft) in submission.operations.enumerated() {
            let i = Int32(i)
            if let barrier = lastBarrier[draft.queue], !holds(barrier, i) {
                arc(2 * barrier + 1, 2 * i)
                for above in groups(above: barrier)
                where submission.operations[Int(above)].flags.contains(.barrier)
                    && submission.operations[Int(above)].queue == draft.queue && !holds(above, i)
                {
                    arc(2 * above + 1, 2 * i)
                }
            }
            guard draft.flags.contains(.barrier) else {
                segment[draft.queue, default: []].append(i)
                continue
            }
            // It does not wait for the groups that hold it; the next barrier outside of them does.
            let above = (segment[draft.queue] ?? []).filter { holds($0, i) }
            for other in segment[draft.queue] ?? [] where !holds(other, i) { arc(2 * other + 1, 2 * i) }
            segment[draft.queue] = above
            lastBarrier[draft.queue] = i
        }
    }

    func groups(above child: Int32) -> [Int32] {
        var result: [Int32] = []
        var above = submission.operations[Int(child)].group
        while above >= 0 {
            result.append(above)
            above = submission.operations[Int(above)].group
        }
        return result
    }

    private func holds(_ group: Int32, _ child: Int32) -> Bool {
        var above = submission.operations[Int(child)].group
        while above >= 0 {
            if above == group { return true }
            above = submission.operations[Int(above)].group
        }
        return false
    }

    /// The operations of a circle in order, the first repeated at the end.
    func find() -> [DraftEdge.Target]? {
        var outstanding = outstanding
        var open: [Int32] = []
        for node in heads.indices where outstanding[node] == 0 { open.append(Int32(node)) }
        var done = 0
        while let node = open.popLast() {
            done += 1
            var arc = heads[Int(node)]
            while arc >= 0 {
                let after = targets[Int(arc)]
                outstanding[Int(after)] -= 1
                if outstanding[Int(after)] == 0 { open.append(after) }
                arc = next[Int(arc)]
            }
        }
        return done == heads.count ? nil : circle(outstanding)
    }

    /// Every node left has one left before it: walking back from any comes round.
    private func circle(_ outstanding: [Int32]) -> [DraftEdge.Target] {
        var before = [Int32](repeating: -1, count: heads.count)
        for node in heads.indices where outstanding[node] > 0 {
            var arc = heads[node]
            while arc >= 0 {
                before[Int(targets[Int(arc)])] = Int32(node)
                arc = next[Int(arc)]
            }
        }
        guard var node = before.indices.first(where: { outstanding[$0] > 0 && before[$0] >= 0 }).map(Int32.init) else {
            return []
        }
        var seen = [Bool](repeating: false, count: heads.count)
        while !seen[Int(node)] {
            seen[Int(node)] = true
            node = before[Int(node)]
        }
        // Walking back from here meets what each waits for, in order.
        let first = node
        var result = [DraftEdge.Target.local(first / 2)]
        repeat {
            node = before[Int(node)]
            if result.last != .local(node / 2) { result.append(.local(node / 2)) }
        } while node != first
        if result.count == 1 || result.last != result.first { result.append(result[0]) }
        return result
    }
}

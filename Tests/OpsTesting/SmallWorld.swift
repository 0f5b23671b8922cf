import OpsCore

/// A few operations, each with none, one or both of two categories.
struct SmallWorld {
    /// Categories of each operation as bits: 1 is "a", 2 is "b".
    var categories: [Int]
    var edges: [(from: Int, on: Int)]
    /// Index of the group of each operation, or -1.
    var parents: [Int]
    var slots: Int32

    var hasGroups: Bool { parents.contains { $0 >= 0 } }

    var submission: Submission {
        var submission = Submission()
        for (place, mask) in categories.enumerated() {
            let names = (mask & 1 > 0 ? ["a"] : []) + (mask & 2 > 0 ? ["b"] : [])
            submission.add(
                in: Int32(parents[place]), categories: names.map { CategoryUse(name: $0) },
                flags: isGroup(place) ? .group : [])
        }
        for edge in edges {
            submission.edges.append(DraftEdge(from: Int32(edge.from), on: .local(Int32(edge.on))))
        }
        return submission
    }

    private func isGroup(_ place: Int) -> Bool { parents.contains(place) }

    // MARK: By trying all orders

    /// True if in some order of starts and ends every operation can end.
    var canEnd: Bool {
        var seen: Set<Moves> = []
        var open = [Moves()]
        let all = (1 << categories.count) - 1
        while let moves = open.popLast() {
            if moves.ended == all { return true }
            guard seen.insert(moves).inserted else { continue }
            for place in categories.indices {
                var next = moves
                if canStart(place, moves) {
                    next.started |= 1 << place
                    // An operation that is not a group can end immediately, and then holds nothing.
                    if !isGroup(place) { next.ended |= 1 << place }
                    open.append(next)
                } else if isGroup(place), canEnd(place, moves) {
                    next.ended |= 1 << place
                    open.append(next)
                }
            }
        }
        return false
    }

    private struct Moves: Hashable {
        var started = 0
        var ended = 0
        func holds(_ place: Int) -> Bool { (started & ~ended) & (1 << place) != 0 }
    }

    private func canStart(_ place: Int, _ moves: Moves) -> Bool {
        guard moves.started & (1 << place) == 0 else { return false }
        if parents[place] >= 0, moves.started & (1 << parents[place]) == 0 { return false }
        guard edges.allSatisfy({ $0.from != place || moves.ended & (1 << $0.on) != 0 }) else { return false }
        for bit in [1, 2] where categories[place] & bit != 0 {
            for other in categories.indices where other != place && moves.holds(other) && categories[other] & bit != 0 {
                if domain(other, bit) == domain(place, bit) { return false }
            }
        }
        return true
    }

    private func canEnd(_ group: Int, _ moves: Moves) -> Bool {
        moves.holds(group)
            && parents.indices.allSatisfy { parents[$0] != group || moves.ended & (1 << $0) != 0 }
    }

    /// Returns the nearest group around an operation that also has the category.
    private func domain(_ place: Int, _ bit: Int) -> Int {
        var parent = parents[place]
        while parent >= 0, categories[parent] & bit == 0 { parent = parents[parent] }
        return parent
    }
}

import OpsTesting
import Testing

@testable import OpsCore

/// Compares the search for cycles within one submission with a search through all waits.
@Suite("Draft cycle")
struct DraftCycleTests {
    /// Returns the events that each event waits for: 2i is the start of operation i, 2i+1 its end.
    private func waits(_ submission: Submission) -> [Set<Int32>] {
        var waits = [Set<Int32>](repeating: [], count: 2 * submission.operations.count)
        for (i, draft) in submission.operations.enumerated() {
            let i = Int32(i)
            waits[Int(2 * i + 1)].insert(2 * i)
            guard let group = draft.group else { continue }
            waits[Int(2 * i)].insert(2 * group)
            waits[Int(2 * group + 1)].insert(2 * i + 1)
        }
        for edge in submission.edges {
            guard case .local(let on) = edge.on else { continue }
            waits[Int(2 * edge.from)].insert(edge.when == .started ? 2 * on : 2 * on + 1)
        }
        for (i, draft) in submission.operations.enumerated() {
            for (j, later) in submission.operations.enumerated().dropFirst(i + 1) where later.queue == draft.queue {
                guard draft.flags.contains(.barrier) || later.flags.contains(.barrier) else { continue }
                let above = sequence(first: Int32(j)) { submission.operations[Int($0)].group }
                if !above.contains(Int32(i)) { waits[2 * j].insert(Int32(2 * i + 1)) }
            }
        }
        return waits
    }

    /// Returns everything that each event waits for, directly or indirectly.
    private func reach(_ waits: [Set<Int32>]) -> [Set<Int32>] {
        var reach = waits
        for middle in reach.indices {
            for node in reach.indices where reach[node].contains(Int32(middle)) { reach[node].formUnion(reach[middle]) }
        }
        return reach
    }

    private func submission(_ random: inout SeededGenerator, withBarriers: Bool) -> Submission {
        var submission = Submission()
        submission.queues = []
        let count = 2 + random.below(6)
        for place in 0..<count {
            let groups = submission.operations.indices.filter { submission.operations[$0].flags.contains(.group) }
            var flags: Draft.Flags = random.chance(30) ? .group : []
            if withBarriers, random.chance(25) { flags.insert(.barrier) }
            submission.add(
                queue: random.chance(70) ? "a" : "b",
                in: groups.isEmpty || random.chance(40) ? -1 : Int32(random.pick(groups)), flags: flags)
            if place > 0, random.chance(60) {
                let (from, on) = (random.below(count), random.below(place + 1))
                if from != on, from < count, on < count {
                    submission.edges.append(
                        DraftEdge(
                            from: Int32(from), on: .local(Int32(on)), when: random.chance(30) ? .started : .finished))
                }
            }
        }
        return submission
    }

    @Test(arguments: [false, true])
    func `a cycle is found if and only if there is one`(withBarriers: Bool) {
        var random = SeededGenerator(seed: withBarriers ? 1 : 2)
        var found = 0
        for _ in 0..<3000 {
            let submission = submission(&random, withBarriers: withBarriers)
            let reach = reach(waits(submission))
            let isCyclic = reach.indices.contains { reach[$0].contains(Int32($0)) }
            let cycle = DraftCycle(submission).find()
            #expect((cycle != nil) == isCyclic, "\(submission)")
            guard let cycle else { continue }
            found += 1
            #expect(cycle.count > 1 && cycle.first == cycle.last)
            for (one, next) in zip(cycle, cycle.dropFirst()) {
                guard case .local(let a) = one, case .local(let b) = next else { return }
                let isWait = [2 * a, 2 * a + 1].contains { !reach[Int($0)].isDisjoint(with: [2 * b, 2 * b + 1]) }
                #expect(isWait, "\(a) waits for \(b) in \(submission)")
                // All operations of a cycle wait for themselves.
                #expect([2 * a, 2 * a + 1].contains { reach[Int($0)].contains($0) }, "\(a) is in no cycle")
                #expect(a != b || cycle.count == 2)
            }
        }
        #expect(found > 300)
    }
}

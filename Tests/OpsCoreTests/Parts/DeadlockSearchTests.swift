import OpsTesting
import Testing

@testable import OpsCore

/// Compares the searches for deadlocks with searches that try everything, on small random worlds.
@Suite("Deadlock search")
struct DeadlockSearchTests {
    // MARK: Forced orders

    /// Tries every order of starts and ends of a problem.
    private struct Trial {
        let problem: DeadlockProblem
        let before: [[Int]]
        var isComplete = false
        private var seen: Set<UInt32> = []

        init(_ members: [DeadlockProblem.Member], _ arcs: [DeadlockProblem.Arc]) {
            problem = DeadlockProblem(members, [])
            var before = [[Int]](repeating: [], count: 2 * members.count)
            for arc in arcs { before[Int(arc.after)].append(Int(arc.before)) }
            var done: UInt32 = 0
            for i in members.indices {
                if members[i].isExecuting { done |= 1 << UInt32(2 * i) } else { before[2 * i + 1].append(2 * i) }
            }
            self.before = before
            go(on: done)
        }

        private mutating func go(on done: UInt32) {
            guard seen.insert(done).inserted else { return }
            isComplete = isComplete || done == UInt32(1 << before.count) - 1
            for node in before.indices where done & 1 << UInt32(node) == 0 {
                guard before[node].allSatisfy({ done & 1 << UInt32($0) != 0 }) else { continue }
                if node % 2 == 0, !hasRoom(node / 2, done) { continue }
                go(on: done | 1 << UInt32(node))
            }
        }

        private func hasRoom(_ member: Int, _ done: UInt32) -> Bool {
            problem.contentionsOf[member].allSatisfy { contention in
                let own = problem.use(of: Int32(member), in: contention)
                let others = problem.contentions[Int(contention)].filter { other in
                    let (start, end) = (UInt32(1) << UInt32(2 * other), UInt32(2) << UInt32(2 * other))
                    return Int(other) != member && done & start != 0 && done & end == 0
                }
                .map { problem.use(of: $0, in: contention).need }
                switch own.need.mode {
                case .exclusive: return others.isEmpty
                case .shared: return others.allSatisfy { $0.mode == .shared }
                case .units:
                    return others.allSatisfy { $0.mode == .units }
                        && others.reduce(own.need.units) { $0 + $1.units } <= own.capacity
                }
            }
        }
    }

    private func world(_ random: inout SeededGenerator) -> ([DeadlockProblem.Member], [DeadlockProblem.Arc]) {
        var members: [DeadlockProblem.Member] = []
        var arcs: [DeadlockProblem.Arc] = []
        let capacities = [Int32(1 + random.below(3)), Int32(1 + random.below(3))]
        for i in 0..<(2 + random.below(4)) {
            var member = DeadlockProblem.Member()
            let holders = members.indices.filter { members[$0].holdsUntilChildrenFinish }
            let around = !holders.isEmpty && random.chance(40) ? random.pick(holders) : nil
            member.enclosing = around.map { Int32($0) }
            member.holdsUntilChildrenFinish = random.chance(60)
            member.isExecuting =
                member.holdsUntilChildrenFinish && random.chance(40)
                && around.map { members[$0].isExecuting } ?? true
            for category in capacities.indices where random.chance(70) {
                let holder = sequence(first: member.enclosing) { $0.flatMap { members[Int($0)].enclosing } }
                    .prefix { $0 != nil }.compactMap { $0 }
                    .first { members[Int($0)].uses.contains { $0.need.category.offset == category } }
                let held = holder.flatMap { holder in
                    members[Int(holder)].uses.first { $0.need.category.offset == category }
                }
                let capacity = held.map { $0.need.mode == .units ? $0.need.units : $0.capacity } ?? capacities[category]
                let mode: CategoryUse.Mode =
                    held?.need.mode == .shared ? .shared : random.pick([.units, .units, .exclusive, .shared])
                let need = Need(
                    category: CategoryIndex(rawValue: Int32(category)), mode: mode,
                    units: Int32(1 + random.below(Int(capacity))))
                member.uses.append(DeadlockProblem.Use(domain: holder, need: need, capacity: capacity))
            }
            if let around {
                if !members[around].isExecuting {
                    arcs.append(DeadlockProblem.Arc(before: Int32(2 * around), after: Int32(2 * i)))
                }
                arcs.append(DeadlockProblem.Arc(before: Int32(2 * i + 1), after: Int32(2 * around + 1)))
            }
            members.append(member)
        }
        for _ in 0..<random.below(2 * members.count) {
            let (from, on) = (random.below(members.count), random.below(members.count))
            guard from != on, !members[from].isExecuting else { continue }
            let before = Int32(2 * on + (random.chance(85) ? 1 : 0))
            arcs.append(DeadlockProblem.Arc(before: before, after: Int32(2 * from)))
        }
        return (members, arcs)
    }

    /// Returns true if the executing members of a world may execute at the same time.
    private func isLawful(_ members: [DeadlockProblem.Member]) -> Bool {
        let problem = DeadlockProblem(members, [])
        return problem.contentions.indices.allSatisfy { contention in
            let uses = problem.contentions[contention].filter { members[Int($0)].isExecuting }
                .map { problem.use(of: $0, in: Int32(contention)) }
            let isShared = uses.allSatisfy { $0.need.mode == .shared }
            let areUnits = uses.allSatisfy { $0.need.mode == .units }
            return uses.count < 2 || isShared
                || areUnits && uses.reduce(0) { $0 + $1.need.units } <= uses[0].capacity
        }
    }

    /// If both orders are possible, the solver decides nothing, so it may miss a deadlock but never invents one. The
    /// expected numbers belong to this seed: fewer are found if a rule is lost.
    @Test func `a deadlock is found only where no order of all events exists`() {
        var random = SeededGenerator(seed: 1)
        var (stuck, found, through) = (0, 0, 0)
        for _ in 0..<4000 {
            let (members, arcs) = world(&random)
            guard isLawful(members) else { continue }
            let trial = Trial(members, arcs)
            if !trial.isComplete { stuck += 1 }
            var problem = DeadlockProblem(members, arcs)
            if let solution = problem.deadlock() {
                found += 1
                #expect(!trial.isComplete, "\(members) \(arcs)")
                #expect(solution.cycle.count > 1 && solution.cycle.first == solution.cycle.last)
                #expect(solution.cycle.allSatisfy { solution.isStuck[Int(2 * $0 + 1)] }, "all of a cycle never end")
            }
            for member in members.indices {
                var problem = DeadlockProblem(members, arcs)
                guard let solution = problem.deadlock(through: [Int32(member)]) else { continue }
                through += 1
                #expect(!trial.isComplete && solution.cycle.contains(Int32(member)), "\(members) \(arcs)")
            }
        }
        #expect([stuck, found, through] == [1136, 896, 2539])
    }

    // MARK: Shortest cycles

    private let uses: [[CategoryUse]] = [
        [], [CategoryUse(name: "disk")], [CategoryUse(name: "disk", mode: .shared)],
        [CategoryUse(name: "net", mode: .exclusive)], [CategoryUse(name: "disk"), CategoryUse(name: "net")],
    ]

    private func registry(_ random: inout SeededGenerator) -> (rows: RegistryOfRows, all: [OperationIndex]) {
        let rows = RegistryOfRows()
        var (all, groups): ([OperationIndex], [OperationIndex]) = ([], [])
        for id in 1...(3 + Int64(random.below(6))) {
            let isGroup = random.chance(40)
            let operation = rows.add(
                id, isGroup ? .group : [], under: groups.isEmpty || random.chance(50) ? nil : random.pick(groups),
                needing: random.pick(uses))
            for other in all where random.chance(25) {
                let isInside = rows.registry.table.isAncestor(other, of: operation)
                let (from, on) = isInside || random.chance(50) ? (operation, other) : (other, operation)
                rows.edge(from, on: on, when: random.chance(30) || isInside ? .started : .succeeded)
            }
            all.append(operation)
            if isGroup { groups.append(operation) }
        }
        return (rows, all)
    }

    /// Returns true if an operation needs a category that another would hold, and no group around the operation holds
    /// it already.
    private func collides(_ other: OperationIndex, _ holder: [Need], _ rows: RegistryOfRows) -> Bool {
        let table = rows.registry.table
        guard table[other].state != .executing, !table[other].traits.contains(.finishPending) else { return false }
        return rows.registry.categories.needs(of: table[other].categories).contains { need in
            let isInherited = table.enclosing(other).contains { parent in
                table[parent].state != .executing
                    && rows.registry.categories.needs(of: table[parent].categories)
                        .contains { $0.category == need.category }
            }
            return !isInherited
                && holder.contains {
                    $0.category == need.category && !($0.mode == .shared && need.mode == .shared)
                }
        }
    }

    /// Returns the number of waits from the end of a group to the nearest start that collides with it, found by
    /// relaxation.
    private func distance(_ group: OperationIndex, _ all: [OperationIndex], _ rows: RegistryOfRows) -> Int? {
        let needs = rows.registry.resolvedNeeds(of: group)
        var distances: [WaitNode: Int] = [.end(group): 0]
        for _ in 0..<(2 * all.count) {
            for (node, distance) in distances {
                for other in rows.registry.waits(of: node) where other != .start(group) {
                    distances[other] = min(distances[other] ?? .max, distance + 1)
                }
            }
        }
        return distances.filter { !$0.key.isEnd && collides($0.key.operation, needs, rows) }.values.min()
    }

    @Test func `the cycle found from a group is a shortest one, and stands as long as each of its waits`() {
        var random = SeededGenerator(seed: 3)
        var found = 0
        for _ in 0..<3000 {
            let (rows, all) = registry(&random)
            let groups = all.filter { rows.registry.table[$0].isGroup }
            for group in groups {
                let needs = rows.registry.resolvedNeeds(of: group)
                let path = WaitView(rows.registry).shortestCycle(from: group, needs)
                #expect(path.map { $0.count - 1 } == distance(group, all, rows))
                guard let path, let last = path.last else { continue }
                found += 1
                #expect(path.first == .end(group) && collides(last.operation, needs, rows))
                #expect(isWalk(path, rows))
                #expect(rows.registry.stands(path, from: group, needs))
                #expect(!rows.registry.stands(Array(path.dropFirst()), from: group, needs))
                let (other, isStart) = (random.pick(all), random.chance(70))
                if isStart { rows.start(other) } else { rows.insert(.finishPending, into: other) }
                let isDecided = path.contains { rows.registry.table[$0.operation].traits.contains(.finishPending) }
                let stands = isWalk(path, rows) && collides(last.operation, needs, rows) && !isDecided
                #expect(rows.registry.stands(path, from: group, needs) == stands)
                break
            }
        }
        #expect(found > 300)
    }

    private func isWalk(_ path: [WaitNode], _ rows: RegistryOfRows) -> Bool {
        zip(path, path.dropFirst()).allSatisfy { rows.registry.waits(of: $0).contains($1) }
    }

    @Test func `all that is reached waits, and the path to each of it is one`() {
        var random = SeededGenerator(seed: 4)
        for _ in 0..<1000 {
            let (rows, all) = registry(&random)
            let view = WaitView(rows.registry)
            let node = random.chance(50) ? WaitNode.start(random.pick(all)) : .end(random.pick(all))
            var closure: Set<WaitNode> = [node]
            for _ in 0..<(2 * all.count) { closure.formUnion(closure.flatMap { view.waits(of: $0) }) }
            let reached = view.reach([node])
            #expect(closure.isSubset(of: reached) && Set(reached).count == reached.count)
            for goal in all.flatMap({ [WaitNode.start($0), .end($0)] }) {
                let path = view.path(from: node, to: goal)
                #expect((path != nil) == closure.contains(goal))
                if let path { #expect(path.first == node && path.last == goal && isWalk(path, rows)) }
            }
        }
    }
}

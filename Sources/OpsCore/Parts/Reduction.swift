/// Simulates all events that can happen, in some order. The events that are left never happen.
struct Reduction {
    private let members: [DeadlockProblem.Member]
    private let problem: DeadlockProblem
    private let adjacency: Adjacency
    private var outstanding: [Int32]
    private var isDone: [Bool]
    /// Units that unfinished executing holders hold of each contention.
    private var held: [Int64]
    /// Starts after which nothing is outstanding, but that lack room.
    private var withoutRoom: [Int32] = []
    private(set) var order: [Int32] = []

    init(_ problem: DeadlockProblem) {
        self.problem = problem
        members = problem.members
        adjacency = Adjacency(problem.arcs, nodes: 2 * members.count)
        outstanding = [Int32](repeating: 0, count: 2 * members.count)
        isDone = [Bool](repeating: false, count: 2 * members.count)
        held = [Int64](repeating: 0, count: problem.contentions.count)
        for arc in problem.arcs { outstanding[Int(arc.after)] += 1 }
        for i in members.indices where isHolding(i) {
            for (use, contention) in zip(members[i].uses, problem.contentionsOf[i]) {
                held[Int(contention)] += units(use)
            }
        }
        order.reserveCapacity(2 * members.count)
    }

    var isComplete: Bool { order.count == 2 * members.count }

    mutating func run() {
        var open = outstanding.indices.filter { outstanding[$0] == 0 }.map { Int32($0) }
        while true {
            while let node = open.popLast() {
                if node % 2 == 0, !hasRoom(Int(node) / 2) {
                    withoutRoom.append(node)
                } else {
                    pass(node, &open)
                }
            }
            let waiting = withoutRoom
            open = waiting.filter { hasRoom(Int($0) / 2) }
            if open.isEmpty { return }
            withoutRoom = waiting.filter { !hasRoom(Int($0) / 2) }
        }
    }

    private mutating func pass(_ node: Int32, _ open: inout [Int32]) {
        isDone[Int(node)] = true
        order.append(node)
        let member = Int(node) / 2
        if node % 2 == 1, isHolding(member) {
            for (use, contention) in zip(members[member].uses, problem.contentionsOf[member]) {
                held[Int(contention)] -= units(use)
            }
        }
        var after: [Int32] = []
        adjacency.forEach(after: node) { after.append($0) }
        for next in after {
            outstanding[Int(next)] -= 1
            if outstanding[Int(next)] == 0 { open.append(next) }
        }
    }

    private func isHolding(_ member: Int) -> Bool {
        members[member].holdsUntilChildrenFinish && members[member].isExecuting
    }

    private func units(_ use: DeadlockProblem.Use) -> Int64 { use.need.mode == .units ? Int64(use.need.units) : 0 }

    /// Returns whether a member has room beside the units that executing holders hold. (Needs that two members cannot share
    /// at all are arcs.)
    private func hasRoom(_ member: Int) -> Bool {
        if members[member].isExecuting || problem.hasRoomAnyway.contains(Int32(member)) { return true }
        for (use, contention) in zip(members[member].uses, problem.contentionsOf[member]) where use.need.mode == .units
        {
            if held[Int(contention)] > 0, held[Int(contention)] + Int64(use.need.units) > Int64(use.capacity) {
                return false
            }
        }
        return true
    }

    /// Returns a cycle of arcs between events that are left, through one of these members; nil if there is none.
    func deadlock(through chosen: [Int32]) -> DeadlockProblem.Solution? {
        let arcs = problem.arcs.filter { !isDone[Int($0.before)] && !isDone[Int($0.after)] }
        let forward = Adjacency(arcs, nodes: isDone.count)
        let backward = Adjacency(
            arcs.map { DeadlockProblem.Arc(before: $0.after, after: $0.before) }, nodes: isDone.count)
        var isLeft = isDone.map { !$0 }
        forward.peel(&isLeft)
        backward.peel(&isLeft)
        for node in chosen.flatMap({ [2 * $0, 2 * $0 + 1] }) where isLeft[Int(node)] {
            guard let path = path(around: node, backward, isLeft) else { continue }
            let category = zip(path, path.dropFirst()).lazy.compactMap { after, before in
                arcs.first { $0.before == before && $0.after == after && $0.category != nil }?.category
            }.first
            return solution(path, category)
        }
        return nil
    }

    /// Returns the nodes of a cycle through a node, each after the one that it waits for, with that node at both ends.
    private func path(around node: Int32, _ backward: Adjacency, _ isLeft: [Bool]) -> [Int32]? {
        var waiter: [Int32: Int32] = [:]
        var open = [node]
        while waiter[node] == nil, let next = open.popLast() {
            backward.forEach(after: next) { earlier in
                guard isLeft[Int(earlier)], waiter[earlier] == nil else { return }
                waiter[earlier] = next
                open.append(earlier)
            }
        }
        var path = [node]
        while let next = waiter[path[path.count - 1]] {
            path.append(next)
            if next == node { return path.reversed() }
        }
        return nil
    }

    private func solution(_ path: [Int32], _ category: CategoryIndex?) -> DeadlockProblem.Solution {
        var cycle: [Int32] = []
        for node in path where cycle.last != node / 2 { cycle.append(node / 2) }
        if cycle.count == 1 { cycle.append(cycle[0]) }
        return DeadlockProblem.Solution(
            cycle: cycle, category: category, isStuck: isDone.map { !$0 }, path: path)
    }

    /// Returns one cycle of the events that are left. Each of them waits for another one.
    func deadlock() -> DeadlockProblem.Solution {
        var before = [Int32?](repeating: nil, count: isDone.count)
        var category = [CategoryIndex?](repeating: nil, count: isDone.count)
        for arc in problem.arcs where !isDone[Int(arc.before)] && !isDone[Int(arc.after)] {
            before[Int(arc.after)] = arc.before
            category[Int(arc.after)] = arc.category
        }
        for node in withoutRoom {
            for (use, contention) in zip(members[Int(node) / 2].uses, problem.contentionsOf[Int(node) / 2]) {
                let holder = problem.contentions[Int(contention)].first {
                    isHolding(Int($0)) && !isDone[2 * Int($0) + 1]
                }
                guard let holder, before[Int(node)] == nil else { continue }
                before[Int(node)] = 2 * holder + 1
                category[Int(node)] = use.need.category
            }
        }
        var path: [Int32] = []
        var tie: CategoryIndex?
        var seen: Set<Int32> = []
        var node = Int32(before.firstIndex { $0 != nil } ?? 0)
        // Each event that is left waits for another one: walking back closes a cycle.
        while seen.insert(node).inserted, let earlier = before[Int(node)] { node = earlier }
        let first = node
        repeat {
            path.append(node)
            if tie == nil { tie = category[Int(node)] }
            guard let earlier = before[Int(node)] else { break }
            node = earlier
        } while node != first
        return solution(path + [first], tie)
    }
}

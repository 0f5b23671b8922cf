/// Lets everything come to pass that can, in some order: what is left never will.
struct Reduction {
    private let members: [Entanglement.Member]
    private let problem: Entanglement
    private let adjacency: Adjacency
    private var outstanding: [Int32]
    private var isDone: [Bool]
    /// What executing spans that have not ended hold of each pot, in units.
    private var held: [Int64]
    /// Starts that have all before them but no room.
    private var crowded: [Int32] = []
    private(set) var order: [Int32] = []

    init(_ problem: Entanglement) {
        self.problem = problem
        members = problem.members
        adjacency = Adjacency(problem.arcs, nodes: 2 * members.count)
        outstanding = [Int32](repeating: 0, count: 2 * members.count)
        isDone = [Bool](repeating: false, count: 2 * members.count)
        held = [Int64](repeating: 0, count: problem.pots.count)
        for arc in problem.arcs { outstanding[Int(arc.after)] += 1 }
        for i in members.indices where isHolding(i) {
            for (use, pot) in zip(members[i].uses, problem.potsOf[i]) { held[Int(pot)] += units(use) }
        }
        order.reserveCapacity(2 * members.count)
    }

    var isComplete: Bool { order.count == 2 * members.count }

    mutating func run() {
        var open = outstanding.indices.filter { outstanding[$0] == 0 }.map { Int32($0) }
        while true {
            while let node = open.popLast() {
                if node % 2 == 0, !hasRoom(Int(node) / 2) {
                    crowded.append(node)
                } else {
                    pass(node, &open)
                }
            }
            let waiting = crowded
            open = waiting.filter { hasRoom(Int($0) / 2) }
            if open.isEmpty { return }
            crowded = waiting.filter { !hasRoom(Int($0) / 2) }
        }
    }

    private mutating func pass(_ node: Int32, _ open: inout [Int32]) {
        isDone[Int(node)] = true
        order.append(node)
        let member = Int(node) / 2
        if node % 2 == 1, isHolding(member) {
            for (use, pot) in zip(members[member].uses, problem.potsOf[member]) { held[Int(pot)] -= units(use) }
        }
        var after: [Int32] = []
        adjacency.forEach(after: node) { after.append($0) }
        for next in after {
            outstanding[Int(next)] -= 1
            if outstanding[Int(next)] == 0 { open.append(next) }
        }
    }

    private func isHolding(_ member: Int) -> Bool { members[member].isSpan && members[member].isExecuting }

    private func units(_ use: Entanglement.Use) -> Int64 { use.need.mode == .units ? Int64(use.need.units) : 0 }

    /// Of what executing spans hold in units together; what two cannot share at all is an arc.
    private func hasRoom(_ member: Int) -> Bool {
        if members[member].isExecuting { return true }
        for (use, pot) in zip(members[member].uses, problem.potsOf[member]) where use.need.mode == .units {
            if held[Int(pot)] > 0, held[Int(pot)] + Int64(use.need.units) > Int64(use.capacity) { return false }
        }
        return true
    }

    /// One circle of what is left: each of it waits for another that is left.
    func knot() -> Entanglement.Knot {
        var before = [Int32?](repeating: nil, count: isDone.count)
        var category = [CategoryIndex?](repeating: nil, count: isDone.count)
        for arc in problem.arcs where !isDone[Int(arc.before)] && !isDone[Int(arc.after)] {
            before[Int(arc.after)] = arc.before
            category[Int(arc.after)] = arc.category
        }
        for node in crowded {
            for (use, pot) in zip(members[Int(node) / 2].uses, problem.potsOf[Int(node) / 2]) {
                let holder = problem.pots[Int(pot)].first { isHolding(Int($0)) && !isDone[2 * Int($0) + 1] }
                guard let holder, before[Int(node)] == nil else { continue }
                before[Int(node)] = 2 * holder + 1
                category[Int(node)] = use.need.category
            }
        }
        var circle: [Int32] = []
        var tie: CategoryIndex?
        var seen: Set<Int32> = []
        var node = Int32(before.firstIndex { $0 != nil } ?? 0)
        // Whatever is left has another before it that is left: walking back comes round.
        while seen.insert(node).inserted, let earlier = before[Int(node)] { node = earlier }
        let first = node
        repeat {
            if circle.last != node / 2 { circle.append(node / 2) }
            if tie == nil { tie = category[Int(node)] }
            guard let earlier = before[Int(node)] else { break }
            node = earlier
        } while node != first
        if circle.count == 1 || circle.last != circle.first { circle.append(circle[0]) }
        return Entanglement.Knot(circle: circle, category: tie, isStuck: isDone.map { !$0 })
    }
}

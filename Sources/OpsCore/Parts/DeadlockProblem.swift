/// Decides if operations that hold categories until others have finished can all finish.
///
/// Nodes are the start (2i) and the end (2i+1) of each member; an arc says which node comes before another. A *holder*
/// holds the categories that it uses until its children have finished. Of two members that cannot share a category, one
/// must end before the other starts. Where a member's start lies before a holder's end, it must end before the holder
/// starts; where a holder's start lies before the member's, the holder must end before it. Forced orders force others.
/// If they close a cycle, no member of it can ever finish. Where both orders are possible none is forced, since a
/// decision would have to try all. So every cycle that is found exists, but some cycles are not found.
struct DeadlockProblem {
    struct Use {
        /// The holder that holds the category around this member: uses meet within one domain only.
        var domain: Int32?
        var need: Need
        var capacity: Int32

        func canShare(_ other: Use) -> Bool {
            switch (need.mode, other.need.mode) {
            case (.shared, .shared): true
            case (.units, .units): Int64(need.units) + Int64(other.need.units) <= Int64(capacity)
            default: false
            }
        }
    }

    struct Member {
        /// The holder around it.
        var enclosing: Int32?
        var uses: [Use] = []
        var holdsUntilChildrenFinish = false
        var isExecuting = false
    }

    struct Arc {
        var before: Int32
        var after: Int32
        /// The category that forces it.
        @Packed var category: CategoryIndex? = nil
    }

    /// A cycle of members, each waiting for the next; the category that closes it; and all nodes that never happen.
    struct Solution {
        var cycle: [Int32]
        var category: CategoryIndex?
        var isStuck: [Bool]
        /// The nodes of the cycle, each before the one that it waits for, with the first repeated at the end.
        var path: [Int32] = []
    }

    private struct Contention: Hashable {
        var category: CategoryIndex
        var domain: Int32?
    }

    let members: [Member]
    var arcs: [Arc]
    /// Users of one category in one domain.
    var contentions: [[Int32]] = []
    var contentionsOf: [[Int32]]
    private var forced: Set<UInt64> = []
    /// Members whose lack of room is part of a deadlock that is ignored.
    private(set) var hasRoomAnyway: Set<Int32> = []
    /// Units that holders are sure to hold when a user of a contention starts, its own included.
    private var occupancy: [UInt64: Int64] = [:]

    init(_ members: [Member], _ arcs: [Arc]) {
        self.members = members
        self.arcs = arcs
        contentionsOf = Array(repeating: [], count: members.count)
        var index: [Contention: Int32] = [:]
        for i in members.indices {
            if !members[i].isExecuting { self.arcs.append(Arc(before: Int32(2 * i), after: Int32(2 * i + 1))) }
            for use in members[i].uses {
                let key = Contention(category: use.need.category, domain: use.domain)
                let contention = index[key] ?? Int32(contentions.count)
                if index.updateValue(contention, forKey: key) == nil { contentions.append([]) }
                contentions[Int(contention)].append(Int32(i))
                contentionsOf[i].append(contention)
            }
        }
        addHolders()
    }

    /// Adds the waits of members that can never execute beside an executing holder.
    private mutating func addHolders() {
        for (contention, users) in contentions.enumerated() {
            for holder in users where members[Int(holder)].holdsUntilChildrenFinish && members[Int(holder)].isExecuting
            {
                for user in users where !members[Int(user)].isExecuting {
                    let (a, b) = (use(of: holder, in: Int32(contention)), use(of: user, in: Int32(contention)))
                    guard !a.canShare(b) else { continue }
                    arcs.append(Arc(before: 2 * holder + 1, after: 2 * user, category: a.need.category))
                }
            }
        }
    }

    func use(of member: Int32, in contention: Int32) -> Use {
        let position = contentionsOf[Int(member)].firstIndex(of: contention) ?? 0
        return members[Int(member)].uses[position]
    }

    /// Returns a cycle of orders that are forced, or nil.
    mutating func deadlock() -> Solution? {
        let isActive = unordered()
        guard isActive.contains(true) else { return nil }
        arcs.removeAll { !isActive[Int($0.before) / 2] || !isActive[Int($0.after) / 2] }
        while true {
            var reduction = Reduction(self)
            reduction.run()
            if !reduction.isComplete { return reduction.deadlock() }
            if !force(along: reduction.order, isActive) { return nil }
        }
    }

    /// Returns a cycle of orders that are forced and that goes through one of these members, or nil. Other cycles are
    /// removed and ignored: they exist whatever the members do.
    mutating func deadlock(through chosen: [Int32]) -> Solution? {
        let isActive = unordered()
        arcs.removeAll { !isActive[Int($0.before) / 2] || !isActive[Int($0.after) / 2] }
        while true {
            var reduction = Reduction(self)
            reduction.run()
            guard !reduction.isComplete else {
                if force(along: reduction.order, isActive) { continue }
                return nil
            }
            if let found = reduction.deadlock(through: chosen) { return found }
            let other = reduction.deadlock()
            if other.cycle.contains(where: { chosen.contains($0) }) { return other }
            guard removeCycle(other.path) else { return nil }
        }
    }

    /// Removes the waits along a cycle. Returns false if there was nothing to remove.
    private mutating func removeCycle(_ path: [Int32]) -> Bool {
        let links = Set(zip(path, path.dropFirst()).map { after, before in UInt64(before) << 32 | UInt64(after) })
        let size = (arcs.count, hasRoomAnyway.count)
        arcs.removeAll { links.contains(UInt64($0.before) << 32 | UInt64($0.after)) }
        hasRoomAnyway.formUnion(path.lazy.filter { $0 % 2 == 0 }.map { $0 / 2 })
        return size != (arcs.count, hasRoomAnyway.count)
    }

    // MARK: Forced orders

    /// Adds the orders that follow from the nodes between the start and the end of each holder. Returns false if there
    /// are no more. Sixty-four holders are followed at once, along one order of all nodes.
    private mutating func force(along order: [Int32], _ isActive: [Bool]) -> Bool {
        let holders = members.indices.filter {
            isActive[$0] && members[$0].holdsUntilChildrenFinish && !members[$0].uses.isEmpty
        }
        let adjacency = Adjacency(arcs, nodes: 2 * members.count)
        let before = arcs.count
        occupancy.removeAll(keepingCapacity: true)
        for first in stride(from: 0, to: holders.count, by: 64) {
            let batch = Array(holders[first..<min(first + 64, holders.count)])
            var afterStart = [UInt64](repeating: 0, count: 2 * members.count)
            var beforeEnd = afterStart
            var inContention = [UInt64](repeating: 0, count: contentions.count)
            for (bit, holder) in batch.enumerated() {
                if !members[holder].isExecuting { afterStart[2 * holder] = 1 << UInt64(bit) }
                beforeEnd[2 * holder + 1] = 1 << UInt64(bit)
                for contention in contentionsOf[holder] { inContention[Int(contention)] |= 1 << UInt64(bit) }
            }
            for node in order {
                adjacency.forEach(after: node) { afterStart[Int($0)] |= afterStart[Int(node)] }
            }
            for node in order.reversed() {
                adjacency.forEach(after: node) { beforeEnd[Int(node)] |= beforeEnd[Int($0)] }
            }
            for user in members.indices where isActive[user] && !members[user].isExecuting {
                for contention in contentionsOf[user] {
                    var open = (afterStart[2 * user] | beforeEnd[2 * user]) & inContention[Int(contention)]
                    while open != 0 {
                        let bit = UInt64(open.trailingZeroBitCount)
                        open &= open - 1
                        let isAfter = afterStart[2 * user] & (1 << bit) != 0
                        let isBefore = beforeEnd[2 * user] & (1 << bit) != 0
                        forceOrder(
                            of: Int32(user), and: Int32(batch[Int(bit)]), in: contention, isAfter: isAfter,
                            isBefore: isBefore)
                    }
                }
            }
        }
        return arcs.count > before
    }

    private mutating func forceOrder(
        of user: Int32, and holder: Int32, in contention: Int32, isAfter: Bool, isBefore: Bool
    ) {
        guard user != holder else { return }
        let (a, b) = (use(of: user, in: contention), use(of: holder, in: contention))
        let isHolding = isBefore && (isAfter || members[Int(holder)].isExecuting)
        // It has room beside each of the holders alone, but may have none beside all that are sure to hold then.
        guard !a.canShare(b) || isHolding && exceeds(a, beside: b, of: user, in: contention) else { return }
        if isBefore, !members[Int(holder)].isExecuting, insertForced(user, before: holder) {
            arcs.append(Arc(before: 2 * user + 1, after: 2 * holder, category: a.need.category))
        }
        if isAfter || isHolding, insertForced(holder, before: user) {
            arcs.append(Arc(before: 2 * holder + 1, after: 2 * user, category: a.need.category))
        }
    }

    private mutating func exceeds(_ a: Use, beside b: Use, of user: Int32, in contention: Int32) -> Bool {
        guard a.need.mode == .units, b.need.mode == .units else { return false }
        let key = UInt64(UInt32(bitPattern: user)) << 32 | UInt64(UInt32(bitPattern: contention))
        let held = occupancy[key, default: Int64(a.need.units)] + Int64(b.need.units)
        occupancy[key] = held
        return held > Int64(a.capacity)
    }

    private mutating func insertForced(_ first: Int32, before second: Int32) -> Bool {
        forced.insert(UInt64(UInt32(bitPattern: first)) << 32 | UInt64(UInt32(bitPattern: second))).inserted
    }

    // MARK: Members without cycles

    /// Returns for each member if it, or a holder around it, may be in a cycle. For this test a holder counts as one
    /// unit with everything inside it, and the members inside each holder are sorted by themselves: units that can be
    /// sorted can run one after the other in that order.
    private func unordered() -> [Bool] {
        var outer: [Arc] = []
        for arc in arcs { if let arc = lifted(arc) { outer.append(arc) } }
        for (contention, users) in contentions.enumerated() where users.count > 2 {
            outer += arcsFromHolders(in: Int32(contention))
        }
        let count = 2 * members.count
        var isLeft = [Bool](repeating: true, count: count)
        let forward = Adjacency(outer, nodes: count)
        let backward = Adjacency(outer.map { Arc(before: $0.after, after: $0.before) }, nodes: count)
        forward.peel(&isLeft)
        backward.peel(&isLeft)
        return members.indices.map { member in
            sequence(first: Int32(member)) { members[Int($0)].enclosing }
                .contains { isLeft[2 * Int($0)] || isLeft[2 * Int($0) + 1] }
        }
    }

    /// Returns the waits for a category with several holders: an operation without room beside them waits for the
    /// executing ones.
    private func arcsFromHolders(in contention: Int32) -> [Arc] {
        let users = contentions[Int(contention)]
        let holders = users.filter { members[Int($0)].holdsUntilChildrenFinish && members[Int($0)].isExecuting }
        guard !holders.isEmpty else { return [] }
        return users.filter { !members[Int($0)].isExecuting }.flatMap { user in
            holders.compactMap { lifted(Arc(before: 2 * $0 + 1, after: 2 * user)) }
        }
    }

    /// Returns the arc between the two units with a common parent that contain its nodes; nil if both are in the same
    /// unit.
    private func lifted(_ arc: Arc) -> Arc? {
        var (a, b) = (arc.before, arc.after)
        func depth(_ node: Int32) -> Int {
            sequence(first: node / 2) { members[Int($0)].enclosing }.reduce(-1) { depth, _ in depth + 1 }
        }
        var (depthA, depthB) = (depth(a), depth(b))
        while members[Int(a) / 2].enclosing != members[Int(b) / 2].enclosing {
            if depthA >= depthB, let above = members[Int(a) / 2].enclosing {
                (a, depthA) = (2 * above, depthA - 1)
            } else if let above = members[Int(b) / 2].enclosing {
                (b, depthB) = (2 * above, depthB - 1)
            }
        }
        if members[Int(a) / 2].holdsUntilChildrenFinish { a &= ~1 }
        if members[Int(b) / 2].holdsUntilChildrenFinish { b &= ~1 }
        // A holder that comes after what it encloses comes after itself.
        let isInsideOut = arc.after == b && arc.before / 2 != arc.after / 2
        return a == b && !isInsideOut ? nil : Arc(before: a, after: b)
    }
}

/// The successors of each node, in one flat array.
struct Adjacency {
    private var first: [Int32]
    private var targets: [Int32]

    init(_ arcs: [DeadlockProblem.Arc], nodes: Int) {
        first = [Int32](repeating: 0, count: nodes + 1)
        targets = [Int32](repeating: 0, count: arcs.count)
        for arc in arcs { first[Int(arc.before) + 1] += 1 }
        for node in 0..<nodes { first[node + 1] += first[node] }
        var next = first
        for arc in arcs {
            targets[Int(next[Int(arc.before)])] = arc.after
            next[Int(arc.before)] += 1
        }
    }

    func forEach(after node: Int32, _ body: (Int32) -> Void) {
        for i in first[Int(node)]..<first[Int(node) + 1] { body(targets[Int(i)]) }
    }

    /// Removes, one after the other, all nodes without a remaining node before them.
    func peel(_ isLeft: inout [Bool]) {
        var outstanding = [Int32](repeating: 0, count: isLeft.count)
        for node in isLeft.indices where isLeft[node] { forEach(after: Int32(node)) { outstanding[Int($0)] += 1 } }
        var open = isLeft.indices.filter { isLeft[$0] && outstanding[$0] == 0 }.map { Int32($0) }
        while let node = open.popLast() {
            isLeft[Int(node)] = false
            forEach(after: node) { after in
                outstanding[Int(after)] -= 1
                if outstanding[Int(after)] == 0, isLeft[Int(after)] { open.append(after) }
            }
        }
    }
}

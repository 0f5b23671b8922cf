internal import OpsCore

/// A small generator of its own, so that each run measures the same graphs.
struct Numbers {
    private var state: UInt64
    init(seed: UInt64) { state = seed }
    mutating func below(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }
}

/// Layers of a thousand, each operation after three of the layer before.
func layered(_ count: Int, isCyclic: Bool = false) -> Submission {
    var numbers = Numbers(seed: 42)
    let width = 1000
    var submission = Submission()
    submission.operations = Array(repeating: Draft(), count: count)
    submission.edges.reserveCapacity(3 * count)
    for place in width..<count {
        let layer = (place / width - 1) * width
        var last = -1
        for third in 0..<3 {
            let on = layer + third * (width / 3) + numbers.below(width / 3)
            if on != last { submission.edges.append(DraftEdge(from: Int32(place), on: .local(Int32(on)))) }
            last = on
        }
    }
    if isCyclic { submission.edges.append(DraftEdge(from: 0, on: .local(Int32(count - 1)))) }
    return submission
}

func inOneCategory(_ count: Int) -> Submission {
    var submission = Submission()
    submission.categorySets = [[CategoryUse(name: "only")]]
    submission.operations = Array(repeating: Draft(categories: 0), count: count)
    return submission
}

/// Gives the units of the one category names.
func named(_ units: Int) -> Event { .setCategory("only", CategoryEdit(units: (0..<units).map { "u\($0)" })) }

/// Each operation in one of so many categories.
func inSome(of categories: Int, _ count: Int) -> Submission {
    var submission = Submission()
    submission.categorySets = (0..<categories).map { [CategoryUse(name: "c\($0)")] }
    submission.operations = (0..<count).map { Draft(categories: Int32($0 % categories)) }
    return submission
}

/// Rates of the categories, which all starts of a measurement are within.
func rates(_ categories: Int) -> [Event] {
    (0..<categories).map {
        .setCategory("c\($0)", CategoryEdit(rate: .set(Rate(count: 1_000, interval: .seconds(60)))))
    }
}

func inPairs(_ count: Int, of categories: Int) -> Submission {
    var numbers = Numbers(seed: 7)
    var submission = Submission()
    for first in 0..<categories {
        for second in 0..<categories where first != second {
            submission.categorySets.append([CategoryUse(name: "c\(first)"), CategoryUse(name: "c\(second)")])
        }
    }
    for _ in 0..<count {
        submission.operations.append(Draft(categories: Int32(numbers.below(submission.categorySets.count))))
    }
    return submission
}

/// Groups of nine children, each group holding one of so many categories until they have ended.
func inGroups(_ count: Int, categories: Int, priorities: Int = 1) -> Submission {
    var submission = Submission()
    submission.categorySets = (0..<categories).map { [CategoryUse(name: "c\($0)")] }
    for place in 0..<count {
        let group = place / 10 * 10
        submission.operations.append(
            place == group
                ? Draft(
                    categories: Int32(place / 10 % categories), priority: Int8(place / 10 * 7 % priorities),
                    flags: .group)
                : Draft(group: Int32(group)))
    }
    return submission
}

/// Groups in a chain of which the last is urgent, beside one that is hurried by somebody as urgent.
func urgentChain(_ count: Int) -> Submission {
    var submission = Submission()
    submission.categorySets = [[CategoryUse(name: "only")]]
    submission.operations = [
        Draft(categories: 0, flags: .group), Draft(group: 0), Draft(categories: 0, priority: 8),
    ]
    submission.edges = [DraftEdge(from: 2, on: .local(0), when: .started)]
    var last: Int32 = 1
    for place in stride(from: Int32(3), to: Int32(count - 1), by: 2) {
        submission.operations += [Draft(flags: .group), Draft(group: place)]
        if place > 3 { submission.edges.append(DraftEdge(from: place, on: .local(last))) }
        last = place
    }
    submission.edges.append(DraftEdge(from: 1, on: .local(last)))
    submission.operations.append(Draft(priority: 8))
    submission.edges.append(DraftEdge(from: last + 2, on: .local(last)))
    return submission
}

/// A group holds what as many as are in it wait for, because of the last, which is urgent.
func hurried(_ count: Int) -> Submission {
    var submission = Submission()
    submission.categorySets = [[CategoryUse(name: "only")]]
    submission.operations = [Draft(categories: 0, flags: .group)]
    for place in 1..<count { submission.operations.append(place % 2 == 0 ? Draft(group: 0) : Draft(categories: 0)) }
    submission.operations.append(Draft(priority: 8))
    for place in stride(from: 1, to: count, by: 2) {
        submission.edges.append(DraftEdge(from: Int32(place), on: .local(0), when: .started))
        submission.edges.append(DraftEdge(from: Int32(count), on: .local(Int32(place))))
    }
    return submission
}

/// The child of each group comes after the next group, and all hold the same: only the last one can start.
func inEachOthersWay(_ count: Int) -> Submission {
    inARow(count, holding: CategoryUse(name: "only"))
}

/// As before, but all have room beside one another.
func sharingUnits(_ count: Int) -> Submission {
    inARow(count, holding: CategoryUse(name: "wide", units: 2))
}

private func inARow(_ count: Int, holding use: CategoryUse) -> Submission {
    var submission = Submission()
    submission.categorySets = [[use]]
    for group in stride(from: 0, to: count - 1, by: 2) {
        submission.operations += [Draft(categories: 0, flags: .group), Draft(group: Int32(group))]
        guard group + 3 < count else { continue }
        submission.edges.append(DraftEdge(from: Int32(group + 1), on: .local(Int32(group + 2))))
    }
    return submission
}

/// Least possible cost of a drain: counters and lists in arrays of structs, and a ring of ready operations.
struct BareGraph {
    private struct Node {
        var waiting: Int32 = 0
        var firstDependent: Int32 = 0
        var dependents: Int32 = 0
    }
    private var nodes: [Node]
    private var dependents: [Int32]

    init(_ submission: Submission) {
        nodes = Array(repeating: Node(), count: submission.operations.count + 1)
        dependents = Array(repeating: 0, count: submission.edges.count)
        for case .local(let on) in submission.edges.lazy.map(\.on) { nodes[Int(on)].dependents += 1 }
        var sum: Int32 = 0
        for place in nodes.indices {
            nodes[place].firstDependent = sum
            sum += nodes[place].dependents
            nodes[place].dependents = 0
        }
        for edge in submission.edges {
            guard case .local(let on) = edge.on else { continue }
            dependents[Int(nodes[Int(on)].firstDependent + nodes[Int(on)].dependents)] = edge.from
            nodes[Int(on)].dependents += 1
            nodes[Int(edge.from)].waiting += 1
        }
    }

    /// Takes every node once, each after those it waits for; gives back how many.
    mutating func drain() -> Int {
        var ready = nodes.indices.dropLast().filter { nodes[$0].waiting == 0 }.map { Int32($0) }
        ready.reserveCapacity(nodes.count)
        var next = 0
        while next < ready.count {
            let node = nodes[Int(ready[next])]
            next += 1
            for i in node.firstDependent..<(node.firstDependent + node.dependents) {
                let dependent = Int(dependents[Int(i)])
                nodes[dependent].waiting -= 1
                if nodes[dependent].waiting == 0 { ready.append(Int32(dependent)) }
            }
        }
        return ready.count
    }
}

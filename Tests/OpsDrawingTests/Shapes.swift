import OpsDrawing

@testable import struct OpsDrawing.FoldedGraph
@testable import struct OpsDrawing.NestedLayout

/// Builds a graph from "name: dependency dependency" for each operation, with "group/" before the names of its
/// children.
func graph(_ lines: String...) -> DrawnGraph {
    var index: [String: Int] = [:]
    var operations: [DrawnOperation] = []
    var edges: [DrawnEdge] = []
    for line in lines {
        let parts = line.split(separator: ":", omittingEmptySubsequences: false)
        let name = String(parts[0])
        index[name] = operations.count
        let group = name.lastIndex(of: "/").flatMap { index[String(name[..<$0])] }
        if let group { operations[group].isGroup = true }
        operations.append(DrawnOperation(id: operations.count + 1, title: name, status: .pending, group: group))
    }
    for line in lines {
        let parts = line.split(separator: ":", omittingEmptySubsequences: false)
        for dependency in parts.dropFirst().first?.split(separator: " ") ?? [] {
            guard let from = index[String(dependency)], let to = index[String(parts[0])] else { continue }
            edges.append(DrawnEdge(from: from, to: to, when: "succeeded"))
        }
    }
    return DrawnGraph(title: "g1", operations: operations, edges: edges)
}

extension DrawnStatus {
    static let pending = DrawnStatus(word: "pending", symbol: "·", tone: .waiting)
    static let succeeded = DrawnStatus(word: "succeeded", symbol: "✓", tone: .succeeded)
    static let failed = DrawnStatus(word: "failed", symbol: "✗", tone: .failed)
}

/// Pseudo-random numbers that are the same in each run.
struct Dice {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

    mutating func roll(_ bound: Int) -> Int {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return Int(state % UInt64(bound))
    }
}

/// Returns a random graph with nested groups and dependencies without cycles.
func randomGraph(_ seed: UInt64) -> DrawnGraph {
    var dice = Dice(seed)
    var operations: [DrawnOperation] = []
    var edges: Set<DrawnEdge> = []
    var groups: [Int] = []
    for index in 0..<(3 + dice.roll(30)) {
        let group = groups.isEmpty || dice.roll(2) == 0 ? nil : groups[dice.roll(groups.count)]
        let isGroup = dice.roll(6) == 0
        if isGroup { groups.append(index) }
        operations.append(
            DrawnOperation(id: index, title: "op\(index)", status: .pending, group: group, isGroup: isGroup))
        for _ in 0..<dice.roll(3) where index > 0 {
            edges.insert(DrawnEdge(from: dice.roll(index), to: index, when: "succeeded"))
        }
    }
    return DrawnGraph(title: "random", operations: operations, edges: Array(edges))
}

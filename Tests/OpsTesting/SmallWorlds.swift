import OpsCore

/// One of them in which a promise was broken.
public struct SmallWorldFailure: Error {
    public var number: Int
    public var operations: Int
    public var what: String
}

/// Every world of a few operations in two categories on one slot or two, and in each every order of ends.
public struct SmallWorlds {
    /// What two operations have to do with each other, the earlier one named first.
    enum Tie: Int, CaseIterable { case none, laterAfterEarlier, earlierAfterLater }

    struct World {
        var categories: [Int]
        var edges: [(from: Int, on: Int)]
        var slots: Int32

        var submission: Submission {
            var submission = Submission()
            for mask in categories {
                let names = (mask & 1 > 0 ? ["a"] : []) + (mask & 2 > 0 ? ["b"] : [])
                submission.add(categories: names.map { CategoryUse(name: $0) })
            }
            for edge in edges {
                submission.edges.append(DraftEdge(from: Int32(edge.from), on: .local(Int32(edge.on))))
            }
            return submission
        }
    }

    public private(set) var worlds = 0
    public private(set) var steps = 0
    private let count: Int
    private let withFailures: Bool

    public init(operations count: Int, withFailures: Bool) {
        self.count = count
        self.withFailures = withFailures
    }

    /// Explores every `stride`th world from `first` on.
    public mutating func explore<Tested: TestedScheduler>(
        _: Tested.Type, every stride: Int = 1, from first: Int = 0
    ) throws {
        let pairs = count * (count - 1) / 2
        let ties = power(Tie.allCases.count, pairs)
        let total = power(4, count) * ties * 2
        for number in Swift.stride(from: first, to: total, by: stride) {
            guard let world = world(number, pairs: pairs, ties: ties) else { continue }
            worlds += 1
            do {
                var stage = try Stage<Tested>(workers: world.slots)
                try stage.submit(world.submission)
                try follow(stage)
            } catch {
                throw SmallWorldFailure(number: number, operations: count, what: "\(world): \(error)")
            }
        }
    }

    private func power(_ base: Int, _ exponent: Int) -> Int {
        (0..<exponent).reduce(1) { product, _ in product * base }
    }

    /// Nil for a number that stands for a cycle.
    private func world(_ number: Int, pairs: Int, ties: Int) -> World? {
        var rest = number / 2
        var edges: [(from: Int, on: Int)] = []
        for later in 1..<max(count, 2) where count > 1 {
            for earlier in 0..<later {
                switch Tie(rawValue: rest % Tie.allCases.count) {
                case .laterAfterEarlier: edges.append((from: later, on: earlier))
                case .earlierAfterLater: edges.append((from: earlier, on: later))
                case .some(.none), nil: break
                }
                rest /= Tie.allCases.count
            }
        }
        let world = World(
            categories: (0..<count).map { (rest >> (2 * $0)) & 3 }, edges: edges, slots: Int32(1 + number % 2))
        return hasCycle(edges) ? nil : world
    }

    private func hasCycle(_ edges: [(from: Int, on: Int)]) -> Bool {
        var left = Set(0..<count)
        while let free = left.sorted().first(where: { node in
            !edges.contains { $0.from == node && left.contains($0.on) }
        }) {
            left.remove(free)
        }
        return !left.isEmpty
    }

    /// Lets each executing operation be the next to end, and each time follows all that may come of it.
    private mutating func follow(_ stage: Stage<some TestedScheduler>) throws {
        if stage.running.isEmpty {
            let left = stage.store.unfinished.map(\.id.rawValue)
            return try require(left.isEmpty, .settles, "\(left) never started")
        }
        for id in stage.executing {
            for code in withFailures ? [0, 1] as [Int32] : [0] {
                var next = stage
                steps += 1
                try next.end(id, code: code)
                try follow(next)
            }
        }
    }
}

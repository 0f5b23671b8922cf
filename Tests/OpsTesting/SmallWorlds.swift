import OpsCore

/// A world in which a promise was broken.
public struct SmallWorldFailure: Error {
    public var number: Int
    public var operations: Int
    public var what: String
}

/// Every world of a few operations with two categories on one or two slots, and every order of ends in each. With
/// groups, also each way to put operations into others, which are then groups.
public struct SmallWorlds {
    /// Relation between two operations, the earlier one first.
    enum Tie: Int, CaseIterable { case none, laterAfterEarlier, earlierAfterLater }

    public private(set) var worlds = 0
    public private(set) var steps = 0
    /// Number of worlds that cannot finish in any order, and that were accepted nevertheless.
    public private(set) var unforeseen = 0
    private let count: Int
    private let withFailures: Bool
    private let withGroups: Bool

    public init(operations count: Int, withFailures: Bool, withGroups: Bool = false) {
        self.count = count
        self.withFailures = withFailures
        self.withGroups = withGroups
    }

    /// Explores every `stride`th world.
    public mutating func explore<Tested: TestedScheduler>(_: Tested.Type, every stride: Int = 1) throws {
        let ties = power(Tie.allCases.count, count * (count - 1) / 2)
        // The first operation is in no group, the second may be in the first, and the third in either.
        let shapes = withGroups ? (1...count).reduce(1, *) : 1
        let total = power(4, count) * ties * 2 * shapes
        for number in Swift.stride(from: 0, to: total, by: stride) {
            let world = world(number, shapes: shapes)
            do {
                try live(in: world, Stage<Tested>(workers: world.slots))
            } catch {
                throw SmallWorldFailure(number: number, operations: count, what: "\(world): \(error)")
            }
        }
    }

    /// Checks that a refused world cannot finish in any order, and that an accepted one finishes in every order.
    private mutating func live(in world: SmallWorld, _ stage: Stage<some TestedScheduler>) throws {
        var stage = stage
        let canEnd = world.canEnd
        do {
            try stage.submit(world.submission)
        } catch is Rejection {
            return try require(!canEnd, .rejection, "refused, and could end")
        }
        worlds += 1
        if canEnd { return try follow(stage) }
        // If two orders are possible, the rules try neither, so only the search through all of them finds such a cycle.
        try require(world.hasGroups, .rejection, "taken, and can never end")
        unforeseen += 1
    }

    private func power(_ base: Int, _ exponent: Int) -> Int {
        (0..<exponent).reduce(1) { product, _ in product * base }
    }

    private func world(_ number: Int, shapes: Int) -> SmallWorld {
        var rest = number / 2
        var parents = Array(repeating: -1, count: count)
        if shapes > 1 {
            for place in 1..<count {
                parents[place] = rest % (place + 1) - 1
                rest /= place + 1
            }
        }
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
        return SmallWorld(
            categories: (0..<count).map { (rest >> (2 * $0)) & 3 }, edges: edges, parents: parents,
            slots: Int32(1 + number % 2))
    }

    /// Lets each executing operation end next, one after the other, and follows all consequences each time.
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

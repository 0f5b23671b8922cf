import OpsCore

extension Simulation {
    /// Takes the hand back, as the daemon does: what was taken is heard first, and all that the runner said before.
    mutating func recall(_ events: inout ArraySlice<Event>, _ taken: inout [Submission]) throws(Violation) {
        guard core.handCount > 0, !habits.isForgetful else { return }
        let said = events.lastIndex(where: \.isTaken).map { events[...$0] } ?? []
        let isAllSaid = !world.facts.contains(where: \.isTaken)
        let words = (isAllSaid ? said : events).filter(\.isWordOfRunner)
        if isAllSaid {
            let others = said.filter { !$0.isWordOfRunner }
            events = others + events.dropFirst(said.count)
        } else {
            events.removeAll(where: \.isWordOfRunner)
        }
        for event in words { try hand(event, to: &taken) }
        for event in world.takeWords() { try hand(event, to: &taken) }
        let missing = world.handed.count - world.hand.tokens
        world.voidHand()
        try hand(.recalled(taken: missing), to: &taken)
    }
}

/// What became of the starts that the runner may make by itself.
public struct HandTally: CustomStringConvertible, Sendable {
    public var foretold = 0
    /// Of those, while what they wait for executed.
    public var early = 0
    public var taken = 0
    /// Of those, before opsd knew that they might.
    public var takenEarly = 0
    public var withdrawn = 0
    public var presumed = 0

    public init() {}

    public static func += (sum: inout HandTally, other: HandTally) {
        sum.foretold += other.foretold
        sum.early += other.early
        sum.taken += other.taken
        sum.takenEarly += other.takenEarly
        sum.withdrawn += other.withdrawn
        sum.presumed += other.presumed
    }

    mutating func count(_ change: Change) {
        switch change {
        case .foretold: foretold += 1
        case .withdrawn: withdrawn += 1
        case .presumed: presumed += 1
        default: break
        }
    }

    public var description: String {
        "\(foretold) foretold (\(early) early), \(taken) taken (\(takenEarly) early), \(withdrawn) withdrawn, \(presumed) presumed"
    }
}

extension Event {
    fileprivate var isTaken: Bool { if case .taken = self { true } else { false } }
}

extension FakeWorld {
    /// What the runner has said up to the last that it took.
    fileprivate mutating func takeWords() -> [Event] {
        guard let last = facts.lastIndex(where: \.isTaken) else { return [] }
        let words = facts[...last].filter(\.isWordOfRunner)
        facts = facts[...last].filter { !$0.isWordOfRunner } + facts[(last + 1)...]
        told += words
        return words
    }

    /// The runner finds nothing to take any more; it hears of the recall later.
    fileprivate mutating func voidHand() {
        hand.drop()
        handed.removeAll()
    }
}

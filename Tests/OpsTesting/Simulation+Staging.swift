import OpsCore

extension Simulation {
    /// Revokes staged launches as the daemon does: starts of staged launches are handled first, with all earlier
    /// reports of the runner.
    mutating func recall(_ events: inout ArraySlice<Event>, _ taken: inout [Submission]) throws(Violation) {
        guard core.stagedCount > 0, !habits.isForgetful else { return }
        let said = events.lastIndex(where: \.isTaken).map { events[...$0] } ?? []
        let isAllSaid = !world.facts.contains(where: \.isTaken)
        let words = (isAllSaid ? said : events).filter(\.isRunnerReport)
        if isAllSaid {
            let others = said.filter { !$0.isRunnerReport }
            events = others + events.dropFirst(said.count)
        } else {
            events.removeAll(where: \.isRunnerReport)
        }
        for event in words { try hand(event, to: &taken) }
        for event in world.takeWords() { try hand(event, to: &taken) }
        let missing = world.stagedAttempts.count - world.staging.tokens
        world.dropStaged()
        try hand(.stagingRevoked(started: missing), to: &taken)
    }
}

/// Numbers of staged launches by their fate.
public struct StagingTally: CustomStringConvertible, Sendable {
    public var staged = 0
    /// Number of staged launches whose dependencies were still executing.
    public var early = 0
    public var started = 0
    /// Number of starts that came before opsd knew that they were possible.
    public var startedEarly = 0
    public var unstaged = 0
    public var assumed = 0

    public init() {}

    public static func += (sum: inout StagingTally, other: StagingTally) {
        sum.staged += other.staged
        sum.early += other.early
        sum.started += other.started
        sum.startedEarly += other.startedEarly
        sum.unstaged += other.unstaged
        sum.assumed += other.assumed
    }

    mutating func count(_ change: Change) {
        switch change {
        case .staged: staged += 1
        case .unstaged: unstaged += 1
        case .assumedStarted: assumed += 1
        default: break
        }
    }

    public var description: String {
        "\(staged) staged (\(early) early), \(started) started by the runner (\(startedEarly) early), \(unstaged) unstaged, \(assumed) assumed to have started"
    }
}

extension Event {
    fileprivate var isTaken: Bool { if case .stagedStarted = self { true } else { false } }
}

extension FakeWorld {
    /// Removes the reports of the runner up to its last staged start, and returns them.
    fileprivate mutating func takeWords() -> [Event] {
        guard let last = facts.lastIndex(where: \.isTaken) else { return [] }
        let words = facts[...last].filter(\.isRunnerReport)
        facts = facts[...last].filter { !$0.isRunnerReport } + facts[(last + 1)...]
        reported += words
        return words
    }

    /// From now on the runner finds no tokens; it learns of the revocation later.
    fileprivate mutating func dropStaged() {
        staging.drop()
        stagedAttempts.removeAll()
    }
}

import OpsCore

/// A seed whose simulation broke a promise, with the history up to that point.
public struct Failure: Error, CustomStringConvertible, Sendable {
    public var seed: UInt64
    public var violation: Violation
    public var history: History
    public var description: String {
        "seed \(seed) breaks \(violation)\n\(history)"
    }
}

/// Events of a simulation, in a form that people can read and that two runs can be compared by.
public struct History: Sendable, CustomStringConvertible {
    private enum Entry: Sendable {
        case turn(Int, Moment, String)
        case event(Event, String?)
        case transition(Transition)
        case note(String)
    }
    private var entries: [Entry] = []

    mutating func begin(_ turn: Int, _ now: Moment, _ fate: String) { entries.append(.turn(turn, now, fate)) }

    mutating func note(_ text: String) { entries.append(.note(text)) }

    mutating func record(_ event: Event, _ result: Result<Acceptance, Rejection>) {
        if case .failure(let rejection) = result {
            entries.append(.event(event, "\(rejection)"))
        } else {
            entries.append(.event(event, nil))
        }
    }

    mutating func record(_ transition: Transition) {
        let isQuiet = transition.changes.isEmpty && transition.reports.isEmpty && transition.effects.isEmpty
        if !isQuiet { entries.append(.transition(transition)) }
    }

    /// Digest of all transitions; equal if the same seed did the same.
    public var digest: UInt64 {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for case .transition(let transition) in entries {
            for byte in "\(transition)".utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        }
        return hash
    }

    public var description: String {
        entries.map { entry in
            switch entry {
            case .turn(let turn, let now, let fate):
                "turn \(turn) at \(now.wall.nanoseconds % 1_000_000_000_000_000) \(fate)"
            case .event(let event, let refusal): "  \(brief(event))" + (refusal.map { " REFUSED \($0)" } ?? "")
            case .note(let text): brief(text)
            case .transition(let transition):
                (transition.changes.map { "    \(brief($0))" } + transition.effects.map { "    => \(brief($0))" })
                    .joined(separator: "\n")
            }
        }.joined(separator: "\n")
    }

    /// Returns the printed form without repeated words.
    private func brief(_ value: some Any) -> String {
        var text = "\(value)"
        for (long, short) in Self.shortenings { text = text.replacing(long, with: short) }
        return text
    }

    private static let shortenings: [(String, String)] = [
        ("OpsCore.", ""), ("Swift.", ""), ("OperationID(rawValue: ", "("), ("GraphID(rawValue: ", "g("),
        ("AttemptID(operation: ", "("), ("Optional(", "("), ("CategoryUse", ""), ("DraftEdge", "Edge"),
        ("OperationFlags", ""),
    ]
}

/// Rates of disturbances in a simulation.
public struct Habits: Sendable {
    public var turns: Int
    /// Number of crashes in a hundred turns.
    public var crashes: Int
    public var duplicates: Int
    public var clockJumps: Int
    public var runnerDeaths: Int
    public var runnerEnds: Int
    public var reboots: Int
    /// True if queues have aging. Then the clock is never set, because otherwise the right order would be unknown.
    public var aging: Bool
    public var queues: Int
    public var categories: Int
    /// True for many short, independent operations and few requests, for which launches are staged.
    public var isPlain: Bool
    /// True if operations have estimated paths, by which they start.
    public var hasPaths: Bool
    /// True if opsd lets the scheduler revoke staged launches before it handles anything else.
    public var isForgetful = false
    /// True if categories are given rates.
    public var hasRates = false
    /// True if queues are made fair between users, and unfair again.
    public var hasFairQueues: Bool

    public init(using random: inout SeededGenerator) {
        let isCalm = random.chance(40)
        turns = 20 + random.below(60)
        crashes = isCalm ? 0 : random.below(20)
        duplicates = isCalm ? 0 : 8
        aging = random.chance(20)
        clockJumps = isCalm || aging ? 0 : 3
        runnerDeaths = isCalm ? 0 : random.below(6)
        reboots = isCalm ? 0 : random.below(3)
        queues = 1 + random.below(3)
        categories = 1 + random.below(3)
        isPlain = random.chance(30)
        runnerEnds = isCalm ? 0 : random.below(4)
        // Derived from another number instead of drawn, so that the simulations of earlier seeds do not change.
        hasPaths = turns % 3 == 0
        hasFairQueues = turns % 4 == 1
    }
}

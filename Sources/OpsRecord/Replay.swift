public import OpsCore

/// Repeats the turns of a record with a scheduler, and compares its answers with the recorded ones.
public struct Replay {
    public private(set) var scheduler: Scheduler

    public init(_ beginning: RecordBeginning) { scheduler = beginning.scheduler }

    /// Repeats one turn. Returns the difference from the recorded one; nil if it is equal and every invariant holds.
    public mutating func `repeat`(_ turn: RecordedTurn) throws -> ReplayDifference? {
        let results = turn.inputs.map { scheduler.handle($0.event, at: $0.at) }
        let transition: Transition
        switch turn.end {
        case .ended(let now, let limit): transition = scheduler.endTurn(at: now, upTo: limit)
        case .closed: transition = scheduler.closeTurn()
        }
        let completed = CompletedTurn(inputs: turn.inputs, results: results, end: turn.end, transition: transition)
        let digest = try TurnDigest(completed)
        let broken = brokenInvariants(after: turn.end)
        guard digest != turn.digest || !broken.isEmpty else { return nil }
        return ReplayDifference(turn: turn, answer: completed, digest: digest, brokenInvariants: broken)
    }

    /// Returns the broken invariants. A turn that puts work off, or only closes, may leave operations that could start.
    private func brokenInvariants(after end: TurnEnd) -> [String] {
        guard case .ended = end, !scheduler.hasPutOff else { return [] }
        return scheduler.checkInvariants()
    }
}

/// The first turn in which a replay differs from its record. Its description names the turn, its inputs, and each answer.
public struct ReplayDifference: CustomStringConvertible {
    public let turn: RecordedTurn
    let answer: CompletedTurn
    let digest: TurnDigest
    public let brokenInvariants: [String]

    public var description: String {
        var lines = ["turn \(turn.number)", "inputs:"]
        lines += turn.inputs.map { "  at \($0.at.wall.nanoseconds): \($0.event)" }
        lines.append("  \(turn.end)")
        let (old, new, transition) = (turn.digest, digest, answer.transition)
        lines += Self.compare("answers to requests", old.results, new.results, answer.results)
        lines += Self.compare("changes", old.changes, new.changes, transition.changes)
        lines += Self.compare("reports", old.reports, new.reports, transition.reports)
        lines += Self.compare("effects", old.effects, new.effects, transition.effects)
        lines += brokenInvariants.map { "broken invariant \($0)" }
        return lines.joined(separator: "\n")
    }

    /// Returns a line with the numbers of values and, if the values differ, a line for each of them.
    private static func compare<Value>(
        _ name: String, _ expected: [UInt32], _ came: [UInt32], _ values: [Value]
    ) -> [String] {
        guard expected != came else { return ["\(name): the same \(came.count)"] }
        let first = zip(expected, came).prefix { $0 == $1 }.count
        var lines = [
            "\(name): expected \(expected.count), got \(came.count); number \(first + 1) is the first to differ"
        ]
        for (offset, value) in values.enumerated() {
            let isExpected = offset < expected.count && expected[offset] == came[offset]
            lines.append("  \(isExpected ? "same " : "other") \(value)")
        }
        if came.count < expected.count { lines.append("  missing \(expected.count - came.count)") }
        return lines
    }
}

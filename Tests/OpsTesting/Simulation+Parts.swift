import OpsCore

/// Turns in two parts: the daemon limits the work of a turn in its loop, and ends what is put off beside it.
extension Simulation {
    /// Returns the limit of the first part of a turn. Most turns have none. Histories of other seeds have no such
    /// turns, so that they do not change.
    mutating func limit() -> Int {
        seed.isMultiple(of: 4) && partRandom.chance(30) ? partRandom.below(8) : .max
    }

    /// Ends what the first part of a turn has put off, without a limit, as the daemon does: after it has revoked the
    /// staged launches, and together with facts that came meanwhile.
    mutating func endSecondPart() throws(Violation) {
        turnsInTwoParts += 1
        history.begin(turns, now, "second part")
        var taken: [Submission] = []
        var facts = world.takeFacts(atMost: partRandom.below(3))[...]
        try recall(&facts, &taken)
        while let fact = facts.popFirst() { try hand(fact, to: &taken) }
        let isCrash = partRandom.chance(habits.crashes)
        try endTurn(taken, isCrash ? partRandom.pick([.commitFails, .crashAfterCommit]) : .completed, upTo: .max)
    }
}

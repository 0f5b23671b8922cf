import OpsCore

extension FakeWorld {
    mutating func performHand(_ effect: Effect, _ store: FakeStore) throws(Violation) {
        switch effect {
        case .hand(let attempt):
            let foretold = store[attempt.operation].foretold
            try require(foretold?.attempt == attempt, .commitBeforeEffect, "\(attempt) in hand, not foretold")
            guard isConnected else { return }
            try require(
                foretold?.runner == runner && takesHand, .legalEffect, "\(attempt) in the hand of \(runner)")
            hand.append(attempt)
            handed.append(attempt)
        case .recall:
            try require(hand.isEmpty, .legalEffect, "recalled after \(hand) was given")
            if isConnected { tell(.emptyHanded) }
        default: break
        }
    }

    /// Where one has succeeded, and nothing of it is left, the first in hand begins.
    mutating func passOn(
        _ ended: Tree, _ store: FakeStore, at now: Moment, using random: inout SeededGenerator
    ) throws(Violation) {
        guard isConnected, ended.runner == runner, isRunnerAlive, !isRunnerEnding else { return }
        let isOver = !ended.othersAreAlive || ended.leftovers == .leave
        guard !ended.isTerminating, isOver, ended.plan.code == 0, !ended.plan.isSignalled else {
            disturbances.insert(ended.attempt)
            return
        }
        guard disturbances.isEmpty, let attempt = hand.first else { return }
        hand.removeFirst()
        try require(store[attempt.operation].foretold?.attempt == attempt, .commitBeforeEffect, "\(attempt) taken")
        try require(!everLaunched.contains(attempt), .oneProcessAnAttempt, "\(attempt) begun twice")
        // What was given up may live on in a slot that has been given to another.
        let isShared = trees.contains {
            $0.slot == ended.slot && $0.mainIsAlive && !$0.isReaped
                && store[$0.attempt.operation].running?.attempt == $0.attempt
        }
        try require(!isShared, .slotUnique, "\(attempt) begun in slot \(ended.slot)")
        tell(.taken(attempt, Place(slot: ended.slot, at: now)))
        begin(attempt, ended.slot, store[attempt.operation].policy, at: now, using: &random)
    }
}

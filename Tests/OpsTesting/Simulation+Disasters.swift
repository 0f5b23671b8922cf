import OpsCore

extension Simulation {
    /// Disturbs the world between two turns: time passes, processes act, and sometimes there is a disaster.
    mutating func disturb() throws(Violation) {
        pass(
            random.chance(habits.isPlain ? 10 : 30)
                ? .seconds(Int64(random.below(6))) : .nanoseconds(Int64(1 + random.below(1_000_000))))
        for _ in 0..<random.below(3) {
            let restless = world.restless
            if !restless.isEmpty { try world.advance(random.pick(restless), store, at: now, using: &random) }
        }
        if random.chance(30) { answerSomeone() }
        if random.chance(habits.clockJumps) {
            isClockSet = true
            now.wall += .seconds(Int64(random.below(7200) - 3600))
        }
        if !world.isRunnerAlive {
            if random.chance(50) { world.startRunner() }
        } else if world.isRunnerDone || random.chance(habits.runnerDeaths) {
            world.killRunner()
        } else if !world.isRunnerEnding, random.chance(habits.runnerEnds) {
            world.endRunner()
        }
        if random.chance(habits.reboots) { reboot() }
    }

    mutating func pass(_ span: TimeSpan) { now += span }

    private mutating func reboot() {
        pass(.seconds(30))
        now.monotonic = .seconds(5)
        world.reboot()
        rebuild()
    }

    private mutating func answerSomeone() {
        if !world.evaluations.isEmpty {
            let asked = world.takeEvaluation(random.below(world.evaluations.count))
            let answer: ConditionAnswer =
                random.chance(60)
                ? .allTrue
                : random.chance(80) ? .isFalse(index: 0, detail: "no") : .isUnknown(index: 0, detail: "no answer")
            world.tell(.conditionsAnswered(asked.operation, token: asked.token, answer))
        }
        if let owed = world.takeObserver() { world.tell(.observed(owed.operation, run: owed.run)) }
        guard !world.trees.isEmpty else { return }
        let speaker = random.pick(world.trees).attempt
        var notice = OperationUpdate(result: random.chance(50) ? "\(random.below(10))" : nil)
        if store[speaker.operation].policy.completion == .notify { notice.finished = random.chance(70) ? 0 : 1 }
        world.say(speaker, notice)
    }
}

extension FakeWorld {
    mutating func takeEvaluation(_ place: Int) -> (operation: OperationID, token: Int64) {
        evaluations.remove(at: place)
    }

    mutating func takeObserver() -> (operation: OperationID, run: Int32)? {
        observersOwed.isEmpty ? nil : observersOwed.removeFirst()
    }
}

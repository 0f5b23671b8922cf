import OpsCore
import Testing

/// Events about the states of operations, as clients get them.
@Suite struct EventTests {
    /// A world that records the events of each turn in short form.
    private struct Chronicle {
        var world = World(workers: 2)

        mutating func after(_ event: Event) -> [String] {
            world.handle(event)
            return turn()
        }

        mutating func turn() -> [String] {
            world.turn()
            return world.last.reports.map { report in
                let detail = report.detail.map { " \($0)" } ?? ""
                return "\(report.kind)" + (report.operation.map { " \($0.rawValue)" } ?? "") + detail
            }
        }
    }

    @Test func `a hold and its end are told`() {
        var chronicle = Chronicle()
        chronicle.world.add(flags: .held)
        #expect(chronicle.turn() == ["submitted 1", "ready 1"])
        #expect(chronicle.after(.resume(.operations([1]))) == ["resumed 1", "started 1 1"])
        chronicle.world.add(after: [1])
        #expect(chronicle.turn() == ["submitted 2"])
        #expect(chronicle.after(.suspend(.operations([2]), freeze: false)) == ["suspended 2"])
        #expect(chronicle.after(.suspend(.operations([2]), freeze: false)) == [])
        #expect(chronicle.after(.resume(.operations([2]))) == ["resumed 2"])
        #expect(chronicle.after(.suspend(.operations([1]), freeze: true)) == ["suspended 1"])
        #expect(chronicle.after(.resume(.operations([1]))) == ["resumed 1"])
    }

    @Test func `a suspended level and its end are told`() {
        var chronicle = Chronicle()
        chronicle.world.add()
        #expect(chronicle.after(.suspend(.daemon, freeze: false)) == ["submitted 1", "ready 1", "suspended"])
        #expect(chronicle.after(.resume(.daemon)) == ["resumed", "started 1 1"])
        #expect(chronicle.after(.suspend(.graph(GraphID(1)), freeze: true)) == ["suspended", "suspended 1"])
        #expect(chronicle.after(.resume(.graph(GraphID(1)))) == ["resumed", "resumed 1"])
        #expect(chronicle.after(.suspend(.queue("default"), freeze: false)) == ["suspended default"])
        #expect(chronicle.after(.resume(.queue("default"))) == ["resumed default"])
        for unknown in [GraphID(0), GraphID(2)] {
            #expect(
                chronicle.world.handle(.suspend(.graph(unknown), freeze: false)) == .failure(.unknownGraph(unknown)))
            #expect(chronicle.world.handle(.resume(.graph(unknown))) == .failure(.unknownGraph(unknown)))
        }
    }

    @Test func `an attempt that fails, its retry and its end are told`() {
        var chronicle = Chronicle()
        chronicle.world.add { policy in
            policy.timeout = .seconds(60)
            policy.retry = RetryPolicy(limit: 1, backoff: .seconds(1), jitter: 0)
        }
        #expect(chronicle.turn() == ["submitted 1", "ready 1", "started 1 1"])
        #expect(chronicle.world.scheduler.nextDeadline.monotonic == chronicle.world.now.monotonic + .seconds(60))
        #expect(chronicle.after(chronicle.world.exit(1, 3)) == ["retrying 1 1"])
        chronicle.world.pass(seconds: 1)
        #expect(chronicle.turn() == ["started 1 2"])
        #expect(chronicle.after(chronicle.world.exit(1)) == ["finished 1"])
        #expect(chronicle.world.scheduler.nextDeadline == Deadlines())
    }

    @Test func `a cancellation is told when it begins and when the processes have ended`() {
        var chronicle = Chronicle()
        chronicle.world.add()
        chronicle.world.add(after: [1])
        _ = chronicle.turn()
        #expect(chronicle.after(.cancel([1], by: "ann", reason: "wrong", force: false)) == ["cancelling 1"])
        #expect(chronicle.after(chronicle.world.exit(1, 143)) == ["finished 1", "finished 2"])
        #expect(chronicle.after(.cancel([2], by: "ann", reason: nil, force: false)) == [])
    }

    @Test func `what an operation says is told`() {
        var chronicle = Chronicle()
        chronicle.world.add { $0.completion = .notify }
        _ = chronicle.turn()
        let attempt = chronicle.world.attempt(1)
        #expect(
            chronicle.after(.updated(attempt, OperationUpdate(status: "half", progressDone: 1, progressTotal: 2))) == [
                "progress 1 half"
            ])
        #expect(chronicle.after(.updated(attempt, OperationUpdate(finished: 0))) == [])
        #expect(chronicle.after(chronicle.world.exit(1)) == ["finished 1"])
    }

    @Test func `a false condition and its operation are told`() {
        var chronicle = Chronicle()
        chronicle.world.add {
            $0.conditions = [ConditionPolicy(), ConditionPolicy(otherwise: .wait, every: .seconds(5))]
        }
        _ = chronicle.turn()
        guard case .evaluate(_, let token)? = chronicle.world.last.effects.last else {
            Issue.record("nothing is evaluated")
            return
        }
        #expect(
            chronicle.after(.conditionsAnswered(1, token: token, .isFalse(index: 1, detail: "no"))) == [
                "conditionFalse 1 no"
            ])
        let reasons = chronicle.world.scheduler.why(1, at: chronicle.world.now)
        #expect(reasons.map(\.detail) == [.condition(index: 1, again: chronicle.world.now.wall + .seconds(5))])
    }
}

import OpsCore
import OpsTesting
import Testing

/// Groups that are suspended or frozen while they execute.
@Suite struct GroupSuspensionTests {
    private static let group = Level.operations([1])

    /// Returns a group (1) with an operation (2) that is retried, and a group (3) with one more operation (4).
    private func nested(timeout: TimeSpan? = nil) -> Submission {
        var retried = Policy()
        retried.retry = RetryPolicy(limit: 3, backoff: .milliseconds(1))
        var limited = Policy()
        limited.timeout = timeout
        var submission = Submission()
        submission.policies = [retried, limited]
        submission.operations = [
            Draft(policy: timeout == nil ? nil : 1, flags: .group), Draft(group: 0, policy: 0),
            Draft(group: 0, flags: .group), Draft(group: 2, policy: 0),
        ]
        return submission
    }

    private func child(of producer: OperationID) -> Submission {
        var submission = Submission()
        submission.operations = [Draft()]
        submission.producer = producer
        submission.asChildren = true
        return submission
    }

    private func stage(timeout: TimeSpan? = nil) throws -> Stage<Scheduler> {
        var stage = try Stage<Scheduler>(workers: 4)
        try stage.submit(nested(timeout: timeout))
        #expect(stage.started == [2, 4])
        return stage
    }

    private func reasons(_ id: OperationID, _ stage: Stage<Scheduler>) -> [Reason] { stage.core.why(id, at: stage.now) }

    @Test func `nothing below a suspended group starts until it is resumed`() throws {
        var stage = try stage()
        #expect(try stage.perform(.suspend(Self.group, freeze: false)) == [.done(2)], "both groups are held")
        #expect(try stage.perform(.suspend(Self.group, freeze: false)) == [.done(0)])
        try stage.submit(child(of: 4))
        try stage.submit(child(of: 2))
        try stage.end(2, code: 1)
        try stage.end(4, code: 1)
        #expect(stage.started == [2, 4], "neither children nor retries")
        try stage.restart()
        #expect(stage.started == [2, 4])
        #expect(reasons(6, stage) == [Reason(kind: .held, ids: [1], detail: .groupHeld)])
        #expect(reasons(5, stage) == [Reason(kind: .held, ids: [1, 3], detail: .groupHeld)])
        #expect(reasons(1, stage).contains(Reason(kind: .held, ids: [1], detail: .held)))
        #expect(try stage.perform(.resume(Self.group)) == [.done(2)])
        #expect(stage.started == [2, 4, 5, 6])
        try stage.end(5)
        try stage.end(6)
        stage.pass(.milliseconds(10))
        try stage.perform(.tick)
        #expect(stage.started == [2, 4, 5, 6, 2, 4], "a producer is retried after its children")
        try stage.drain()
        #expect(stage.store.unfinished.isEmpty)
    }

    @Test func `a child that a user retries waits for its suspended group`() throws {
        var stage = try stage()
        try stage.end(2)
        try stage.perform(.suspend(Self.group, freeze: false))
        try stage.perform(.retry([2], revived: stage.store.revival(of: [2], downstream: false)))
        #expect(stage.started == [2, 4])
        try stage.perform(.resume(Self.group))
        #expect(stage.started == [2, 4, 2])
    }

    @Test func `resuming a nested group leaves the hold of the outer group`() throws {
        var stage = try stage()
        try stage.perform(.suspend(Self.group, freeze: false))
        #expect(try stage.perform(.resume(.operations([3]))) == [.done(1)])
        try stage.end(4, code: 1)
        stage.pass(.milliseconds(10))
        try stage.perform(.tick)
        #expect(stage.started == [2, 4])
        #expect(reasons(4, stage) == [Reason(kind: .held, ids: [1], detail: .groupHeld)])
        try stage.perform(.resume(Self.group))
        #expect(stage.started == [2, 4, 4])
    }

    @Test func `later children of a frozen producer wait until it is resumed`() throws {
        var stage = try Stage<Scheduler>(workers: 4)
        var submission = Submission()
        submission.operations = [Draft()]
        try stage.submit(submission)
        try stage.submit(child(of: 1))
        #expect(try stage.perform(.suspend(Self.group, freeze: true)) == [.done(2)])
        try stage.submit(child(of: 1))
        #expect(stage.started == [1, 2])
        #expect(try stage.perform(.resume(Self.group)) == [.done(2)])
        #expect(stage.started == [1, 2, 3])
    }

    @Test(arguments: [group, .daemon, .queue("default"), .graph(GraphID(1))], [false, true])
    func `the timeout of a group stops while all below it is frozen`(level: Level, restarts: Bool) throws {
        var stage = try stage(timeout: .seconds(10))
        stage.pass(.seconds(4))
        try stage.perform(.suspend(level, freeze: true))
        stage.pass(.seconds(100))
        try stage.perform(.tick)
        if restarts { try stage.restart() }
        stage.pass(.seconds(100))
        try stage.perform(.tick)
        #expect(stage.store[1].resolution == nil)
        try stage.perform(.resume(level))
        #expect(!stage.store[1].isFrozen)
        if restarts { try stage.restart() }
        stage.pass(.seconds(5))
        try stage.perform(.tick)
        #expect(stage.store[1].resolution == nil)
        stage.pass(.seconds(1))
        try stage.perform(.tick)
        #expect(stage.store[1].resolution?.outcome == .timedOut)
    }

    @Test func `the timeout of a frozen group continues with the first process below it`() throws {
        var stage = try stage(timeout: .seconds(10))
        try stage.perform(.suspend(Self.group, freeze: true))
        stage.pass(.seconds(100))
        try stage.perform(.resume(.operations([4])))
        #expect(!stage.store[1].isFrozen && !stage.store[3].isFrozen && stage.store[2].isFrozen)
        stage.pass(.seconds(10))
        try stage.perform(.tick)
        #expect(stage.store[1].resolution?.outcome == .timedOut)
    }

    @Test func `the timeout of a group does not stop while a process below it runs`() throws {
        var stage = try Stage<Scheduler>(workers: 4)
        var submission = nested(timeout: .seconds(10))
        submission.queues = ["default", "main"]
        submission.operations[3].queue = 1
        try stage.submit(submission)
        try stage.perform(.suspend(.queue("default"), freeze: true))
        #expect(stage.store[2].isFrozen && !stage.store[1].isFrozen)
        stage.pass(.seconds(10))
        try stage.perform(.tick)
        #expect(stage.store[1].resolution?.outcome == .timedOut)
    }

    @Test func `a frozen group that is cancelled is no longer frozen`() throws {
        var stage = try stage(timeout: .seconds(10))
        try stage.perform(.suspend(Self.group, freeze: true))
        #expect(stage.store[1].isFrozen)
        try stage.perform(.cancel([1], by: "ann", reason: nil, force: false))
        #expect(!stage.store[1].isFrozen)
        try stage.drain()
        #expect(stage.store[1].outcome == .cancelled)
    }
}

import OpsCore
import OpsStore
import Testing

@Suite struct CountersTests {
    private func counters(_ world: World) throws -> Counters {
        let counting = world.store.count()
        for _ in 0..<1000 {
            if let counters = try counting.step(limit: 3) { return counters }
        }
        Issue.record("it does not come to an end")
        return Counters()
    }

    /// Submits an operation that is ready, but may have a start time.
    private func submit(_ world: World, notBefore: WallInstant? = nil) -> OperationID {
        var policy = Policy()
        policy.notBefore = notBefore
        var submission = Submission()
        submission.policies = [policy]
        submission.operations = [Draft(policy: 0)]
        let id = world.submit(SubmissionTexts(submission, particulars: [.init(command: "[\"x\"]")]))
        world.change(.becameReady(id, at: world.now))
        return id
    }

    /// Submits an operation, lets it wait and run for these times, and reports its end.
    private func run(
        _ world: World, waiting: Int64, running: Int64, code: Int32 = 0, notBefore: WallInstant? = nil
    ) {
        let id = submit(world, notBefore: notBefore)
        world.now += .nanoseconds(waiting)
        world.start(id)
        world.now += .nanoseconds(running)
        world.end(id, code: code)
        world.sequence += 1
        world.turn.reports.append(
            Report(
                sequence: world.sequence, kind: .finished, operation: id, graph: nil, old: .executing, new: .finished,
                outcome: code == 0 ? .succeeded : .failed, at: world.now))
    }

    private let second: Int64 = 1_000_000_000

    @Test func `finished operations are counted by outcome and time`() throws {
        let world = try World()
        run(world, waiting: 2 * second, running: 30 * second)
        run(world, waiting: 0, running: second / 2, code: 1)
        try world.commit()
        let queue = try counters(world).of(queue: 1)
        #expect(queue[.succeeded] == 1)
        #expect(queue[.failed] == 1)
        #expect(queue.waiting.counts.reduce(0, +) == 2)
        #expect(queue.waiting.sum == 2 * second)
        #expect(queue.running.sum == 30 * second + second / 2)
        #expect(queue.running.counts[1] == 1)
        #expect(queue.running.counts[3] == 1)
    }

    @Test func `the sum of times is right although the longest is above every bound`() throws {
        let world = try World()
        run(world, waiting: second, running: 3_000_000 * second)
        run(world, waiting: second, running: second)
        try world.commit()
        let running = try counters(world).of(queue: 1).running
        #expect(running.sum == 3_000_001 * second)
        #expect(running.counts.last == 1 && running.counts.reduce(0, +) == 2)
    }

    @Test func `an operation with a start time waits from that time on`() throws {
        let world = try World()
        run(world, waiting: 62 * second, running: second, notBefore: world.now + .seconds(60))
        try world.commit()
        #expect(try counters(world).of(queue: 1).waiting.sum == 2 * second)
        let start = world.now + .seconds(60)
        _ = submit(world, notBefore: start)
        try world.commit()
        let history = try world.history()
        #expect(try history.readySince(now: start - .seconds(1)) == [:])
        #expect(try history.readySince(now: start) == [1: start])
    }

    @Test func `an event is counted once, however often somebody asks`() throws {
        let world = try World()
        run(world, waiting: 0, running: second)
        try world.commit()
        _ = try counters(world)
        #expect(try counters(world).of(queue: 1)[.succeeded] == 1)
        run(world, waiting: 0, running: second)
        try world.commit()
        let one = world.store.count()
        let other = world.store.count()
        #expect(try one.step(limit: 1) == nil)
        #expect(try other.step() != nil)
        var result: Counters?
        for _ in 0..<100 where result == nil { result = try one.step(limit: 1) }
        #expect(result?.of(queue: 1)[.succeeded] == 2)
    }

    @Test func `pruning counts before it removes`() throws {
        let world = try World()
        run(world, waiting: 0, running: second)
        try world.commit()
        _ = try counters(world)
        run(world, waiting: 0, running: second)
        try world.commit()
        let pruning = world.store.prune(olderThan: .distantFuture)
        for _ in 0..<1000 where !pruning.isComplete { _ = try pruning.step() }
        #expect(pruning.removed == 2)
        #expect(try counters(world).of(queue: 1)[.succeeded] == 2)
    }

    @Test func `nothing is counted while nobody asks`() throws {
        let world = try World()
        run(world, waiting: 0, running: second)
        try world.commit()
        let pruning = world.store.prune(olderThan: .distantFuture)
        for _ in 0..<1000 where !pruning.isComplete { _ = try pruning.step() }
        #expect(try Raw(world.store.path).integer("SELECT count(*) FROM counter") == 0)
    }

    @Test func `a sum of durations stays at its maximum, and pruning still counts`() throws {
        let world = try World()
        world.store.commitTimes.add(.nanoseconds(Int64.max - second))
        #expect(try counters(world).commits.sum == Int64.max - second)
        for _ in 0..<2 {
            world.store.commitTimes.add(.seconds(20))
            #expect(try counters(world).commits.sum == Int64.max)
        }
        run(world, waiting: 0, running: second)
        try world.commit()
        world.store.commitTimes.add(.seconds(20))
        let pruning = world.store.prune(olderThan: .distantFuture)
        for _ in 0..<1000 where !pruning.isComplete { _ = try pruning.step() }
        #expect(pruning.removed == 1)
        #expect(try counters(world).commits.sum == Int64.max)
    }

    /// The sum of one row stays at its maximum; several rows could add up to more.
    @Test func `the sum of all durations is stored in the row of the last bucket`() throws {
        let world = try World()
        for duration in [1, 20, 500] as [Int64] {
            world.store.commitTimes.add(.milliseconds(duration))
            _ = try counters(world)
        }
        let sums = "SELECT json_array(part, sum) FROM counter WHERE sum > 0"
        #expect(try Raw(world.store.path).texts(sums) == ["[7,521000000]"])
    }

    @Test func `durations of commits are kept across a restart`() throws {
        let world = try World()
        world.store.commitTimes.add(.milliseconds(1))
        world.store.commitTimes.add(.seconds(20))
        _ = try counters(world)
        world.store.commitTimes.add(.seconds(1))
        let commits = try counters(world).commits
        #expect(commits.counts.reduce(0, +) == 3)
        #expect(commits.sum == 21 * second + second / 1000)
        #expect(try world.history().counters().commits == commits)
    }
}

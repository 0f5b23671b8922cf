import CSQLite
import Glibc
import OpsCore
import TestSupport
import Testing

@testable import OpsStore

@Suite struct HousekeepingTests {
    private func run(_ pruning: Pruning, limit: Int = 1) throws -> [AttemptID] {
        var gone: [AttemptID] = []
        // Limited, because every step must remove at least one row.
        for _ in 0..<1000 where !pruning.isComplete {
            for attempts in try pruning.step(limit: limit).values { gone += attempts }
        }
        #expect(pruning.isComplete)
        return gone
    }

    @Test func `prune removes old graphs and the texts that only they used`() throws {
        let world = try World()
        let old = world.submit(one("[1]", environment: #"{"A":"1"}"#))
        finish(world, old)
        try world.commit()
        let kept = world.submit(one("[2]", environment: #"{"A":"2"}"#))
        try world.commit()
        let cutoff = world.now
        let recent = world.submit(one("[3]", environment: #"{"A":"1"}"#))
        finish(world, recent)
        try world.commit()
        let pruning = world.store.prune(olderThan: cutoff)
        #expect(try run(pruning) == [AttemptID(old, 1)])
        #expect(pruning.removed == 1)
        let history = try world.history()
        #expect(try history.select(Selection(), limit: 9) == [kept, recent])
        #expect(try history.environment(of: recent) == #"{"A":"1"}"#)
        #expect(try world.store.texts(of: kept)?.command == "[2]")
        #expect(try history.check() == [])
        #expect(try history.events(after: 0, limit: 1).map(\.sequence) == [3])
        #expect(try Raw(world.store.path).integer("SELECT count(*) FROM text WHERE body = '[1]'") == 0)
    }

    @Test func `a pruning that removes no graph keeps its events and does not look for unused texts`() throws {
        let world = try World()
        world.report(.suspended)
        try world.commit()
        finish(world, world.submit(one("[1]")))
        try world.commit()
        _ = try run(world.store.prune(olderThan: nil, keeping: 5))
        #expect(try world.history().events(after: 0, limit: 9).map(\.sequence) == [1, 2])
        #expect(!world.store.mayHaveFreePages)
    }

    @Test func `a text that was pruned is stored again when it is used again`() throws {
        let world = try World()
        finish(world, world.submit(one("[1]", environment: #"{"A":"1"}"#)))
        try world.commit()
        _ = try run(world.store.prune(olderThan: .distantFuture))
        let again = world.submit(one("[1]", environment: #"{"A":"1"}"#))
        try world.commit()
        #expect(try world.history().environment(of: again) == #"{"A":"1"}"#)
        #expect(try world.history().check() == [])
    }

    @Test func `prune keeps unfinished operations and those they depend on`() throws {
        let world = try World()
        let first = world.submit(one("[1]"))
        finish(world, first)
        var after = one("[2]")
        after.submission.edges = [DraftEdge(from: 0, on: .existing(first))]
        world.submit(after)
        try world.commit()
        #expect(try run(world.store.prune(olderThan: .distantFuture)).isEmpty)
        #expect(try world.history().check() == [])
    }

    @Test func `numbers of pruned operations are not used again`() throws {
        let world = try World()
        for _ in 1...3 { finish(world, world.submit(one("[1]"))) }
        try world.commit()
        _ = try run(world.store.prune(olderThan: .distantFuture))
        try world.reopen()
        let snapshot = try world.store.load()
        #expect(snapshot.nextOperation == 4 && snapshot.nextGraph == 4 && snapshot.lastSequence == 3)
    }

    @Test func `prune keeps the requested number of newest graphs`() throws {
        let world = try World()
        for _ in 1...5 { finish(world, world.submit(one("[1]"))) }
        try world.commit()
        _ = try run(world.store.prune(olderThan: nil, keeping: 2))
        #expect(try world.history().select(Selection(), limit: 9).map(\.rawValue) == [4, 5])
    }

    @Test func `graphs beyond the requested number are pruned although they are not old`() throws {
        let world = try World()
        for _ in 1...5 { finish(world, world.submit(one("[1]"))) }
        try world.commit()
        _ = try run(world.store.prune(olderThan: world.now - .seconds(3600), keeping: 2))
        #expect(try world.history().select(Selection(), limit: 9).map(\.rawValue) == [4, 5])
        #expect(try world.history().check() == [])
    }

    @Test func `unfinished operations do not count among those that prune keeps`() throws {
        let world = try World()
        for _ in 1...3 { finish(world, world.submit(one("[1]"))) }
        for _ in 1...12 { world.submit(one("[1]")) }
        world.start(OperationID(5))
        try world.commit()
        _ = try run(world.store.prune(olderThan: nil, keeping: 2))
        #expect(try world.history().select(Selection(), limit: 99).map(\.rawValue) == Array(2...15))
        #expect(try world.history().check() == [])
    }

    @Test func `a large graph is pruned in slices`() throws {
        let world = try World()
        var submission = Submission()
        submission.operations = (0..<10).map { _ in Draft() }
        submission.edges = (1..<10).map { DraftEdge(from: $0, on: .local($0 - 1)) }
        let particulars = submission.operations.indices.map { SubmissionTexts.Particulars(command: "[\($0 % 2)]") }
        let first = world.submit(SubmissionTexts(submission, particulars: particulars))
        for place in 0..<10 { finish(world, OperationID(first.rawValue + Int64(place))) }
        try world.commit()
        let pruning = world.store.prune(olderThan: .distantFuture)
        #expect(try pruning.step(limit: 4).values.map(\.count) == [3])
        #expect(try world.history().check() == [])
        #expect(try run(pruning, limit: 4).count == 7)
        #expect(try world.history().check() == [])
    }

    /// No step looks at more than its part, however large a graph is, and however much its operations share.
    @Test func `a graph that stays is looked at in slices`() throws {
        let world = try World()
        var submission = Submission()
        submission.operations = (0..<100).map { _ in Draft() }
        let particulars = submission.operations.indices.map { _ in SubmissionTexts.Particulars(command: "[1]") }
        let first = world.submit(SubmissionTexts(submission, particulars: particulars))
        for place in 0..<99 { finish(world, OperationID(first.rawValue + Int64(place))) }
        finish(world, world.submit(one("[2]")))
        try world.commit()
        let pruning = world.store.prune(olderThan: .distantFuture)
        var steps = 0
        while pruning.removed == 0, steps < 100 {
            _ = try pruning.step(limit: 2)
            steps += 1
        }
        #expect(steps >= 10, "of ten operations each")
        _ = try run(pruning)
        #expect(pruning.removed == 1, "the last of the large graph has not ended")
        #expect(try world.history().check() == [])
    }

    @Test func `an operation that is named while its graph is looked at stays`() throws {
        let world = try World()
        var submission = Submission()
        submission.operations = (0..<40).map { _ in Draft() }
        let particulars = submission.operations.indices.map { _ in SubmissionTexts.Particulars(command: "[1]") }
        let first = world.submit(SubmissionTexts(submission, particulars: particulars))
        for place in 0..<40 { finish(world, OperationID(first.rawValue + Int64(place))) }
        try world.commit()
        let pruning = world.store.prune(olderThan: .distantFuture)
        _ = try pruning.step(limit: 2)
        var after = one("[2]")
        after.submission.edges = [DraftEdge(from: 0, on: .existing(OperationID(first.rawValue + 39)))]
        world.submit(after)
        try world.commit()
        _ = try run(pruning)
        #expect(pruning.removed == 0)
        #expect(try world.history().check() == [])
    }

    @Test func `policies that nobody refers to go in slices`() throws {
        let world = try World()
        for number in 1...20 {
            var timed = one("[\(number)]")
            var policy = Policy()
            policy.timeout = .nanoseconds(Int64(number))
            timed.submission.policies = [policy]
            timed.submission.operations[0].policy = 0
            let id = world.submit(timed)
            if number != 7 { finish(world, id) }
        }
        try world.commit()
        _ = try run(world.store.prune(olderThan: .distantFuture), limit: 3)
        #expect(try Raw(world.store.path).integer("SELECT count(*) FROM policy") == 1)
        #expect(try world.history().check() == [])
    }

    @Test func `a backup is consistent although commits happen meanwhile`() throws {
        let world = try World()
        for _ in 1...200 { world.submit(one("[1]", environment: String(repeating: "x", count: 2000))) }
        try world.commit()
        let target = TemporaryDirectory(inMemory: true)
        let backup = try world.history().backUp(to: target.path + "/" + Store.fileName)
        #expect(try backup.step(pages: 2))
        world.submit(one("[late]"))
        try world.commit()
        while try backup.step(pages: 2) {}
        #expect(target.names == [Store.fileName])
        let copy = try Store.open(directory: target.path, boot: "b")
        #expect(try copy.load().operations.count == 200, "as it was when it began")
        #expect(try History.open(path: copy.path).check() == [])
    }

    @Test func `the plan to find the next submission of a graph reads a range of ids`() throws {
        let world = try World()
        let plan = try Raw(world.store.path).texts("EXPLAIN QUERY PLAN " + Pruning.nextSubmission, column: 3)
        #expect(plan.first { $0.hasPrefix("SEARCH submission") }?.contains("(graph=? AND rowid>?)") == true, "\(plan)")
    }

    @Test func `no copy of the database is made inside the state directory, whatever its name begins with`() throws {
        let world = try World()
        let state = String(world.store.path.dropLast(Store.fileName.count))
        for name in ["x", "\u{301}x"] {
            #expect(throws: BackupRefusal.self) { try world.history().backUp(to: state + name) }
        }
    }

    @Test func `an abandoned backup leaves no file`() throws {
        let world = try World()
        world.submit(one("[1]"))
        try world.commit()
        let target = TemporaryDirectory(inMemory: true)
        do { _ = try world.history().backUp(to: target.path + "/copy").step(pages: 1) }
        #expect(target.names == [])
    }

    @Test func `tidying gives disk space back`() throws {
        let world = try World()
        for number in 1...1000 {
            finish(world, world.submit(one("[\(number)]", environment: String(repeating: "\(number)", count: 2000))))
        }
        try world.commit()
        _ = try run(world.store.prune(olderThan: .distantFuture), limit: 1000)
        let before = try Raw(world.store.path).integer("PRAGMA page_count")
        #expect(world.store.wantsTidying)
        #expect(try tidy(world.store) > 2, "a piece at a time")
        #expect(try Raw(world.store.path).integer("PRAGMA page_count") < before / 10)
        #expect(try Raw(world.store.path).integer("PRAGMA freelist_count") == 0)
        #expect(File.read(world.store.path + "-wal")?.count == 0)
        let file = try #require(File.read(world.store.path))
        #expect(file.count < Int(before) * 4096 / 10)
        #expect(try world.history().check() == [])
    }

    /// Each piece adds frames: without checkpoints the log would grow with the number of unused pages.
    @Test func `a long log is moved while unused pages are given back`() throws {
        let world = try World()
        finish(world, world.submit(one("[1]", environment: String(repeating: "x", count: 100_000))))
        try world.commit()
        try commitLongLog(world)
        _ = try run(world.store.prune(olderThan: .distantFuture), limit: 1000)
        #expect(world.store.mayHaveFreePages && world.store.hasLongLog)
        #expect(try world.store.tidy())
        #expect(!world.store.mayHaveFreePages && !world.store.hasLongLog)
    }

    @Test func `tidying waits for the next commit after a failed one, and then goes on`() throws {
        let world = try World()
        finish(world, world.submit(one("[1]", environment: String(repeating: "x", count: 100_000))))
        try world.commit()
        _ = try run(world.store.prune(olderThan: .distantFuture), limit: 1000)
        world.start(OperationID(99))
        #expect(throws: StoreError.self) { try world.commit() }
        #expect(try !world.store.tidy())
        #expect(world.store.mayHaveFreePages)
        #expect(try Raw(world.store.path).integer("PRAGMA freelist_count") > 0)
        world.submit(one("[2]"))
        try world.commit()
        _ = try tidy(world.store)
        #expect(!world.store.mayHaveFreePages)
        #expect(try Raw(world.store.path).integer("PRAGMA freelist_count") == 0)
    }

    /// An open read of another process is neither waited for nor polled.
    @Test func `an open reader postpones tidying`() throws {
        let world = try World()
        for number in 1...1000 { world.submit(one(String(repeating: "\(number)", count: 2000))) }
        try world.commit()
        let reader = try Raw(world.store.path)
        try reader.run("BEGIN; SELECT * FROM meta")
        for number in 1...1000 { world.submit(one(String(repeating: "\(number)", count: 2000))) }
        try world.commit()
        #expect(try tidy(world.store) == 1)
        #expect(File.read(world.store.path + "-wal")?.isEmpty == false)
        try reader.run("COMMIT")
        world.submit(one("[1]"))
        try world.commit()
        #expect(try tidy(world.store) == 1)
        #expect(File.read(world.store.path + "-wal")?.count == 0)
    }

    @Test func `a checkpoint does nothing while another one runs`() throws {
        let world = try World()
        try commitLongLog(world)
        #expect(world.store.hasLongLog)
        world.store.isLogBeingMoved = true
        let size = try #require(File.read(world.store.path)?.count)
        try world.store.checkpoint()
        #expect(try world.store.tidy())
        #expect(File.read(world.store.path)?.count == size && world.store.hasLongLog)
        let frames = try Store.moveLog(ofDatabaseAt: world.store.path)
        #expect(try #require(File.read(world.store.path)?.count) > size)
        world.store.endMove(of: frames)
        #expect(!world.store.hasLongLog, "it is not moved again")
        #expect(try tidy(world.store) == 1)
        #expect(File.read(world.store.path + "-wal")?.count == 0)
    }

    @Test func `a log that grew while it was moved is moved again`() throws {
        let world = try World()
        try commitLongLog(world)
        world.store.isLogBeingMoved = true
        let frames = try Store.moveLog(ofDatabaseAt: world.store.path)
        world.submit(one("[1]"))
        try world.commit()
        world.store.endMove(of: frames)
        #expect(world.store.hasLongLog)
    }

    /// A checkpoint counted no frame as moved before it began. A commit that had just found all of them moved then started
    /// the log over, and the checkpoint copied its pages over others.
    @Test func `a log that is moved completely stays counted as moved`() throws {
        let world = try World()
        world.submit(one("[1]"))
        try world.commit()
        try world.store.checkpoint()
        // As at the beginning of a commit: reads the database alone, since the log is moved.
        try world.store.beginReading()
        _ = try world.store.texts(of: OperationID(1))
        _ = try Store.moveLog(ofDatabaseAt: world.store.path)
        let index = try #require(File.read(world.store.path + "-shm"))
        let (frames, moved) = (index[16..<20], index[96..<100])
        #expect(frames.elementsEqual(moved) && frames.contains { $0 > 0 })
        world.store.endReading()
    }

    /// Commits so much at once that the log is long, beside a reader that prevents its checkpoint.
    private func commitLongLog(_ world: World) throws {
        for number in 1...1000 { world.submit(one(String(repeating: "\(number)", count: 2000))) }
        let reader = try Raw(world.store.path)
        try reader.run("BEGIN; SELECT * FROM meta")
        try world.commit()
        try reader.run("COMMIT")
    }

    /// Tidies the store, and returns the number of steps that it took.
    private func tidy(_ store: Store) throws -> Int {
        for pieces in 1...100 where try !store.tidy() { return pieces }
        Issue.record("there is always more to tidy")
        return 0
    }
}

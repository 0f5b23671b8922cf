import Glibc
import OpsCore
import TestSupport
import Testing

@testable import OpsStore

/// Rows that other tests write and do not read back.
@Suite struct RowTests {
    private let first = OperationID(1)
    private let second = OperationID(2)

    /// Submits a graph of two operations, the second after the first.
    private func submitPair(_ world: World, name: String?) {
        var submission = Submission()
        submission.operations = [Draft(), Draft()]
        submission.edges = [DraftEdge(from: 1, on: .local(0))]
        world.submit(
            SubmissionTexts(
                submission, graphName: name,
                particulars: [.init(name: "build", command: "[]"), .init(name: "test", command: "[]")]))
    }

    @Test func `the newest graphs are listed with their counts`() throws {
        let world = try World()
        submitPair(world, name: "a")
        submitPair(world, name: nil)
        submitPair(world, name: "a")
        world.start(first)
        world.end(first, code: 1)
        world.change(.becameReady(second, at: world.now))
        world.start(OperationID(5))
        try world.commit()
        let history = try world.history()
        #expect(try history.newestGraphs(2).map(\.graph.rawValue) == [2, 3])
        #expect(try history.newestGraphs(9, named: "a").map(\.graph.rawValue) == [1, 3])
        #expect(try history.newestGraphs(9).map(\.name) == ["a", nil, "a"])
        #expect(try history.newestGraphs(9).map(\.user) == ["root", "root", "root"])
        #expect(try history.operationCount(of: GraphID(3)) == 2)
        func counts(_ graph: GraphSummary) throws -> [Int] {
            var graph = graph
            try history.count(&graph)
            return [graph.pending, graph.ready, graph.executing, graph.finished, graph.unsuccessful, graph.held]
        }
        #expect(
            try history.newestGraphs(9).map(counts) == [[0, 1, 0, 1, 1, 0], [1, 1, 0, 0, 0, 0], [1, 0, 1, 0, 0, 0]])
    }

    @Test func `operations that succeeded or were not needed do not count as unsuccessful`() throws {
        let world = try World()
        for _ in 1...2 { submitPair(world, name: nil) }
        finish(world, first)
        world.change(.finished(second, .notNeeded, nil, at: world.now))
        world.start(OperationID(3))
        world.end(OperationID(3), code: 1)
        finish(world, OperationID(4))
        try world.commit()
        let history = try world.history()
        func counts(_ graph: GraphSummary) throws -> [Int] {
            var graph = graph
            try history.count(&graph)
            return [graph.finished, graph.unsuccessful]
        }
        #expect(try history.newestGraphs(9).map(counts) == [[2, 0], [2, 1]])
    }

    @Test func `an end has the name, the outcome and the exit of its operation`() throws {
        let world = try World()
        submitPair(world, name: nil)
        world.start(first)
        world.end(first, code: 3)
        try world.commit()
        let absent = OperationID(9)
        let ends = try world.history().ends(of: [absent, second, first])
        #expect(ends.map(\.id) == [first])
        #expect(ends.map(\.name) == ["build"] && ends.map(\.outcome) == [.failed] && ends.map(\.exitCode) == [3])
        #expect(try world.history().outcomes(of: [absent, second, first]) == [first: .failed])
    }

    @Test func `the newest event of an operation is found among the latest events`() throws {
        let world = try World()
        submitPair(world, name: nil)
        for id in [first, second, first] { world.report(.progress, id) }
        world.sequence += 1
        world.turn.reports.append(
            Report(sequence: world.sequence, kind: .produced, operation: first, product: second, at: world.now))
        try world.commit()
        let history = try world.history()
        func newest(
            _ kind: Report.Kind, of id: OperationID, product: OperationID? = nil, amongLast count: Int64 = 9
        ) throws -> Int64? {
            try history.newestEvent(kind, of: id, product: product, amongLast: count)?.sequence
        }
        #expect(try newest(.progress, of: first) == 5)
        #expect(try newest(.progress, of: second) == 4)
        #expect(try newest(.progress, of: second, amongLast: 3) == 4)
        #expect(try newest(.progress, of: second, amongLast: 2) == nil, "it is older than those")
        #expect(try newest(.produced, of: first, product: second) == 6)
        #expect(try newest(.produced, of: first) == nil)
    }

    @Test func `policies and category sets that submissions have in common are stored once`() throws {
        let world = try World()
        for _ in 1...2 {
            var texts = one("[]")
            var timed = Policy()
            timed.timeout = .seconds(5)
            texts.submission.policies = [Policy(), timed]
            texts.submission.categorySets = [[CategoryUse(name: "db")], [CategoryUse(name: "gpu", units: 2)]]
            world.submit(texts)
            try world.commit()
        }
        let raw = try Raw(world.store.path)
        #expect(try raw.integer("SELECT count(*) FROM policy") == 2)
        #expect(try raw.integer("SELECT count(*) FROM categorySet") == 2)
    }

    @Test func `a limited number of policies and category sets is kept in memory`() throws {
        let world = try World()
        var texts = one("[]")
        for number in 1...Interned.capacity + 1 {
            var policy = Policy()
            policy.timeout = .nanoseconds(Int64(number))
            texts.submission.policies.append(policy)
            texts.submission.categorySets.append([CategoryUse(name: "c\(number)")])
        }
        world.submit(texts)
        try world.commit()
        #expect((1...Interned.capacity).contains(world.store.interned.policies.count))
        #expect((1...Interned.capacity).contains(world.store.interned.categorySets.count))
    }

    @Test func `the dependencies and the policy of an operation are read`() throws {
        let world = try World()
        var submission = Submission()
        var policy = Policy()
        policy.timeout = .seconds(7)
        submission.policies = [Policy(), policy]
        submission.operations = [Draft(), Draft(policy: 1)]
        submission.edges = [DraftEdge(from: 1, on: .local(0), when: .finished)]
        world.submit(SubmissionTexts(submission, particulars: [.init(command: "[]"), .init(command: "[]")]))
        try world.commit()
        let history = try world.history()
        #expect(try history.dependencies(of: second).map(\.id) == [first])
        #expect(try history.dependencies(of: first).isEmpty)
        #expect(try history.policy(of: second)?.timeout == .seconds(7))
        #expect(try history.policy(of: first)?.timeout == nil)
        #expect(try history.policy(of: OperationID(9)) == nil)
        #expect(try history.hasEdge(from: second, on: first) && !history.hasEdge(from: first, on: second))
    }

    @Test func `a category is loaded with its units, and with those of its starts that still count`() throws {
        let world = try World()
        let settings = CategorySettings(
            name: "gpu", capacity: 4, units: ["u0", "u1"], share: 2, export: "CUDA",
            rate: Rate(count: 2, interval: .seconds(60)))
        world.change(.categorySet(settings))
        func start(_ seconds: Int64, expired: Int64) {
            world.change(.rateStarted("gpu", at: .zero + .seconds(seconds), expired: .zero + .seconds(expired)))
        }
        start(10, expired: -1)
        start(10, expired: -1)
        start(20, expired: 5)
        try world.commit()
        func starts() throws -> [Int64] {
            try world.store.load().rateStarts["gpu", default: []].map { $0.nanoseconds / 1_000_000_000 }
        }
        #expect(try world.store.load().categorySettings == [settings])
        #expect(try starts() == [10, 10, 20])
        start(30, expired: 10)
        try world.commit()
        #expect(try starts() == [20, 30])
        // At the next boot they count as made at its beginning, until that instant has expired.
        try world.reopen(boot: "boot-2")
        #expect(try starts() == [0, 0])
        start(3, expired: -1)
        try world.commit()
        #expect(try starts() == [0, 0, 3])
        start(4, expired: 0)
        try world.commit()
        #expect(try starts() == [3, 4])
    }

    @Test func `a read is interrupted when its time is over, and only then`() throws {
        let world = try World()
        for _ in 0..<300 { world.submit(one("[]")) }
        try world.commit()
        let history = try world.history()
        let all = (1...300).map { OperationID($0) }
        func bounded(_ isOver: Bool, _ body: () throws -> Int) throws -> Int {
            try history.reading(until: { isOver }, body)
        }
        #expect(try bounded(false) { try history.select(Selection(), limit: 1000).count } == 300)
        #expect {
            try bounded(true) { try history.records(of: all).count }
        } throws: { ($0 as? StoreError)?.kind == .interrupted }
        #expect(try history.records(of: all).count == 300, "the bound is gone with its body")
    }

    @Test func `a statement can be used again after a value that could not be bound`() throws {
        let world = try World()
        world.submit(one("[]"))
        try world.commit()
        let database = try world.history().database
        let row = try database.prepare("SELECT id FROM operation WHERE id >= ?1")
        row.bind(1, 1)
        #expect(try row.step())
        // SQLite refuses new values in the middle of a read.
        row.bind(1, 1)
        #expect(throws: StoreError.self) { try row.step() }
        row.bind(1, 1)
        #expect(try row.step() && row.int(0) == 1)
    }

    @Test func `a transaction that fails leaves nothing behind`() throws {
        let world = try World()
        world.submit(one("[]"))
        try world.commit()
        #expect(throws: StoreError.self) {
            try world.store.database.transaction { () throws(StoreError) in
                try world.store.database.execute("DELETE FROM operation")
                throw StoreError(.full, "test", file: "")
            }
        }
        #expect(!world.store.database.isInTransaction)
        #expect(try world.store.load().operations.count == 1)
    }

    @Test func `a copy replaces a file and no directory`() throws {
        let directory = TemporaryDirectory()
        let world = try World()
        #expect(throws: BackupRefusal.self) {
            try BackupDestination(directory.path, of: world.store.path, replacesAnything: true)
        }
        let file = directory.path + "/file"
        let part = try BackupDestination(file, of: world.store.path, replacesAnything: true).makePart()
        #expect(part.hasPrefix(file))
        #expect(throws: Never.self) {
            try BackupDestination(part, of: world.store.path, replacesAnything: true)
        }
    }

    @Test func `a copy replaces an earlier copy, and no database of another program`() throws {
        let directory = TemporaryDirectory(inMemory: true)
        let world = try World()
        let (copy, foreign) = (directory.path + "/copy", directory.path + "/foreign")
        for _ in 1...2 {
            let backup = try world.history().backUp(to: copy)
            while try backup.step() {}
        }
        try Database(foreign, .create).execute("CREATE TABLE t(x)")
        #expect(throws: BackupRefusal.self) { try world.history().backUp(to: foreign) }
        #expect(directory.names == ["copy", "foreign"])
    }

    @Test func `a copy makes no file behind a link`() throws {
        let directory = TemporaryDirectory(inMemory: true)
        let copy = directory.path + "/copy"
        #expect(symlink(directory.path + "/elsewhere", copy) == 0)
        #expect(throws: StoreError.self) { _ = try Database(copy, .createInPlace) }
        #expect(directory.names == ["copy"])
    }
}

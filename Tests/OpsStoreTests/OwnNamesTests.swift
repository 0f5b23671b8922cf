import OpsCore
import TestSupport
import Testing

@testable import OpsStore

/// Names that operations and graphs of several users have in common.
@Suite struct OwnNamesTests {
    private static let ann: UInt32 = 20_001
    private static let bob: UInt32 = 20_002

    /// Returns a submission of one operation in the graph `nightly`.
    private func texts(_ name: String, of uid: UInt32) -> SubmissionTexts {
        var submission = Submission()
        submission.user = uid
        submission.operations = [Draft()]
        return SubmissionTexts(
            submission, graphName: "nightly", particulars: [.init(name: name, command: #"["true"]"#)])
    }

    @Test func `a name means the user's own operation and graph, however many others have it`() throws {
        let world = try World()
        let own = world.submit(texts("build", of: Self.ann))
        for _ in 0..<3 { world.submit(texts("build", of: Self.bob)) }
        world.submit(texts("test", of: Self.ann))
        try world.commit()
        let history = try world.history()
        #expect(try history.newest(named: "build", for: Self.ann) == own)
        #expect(try history.newest(named: "build", for: Self.bob) == OperationID(4))
        #expect(try history.newest(named: "build", for: 0) == OperationID(4), "root has none")
        #expect(try history.newest(named: "test", for: Self.bob) == OperationID(5))
        #expect(try history.newest(named: "lint", for: Self.ann) == nil)
        #expect(try history.newest(named: "build", in: GraphID(1)) == own)
        #expect(try history.newestGraph(named: "nightly", for: Self.bob) == GraphID(4))
        #expect(try history.newestGraph(named: "nightly", for: 0) == GraphID(5))
        #expect(try history.newestGraph(named: "weekly", for: 0) == nil)
        world.submit(texts("build", of: Self.ann))
        try world.commit()
        #expect(try history.newest(named: "build", for: Self.ann) == OperationID(6))
        #expect(try history.newest(named: "build", for: Self.bob) == OperationID(4))
        #expect(try history.operationNames(prefix: "", limit: 9) == ["build", "test"], "by the newest of any user")
    }

    @Test func `the plan to find the newest operation of a name searches the index once for each user`() throws {
        let world = try World()
        let plan = try Raw(world.store.path).texts(
            "EXPLAIN QUERY PLAN SELECT \(History.newestOperation(named: "?1"))", column: 3)
        let reads = plan.filter { $0.contains(" operation ") }
        #expect(reads.count == 3, "\(plan)")
        #expect(reads.allSatisfy { $0.contains("COVERING INDEX operationByName (name=?") }, "\(plan)")
    }

    @Test func `estimates are made of the user's own operations`() throws {
        let world = try World()
        for (uid, time) in [(Self.ann, 2), (Self.bob, 5)] as [(UInt32, Int64)] {
            let id = world.submit(texts("build", of: uid))
            world.start(id)
            try world.commit()
            // The commit took one second.
            world.now += .seconds(time - 1)
            world.end(id)
            try world.commit()
        }
        let history = try world.history()
        #expect(try history.durations(ofName: "build", inGraphsNamed: "nightly", of: Self.ann) == [2000])
        #expect(try history.durations(ofName: "build", inGraphsNamed: "nightly", of: Self.bob) == [5000])
        #expect(try history.durations(ofName: "build", inGraphsNamed: "nightly", of: 0).isEmpty)
        let runs = try history.programRuns(from: OperationID(1), to: OperationID(2), of: Self.ann)
        #expect(runs.map(\.milliseconds) == [2000] && runs.map(\.program) == ["true"])
    }

    @Test func `names of a database from before this index are those of their users`() throws {
        let directory = TemporaryDirectory(inMemory: true)
        let path = directory.path + "/opsd.db"
        do {
            let database = try Database(path, .create)
            try Schema.bringUpToDate(database, by: Array(Migration.all.prefix { $0.version <= 26 }))
            try database.execute(
                """
                INSERT INTO text (id, hash, body) VALUES (1, 7, '{}'), (2, NULL, '["true"]');
                INSERT INTO submission (first, count, graph, isNew, uid, gid, user, at)
                VALUES (1, 1, 1, 1, 0, 0, 'root', 5), (2, 2, 2, 1, \(Self.ann), 0, 'ann', 5),
                    (4, 1, 3, 1, \(Self.bob), 0, 'bob', 5);
                INSERT INTO operation (id, state, flags, priority, queue, name, command, details, environment)
                VALUES (1, 1, 0, 0, 1, 'build', 2, 1, 1), (2, 1, 0, 0, 1, 'build', 2, 1, 1),
                    (3, 1, 0, 0, 1, 'build', 2, 1, 1), (4, 1, 0, 0, 1, 'build', 2, 1, 1);
                """)
        }
        let store = try Store.open(directory: directory.path, boot: "b")
        let history = try History.open(path: store.path)
        #expect(try history.check() == [])
        for (uid, id) in [(0, 1), (Self.ann, 3), (Self.bob, 4)] as [(UInt32, Int64)] {
            #expect(try history.newest(named: "build", for: uid) == OperationID(id))
        }
    }
}

import OpsCore
import OpsStore
import TestSupport
import Testing

@Suite struct CheckTests {
    @Test(arguments: [
        ("UPDATE operation SET state = 7 WHERE id = 3", "operation 3 is in the unknown state 7"),
        ("UPDATE operation SET outcome = 1 WHERE id = 3", "operation 3 has an outcome and is not finished"),
        ("UPDATE operation SET cause = NULL WHERE id = 1", "operation 1 did not succeed and has no cause"),
        ("UPDATE operation SET finishedAt = NULL WHERE id = 1", "operation 1 is finished without an instant"),
        ("UPDATE operation SET outcome = 9 WHERE id = 1", "operation 1 ended in an unknown way"),
        ("DELETE FROM submission", "operation 1 belongs to no submission"),
        ("UPDATE operation SET uid = 7 WHERE id = 3", "operation 3 is of another user than its submission"),
        ("DELETE FROM operation WHERE id = 3", "submission 1 of graph 1 lacks operations"),
        ("UPDATE edge SET dependency = 77", "operation 2 waits for 77, which does not exist"),
        ("UPDATE operation SET parent = 50 WHERE id = 2", "operation 2 is in group 50, which does not exist"),
        ("UPDATE operation SET parent = 1 WHERE id = 2", "operation 2 is unfinished, but its group has finished"),
        ("DELETE FROM event WHERE seq = 2", "events are missing: 1 between 1 and 3"),
        ("UPDATE event SET kind = 99 WHERE seq = 1", "event 1 is of an unknown kind"),
        ("DELETE FROM text WHERE body LIKE '%umask%'", "operation 1 has lost a text"),
        ("DELETE FROM policy", "operation 3 has lost its policy"),
        ("DELETE FROM categoryUse; DELETE FROM categorySet", "operation 3 has lost its categories"),
        ("UPDATE operation SET state = 2 WHERE id = 3", "operation 3 executes without an attempt"),
        (
            "INSERT INTO ending (operation, outcome, causeKind, \"by\") VALUES (3, 3, 6, 'x')",
            "operation 3 has a decided outcome but is not executing"
        ),
        ("UPDATE meta SET staged = '[[1,2,1]]'", "operation 1 is staged but has finished or does not exist"),
        ("UPDATE meta SET staged = '[[3,1,9]]'", "operation 3 is staged on an unknown runner"),
        ("UPDATE operation SET queue = 99 WHERE id = 3", "row 3 of operation refers to a missing row"),
        ("DELETE FROM meta", "the row of meta is missing"),
        ("UPDATE edge SET \"when\" = 9 WHERE dependency = 1", "operation 2 waits for 1 in an unknown way"),
    ])
    func plantedDamageIsFound(_ damage: String, _ problem: String) throws {
        let world = try World()
        let first = world.submit(CommitTests.graph())
        world.start(first)
        world.end(first, code: 2)
        try world.commit()
        let history = try world.history()
        #expect(try history.check() == [])
        try Raw(world.store.path).run("PRAGMA ignore_check_constraints = 1; \(damage)")
        let problems = try history.check()
        #expect(problems.contains { $0.hasPrefix(problem) }, "\(problems)")
    }

    @Test func `events of every kind are sound`() throws {
        let world = try World()
        world.submit(CommitTests.graph())
        for kind in Report.Kind.allCases { world.report(kind) }
        try world.commit()
        #expect(try world.history().check() == [])
    }

    @Test func `a damaged page is found`() throws {
        let world = try World()
        for _ in 0..<50 { world.submit(CommitTests.graph()) }
        try world.commit()
        try world.store.checkpoint()
        let copy = TemporaryDirectory(inMemory: true)
        var content = try #require(File.read(world.store.path))
        // In the middle, after the schema, are the pages of tables.
        let middle = content.count / 2 / 4096 * 4096
        for place in middle..<middle + 60 { content[place] = 0xff }
        try File.write(content, to: copy.path + "/opsd.db")
        #expect(try !History.open(path: copy.path + "/opsd.db").check().isEmpty)
    }

    @Test func `the views of the database give the documented columns`() throws {
        let world = try World()
        let first = world.submit(CommitTests.graph())
        world.start(first)
        world.end(first, code: 2)
        try world.commit()
        let raw = try Raw(world.store.path)
        let operation = try raw.texts(
            """
            SELECT json_array(id, name, graph, queue, state, outcome, cause, command, exitCode, user, submittedAt)
            FROM operations WHERE id = 1
            """)
        #expect(
            operation == [
                """
                [1,"build","g1","default","finished","failed","exit status 2","[\\"make\\"]",2,"ada",\
                "2023-11-14T22:13:20.000Z"]
                """
            ])
        #expect(
            try raw.texts("SELECT dependencies FROM operations WHERE id = 2") == [
                #"[{"id":1,"when":"succeeded"},{"id":3,"when":"finished"}]"#
            ])
        #expect(try raw.texts("SELECT categories FROM operations WHERE id = 3").first?.contains("shared") == true)
        #expect(try raw.texts("SELECT operation || outcome || exitCode FROM attempts") == ["1failed2"])
        #expect(try raw.texts("SELECT type || \"new\" FROM events ORDER BY seq LIMIT 1") == ["submittedready"])
        #expect(try raw.texts("SELECT graph || name || operations || suspended FROM graphs") == ["g1nightly30"])
    }
}

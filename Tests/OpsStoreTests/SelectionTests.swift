import OpsCore
import OpsTesting
import Testing

@testable import OpsStore

@Suite struct SelectionTests {
    /// Returns many operations of two users in two graphs; every third has a label of its own, and every second a
    /// common one.
    private func world(_ count: Int = 4500) throws -> World {
        let world = try World()
        for user in ["ann", "bob"] {
            var submission = Submission()
            submission.operations = Array(repeating: Draft(), count: count)
            let details = (0..<count).map { place in
                place % 2 == 0
                    ? #"{"labels":{"os":"linux","n":"\#(place)"}}"# : place % 3 == 0 ? "{}" : #"{"umask":18}"#
            }
            world.submit(
                SubmissionTexts(
                    submission, user: user, details: details,
                    particulars: (0..<count).map { .init(command: "[1]", details: Int32($0)) }))
        }
        try world.commit()
        return world
    }

    /// Returns the operations of `world` with these attributes, computed without the database.
    private func expected(_ selection: Selection, _ count: Int64 = 4500) -> [Int64] {
        (1...2 * count).filter { id in
            let place = (id - 1) % count
            let isFirst = id <= count
            if let ids = selection.ids, !ids.contains(where: { $0.contains(id) }) { return false }
            if let graph = selection.graph, graph != GraphID(isFirst ? 1 : 2) { return false }
            if let user = selection.user, user != (isFirst ? "ann" : "bob") { return false }
            if let state = selection.state, state != .ready { return false }
            for (name, value) in selection.labels {
                guard place % 2 == 0, name == "os" ? value == "linux" : value == "\(place)" else { return false }
            }
            return true
        }
    }

    @Test func `a selection read step by step is the selection`() throws {
        let world = try world()
        let history = try world.history()
        var random = SeededGenerator(seed: 7)
        for _ in 0..<60 {
            var selection = Selection()
            if Bool.random(using: &random) {
                selection.ids = (0..<Int.random(in: 1...1200, using: &random)).map { _ in
                    let first = Int64.random(in: -5...9100, using: &random)
                    return first...(first + Int64.random(in: 0...40, using: &random))
                }
                if Bool.random(using: &random) {
                    selection.ids?.append(Int64.random(in: 1...9000, using: &random)...(.max))
                }
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                selection.graph = GraphID(Int64.random(in: 1...3, using: &random))
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                selection.user = ["ann", "bob", "eve"].randomElement(using: &random)
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                selection.state = [.ready, .finished].randomElement(using: &random)
            }
            if Int.random(in: 0..<3, using: &random) == 0 { selection.labels["os"] = "linux" }
            if Int.random(in: 0..<6, using: &random) == 0 {
                selection.labels["n"] = "\(Int.random(in: 0..<4500, using: &random))"
            }
            let wanted = expected(selection)
            let after = Int64.random(in: 0...9000, using: &random)
            let limit = Int.random(in: 1...5000, using: &random)
            let found = try history.select(selection, after: OperationID(after), limit: limit).map(\.rawValue)
            #expect(found == Array(wanted.filter { $0 > after }.prefix(limit)), "\(selection)")
            let newest = try history.selectNewest(selection, limit: limit).map(\.rawValue)
            #expect(newest == Array(wanted.reversed().prefix(limit)), "\(selection)")
        }
    }

    @Test func `a selection of a graph contains the operations that were added to it later`() throws {
        let world = try World()
        for command in ["[1]", "[2]"] { world.submit(one(command)) }
        try world.commit()
        let added = OperationID(world.nextOperation)
        world.change(
            .submitted(
                submission: 0, graph: GraphID(1), isNewGraph: false, firstOperation: added, states: [.ready],
                parent: nil, producer: nil))
        world.report(.submitted, added, graph: GraphID(1), new: .ready)
        world.submissions.append(one("[3]"))
        try world.commit()
        let history = try world.history()
        var selection = Selection()
        selection.graph = GraphID(1)
        #expect(try history.select(selection, limit: 9) == [OperationID(1), added])
        #expect(try history.selectNewest(selection, limit: 9) == [added, OperationID(1)])
        selection.graph = GraphID(2)
        #expect(try history.select(selection, limit: 9) == [OperationID(2)])
    }

    @Test func `a step looks at a bounded number of operations`() throws {
        let world = try world()
        let history = try world.history()
        var selection = Selection()
        selection.labels = ["n": "4498"]
        var cursor = SelectionCursor(selection)
        var steps = 0
        var found: [OperationID] = []
        while !cursor.isAtEnd {
            found += try cursor.next(history, limit: 10)
            steps += 1
        }
        #expect(found == [OperationID(4499), OperationID(8999)] && steps > 3)
        // A label that no operation has means that no row is read.
        selection.labels = ["n": "4499"]
        cursor = SelectionCursor(selection)
        #expect(try cursor.next(history, limit: 10).isEmpty && cursor.isAtEnd)
    }

    @Test func `the few that failed, or that have not ended, are found without looking at the others`() throws {
        let world = try world()
        let raw = try Raw(world.store.path)
        try raw.run("UPDATE operation SET state = 3, outcome = 0, finishedAt = 1")
        try raw.run("UPDATE operation SET outcome = 1, cause = 'x' WHERE id IN (2, 30, 8100)")
        try raw.run("UPDATE operation SET outcome = 5, cause = 'x' WHERE id = 4600")
        try raw.run("UPDATE operation SET state = 2, outcome = NULL WHERE id IN (17, 8999)")
        let history = try world.history()
        func read(_ order: SelectionCursor.Order, _ change: (inout Selection) -> Void) throws -> (
            ids: [Int64], steps: Int
        ) {
            var selection = Selection()
            change(&selection)
            var cursor = SelectionCursor(selection, order: order)
            var found: [Int64] = []
            var steps = 0
            while !cursor.isAtEnd {
                found += try cursor.next(history, limit: 10).map(\.rawValue)
                steps += 1
            }
            return (found, steps)
        }
        #expect(try read(.newestFirst) { $0.outcome = .failed } == ([8100, 30, 2], 2))
        #expect(try read(.oldestFirst) { $0.outcomes = [.failed, .interrupted] } == ([2, 30, 4600, 8100], 3))
        #expect(try read(.newestFirst) { $0.state = .executing } == ([8999, 17], 2))
        #expect(
            try read(.oldestFirst) { $0.standings = [.state(.executing), .outcome(.interrupted)] }.ids == [
                17, 4600, 8999,
            ])
        #expect(try read(.oldestFirst) { $0.standings = [.outcome(.failed), .outcome(.succeeded)] }.ids.count == 8997)
        #expect(try read(.oldestFirst) { $0.outcome = .timedOut } == ([], 1))
    }

    @Test func `an index without further operations does not hide those of another index`() throws {
        let world = try world(10)
        let raw = try Raw(world.store.path)
        try raw.run("UPDATE operation SET state = 3, outcome = 0, finishedAt = 1")
        try raw.run("UPDATE operation SET outcome = 1, cause = 'x' WHERE id = 2")
        try raw.run("UPDATE operation SET outcome = 5, cause = 'x' WHERE id = 9")
        let history = try world.history()
        // Each index is at its end in one of the two directions, whatever the order of the set.
        let indexes: Set<SparseIndex> = [.unsuccessful(.failed), .unsuccessful(.interrupted)]
        #expect(try history.next(in: indexes, .oldestFirst, from: 3) == 9)
        #expect(try history.next(in: indexes, .newestFirst, from: 8) == 2)
        #expect(try history.next(in: indexes, .oldestFirst, from: 10) == nil)
    }

    @Test func `a selection of nothing ends`() throws {
        let history = try World().history()
        #expect(try history.select(Selection(), limit: 9).isEmpty)
        #expect(try history.selectNewest(Selection(), limit: 9).isEmpty)
        let full = try world(3).history()
        var none = Selection()
        none.ids = []
        #expect(try full.select(none, limit: 9).isEmpty)
        none.ids = [Int64.min...0, 900...Int64.max]
        #expect(try full.select(none, limit: 9).isEmpty)
        #expect(try full.select(Selection(), after: OperationID(.max), limit: 9).isEmpty)
    }

    @Test(arguments: [
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n",
    ]) func `a read without an end is interrupted`(sql: String) throws {
        let history = try world(3).history()
        var looks = 0
        func isOver() -> Bool {
            looks += 1
            return looks > 5
        }
        let error = #expect(throws: StoreError.self) {
            try history.reading(until: isOver) { try history.statement(sql).run() }
        }
        #expect(error?.kind == .interrupted)
        #expect(try history.select(Selection(), limit: 9).count == 6, "it is as good as new")
    }

    @Test func `labels go with the last operation that has them`() throws {
        let world = try World()
        var submission = Submission()
        submission.operations = [Draft()]
        for details in [#"{"labels":{"os":"linux"}}"#, #"{"labels":{"os":"linux"}}"#, #"{"labels":{"os":"bsd"}}"#] {
            let id = world.submit(SubmissionTexts(submission, details: [details], particulars: [.init(command: "[1]")]))
            if id != OperationID(2) {
                world.start(id)
                world.end(id)
            }
        }
        try world.commit()
        let labels = "SELECT name || '=' || value FROM label ORDER BY 1"
        #expect(try Raw(world.store.path).texts(labels) == ["os=bsd", "os=linux"])
        let pruning = world.store.prune(olderThan: .distantFuture)
        for _ in 0..<100 where !pruning.isComplete { _ = try pruning.step() }
        #expect(try Raw(world.store.path).texts(labels) == ["os=linux"])
        var selection = Selection()
        selection.labels = ["os": "linux"]
        #expect(try world.history().select(selection, limit: 9) == [OperationID(2)])
        #expect(try world.history().check() == [])
    }

    @Test(arguments: [[Standing.held], [.held, .cancelling], [.scheduled]])
    func `a step reads only its own range of unfinished operations`(standings: [Standing]) throws {
        let world = try World()
        var selection = Selection()
        selection.standings = Set(standings)
        let plan = try Raw(world.store.path).texts("EXPLAIN QUERY PLAN " + selection.sql, column: 3)
        #expect(plan.contains { $0.contains("operationUnfinished (state=? AND rowid>? AND rowid<?)") }, "\(plan)")
    }
}

import OpsCore
import Testing

@testable import OpsStore

/// Search for unused texts, beside other prunings and submissions.
@Suite struct SweepTests {
    private static let environment = #"{"A":"1"}"#

    /// Makes the remaining steps of a pruning.
    private func complete(_ pruning: Pruning, limit: Int = 1000) throws {
        for _ in 0..<1000 where !pruning.isComplete { _ = try pruning.step(limit: limit) }
        #expect(pruning.isComplete)
    }

    /// Makes steps of a pruning until its sweep has begun.
    private func beginSweep(_ pruning: Pruning, _ world: World) throws {
        for _ in 0..<100 where !world.store.interned.isSweeping { _ = try pruning.step(limit: 1) }
        #expect(world.store.interned.isSweeping)
    }

    private func commands(_ world: World) throws -> [String] {
        try Raw(world.store.path).texts("SELECT body FROM text WHERE body LIKE '[%' ORDER BY id")
    }

    @Test(arguments: 1...12) func `a text that is used again during two prunings stays`(steps: Int) throws {
        for others in 2...5 {
            try useAgain(steps: steps, others: others, isUsedFirst: true)
            try useAgain(steps: steps, others: others, isUsedFirst: false)
        }
    }

    /// Uses a text again after some steps of a pruning, before or after the steps of another one that is abandoned.
    private func useAgain(steps: Int, others: Int, isUsedFirst: Bool) throws {
        let world = try World()
        finish(world, world.submit(one("[1]", environment: Self.environment)))
        world.submit(one("[2]"))
        try world.commit()
        func use() throws -> OperationID {
            let id = world.submit(one("[3]", environment: Self.environment))
            try world.commit()
            return id
        }
        let pruning = world.store.prune(olderThan: .distantFuture)
        for _ in 0..<steps { _ = try pruning.step(limit: 1) }
        var uses: [OperationID] = []
        if isUsedFirst { uses.append(try use()) }
        var other: Pruning? = world.store.prune(olderThan: .distantFuture)
        for _ in 0..<others { _ = try other?.step() }
        if !isUsedFirst { uses.append(try use()) }
        other = nil
        try complete(pruning, limit: 1)
        uses.append(try use())
        let history = try world.history()
        for id in uses {
            #expect(try history.environment(of: id) == Self.environment, "\(steps), \(others), \(isUsedFirst)")
        }
        #expect(try history.check() == [])
    }

    @Test func `a pruning beside a sweep leaves its texts to a later pruning`() throws {
        let world = try World()
        for number in 1...2 { finish(world, world.submit(one("[\(number)]"))) }
        try world.commit()
        let first = world.store.prune(olderThan: .distantFuture, only: [GraphID(1)])
        try beginSweep(first, world)
        let second = world.store.prune(olderThan: .distantFuture, only: [GraphID(2)])
        try complete(second)
        #expect(second.removed == 1)
        try complete(first, limit: 1)
        #expect(try commands(world) == ["[2]"])
        try complete(world.store.prune(olderThan: .distantFuture))
        #expect(try commands(world) == [])
        #expect(try world.history().check() == [])
    }

    @Test func `an abandoned sweep leaves its texts to the next one`() throws {
        let world = try World()
        finish(world, world.submit(one("[1]")))
        try world.commit()
        var abandoned: Pruning? = world.store.prune(olderThan: .distantFuture)
        if let abandoned { try beginSweep(abandoned, world) }
        abandoned = nil
        #expect(!world.store.interned.isSweeping)
        #expect(try commands(world) == ["[1]"])
        try complete(world.store.prune(olderThan: .distantFuture))
        #expect(try Raw(world.store.path).integer("SELECT count(*) FROM text") == 0)
    }

    /// After a failed commit the numbers of new texts continue from the largest one that is stored.
    @Test func `a text that gets the number of a deleted text during a sweep stays`() throws {
        let world = try World()
        for number in 1...3 { finish(world, world.submit(one("[\(number)]"))) }
        try world.commit()
        try complete(world.store.prune(olderThan: .distantFuture, only: [GraphID(2), GraphID(3)]))
        let pruning = world.store.prune(olderThan: .distantFuture)
        try beginSweep(pruning, world)
        world.start(OperationID(99))
        #expect(throws: StoreError.self) { try world.commit() }
        let id = world.submit(one("[4]", environment: Self.environment))
        try world.commit()
        try complete(pruning, limit: 1)
        #expect(try commands(world) == ["[4]"])
        #expect(try world.history().environment(of: id) == Self.environment)
        #expect(try world.history().check() == [])
    }

    /// After a probe, too, the numbers of new texts continue from the largest one that is stored.
    @Test func `a launch gets its own texts although they have the numbers of deleted ones`() throws {
        let world = try World()
        let number = #"SELECT id FROM text WHERE body LIKE '{"A"%'"#
        let old = world.submit(one("[1]", environment: Self.environment))
        try world.commit()
        #expect(try world.store.texts(of: old)?.environment == Self.environment)
        let deleted = try Raw(world.store.path).integer(number)
        finish(world, old)
        try world.commit()
        try complete(world.store.prune(olderThan: .distantFuture))
        #expect(try Raw(world.store.path).integer("SELECT count(*) FROM text") == 0)
        try world.store.probe()
        let new = world.submit(one("[2]", environment: #"{"A":"2"}"#))
        try world.commit()
        #expect(try Raw(world.store.path).integer(number) == deleted)
        #expect(try world.store.texts(of: new)?.environment == #"{"A":"2"}"#)
    }
}

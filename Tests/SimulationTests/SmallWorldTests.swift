import OpsCore
import OpsTesting
import Testing

@Suite("Small worlds, every one")
struct SmallWorldTests {
    @Test(arguments: [1, 2])
    func `every small world with failures keeps the promises`(operations: Int) throws {
        var worlds = SmallWorlds(operations: operations, withFailures: true)
        try worlds.explore(Scheduler.self)
        #expect(worlds.worlds == (operations == 1 ? 8 : 96))
    }

    @Test
    func `every world of three operations keeps the promises`() throws {
        var worlds = SmallWorlds(operations: 3, withFailures: false)
        try worlds.explore(Scheduler.self)
        #expect(worlds.worlds == 64 * 25 * 2)
    }

    @Test
    func `every world of three operations in groups keeps the promises`() throws {
        var worlds = SmallWorlds(operations: 3, withFailures: false, withGroups: true)
        try worlds.explore(Scheduler.self)
        #expect(worlds.worlds > 64 * 25 * 2)
        #expect(worlds.unforeseen == 0)
    }

    @Test
    func `sampled worlds of four operations in groups keep the promises`() throws {
        var worlds = SmallWorlds(operations: 4, withFailures: false, withGroups: true)
        try worlds.explore(Scheduler.self, every: 4001)
        #expect(worlds.worlds > 100)
    }

    /// `simulate` tries all worlds of four operations; this test tries about every hundredth, with a stride that is
    /// coprime to their number.
    @Test
    func `sampled worlds of four operations keep the promises`() throws {
        var worlds = SmallWorlds(operations: 4, withFailures: false)
        try worlds.explore(Scheduler.self, every: 1009)
        #expect(worlds.worlds > 200)
    }
}

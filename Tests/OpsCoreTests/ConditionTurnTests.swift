import OpsCore
import Testing

/// Users take turns for the evaluations of conditions.
@Suite struct ConditionTurnTests {
    private let ann: UInt32 = 1000
    private let bob: UInt32 = 1001

    private func evaluated(_ world: World) -> [(id: Int64, token: Int64)] {
        world.last.effects.compactMap { effect in
            if case .evaluate(let id, let token) = effect { (id.rawValue, token) } else { nil }
        }
    }

    private func ask(_ count: Int, _ world: inout World, of user: UInt32) -> [Int64] {
        (0..<count).map { _ in world.add(user: user) { $0.conditions = [ConditionPolicy()] } }
    }

    @Test func `one user's slow conditions leave another's first two a turn at once`() {
        var world = World(workers: 40)
        let slow = ask(20, &world, of: ann)
        world.turn()
        #expect(evaluated(world).map(\.id) == Array(slow.prefix(4)))
        let quick = ask(6, &world, of: bob)
        world.turn()
        #expect(evaluated(world).map(\.id) == Array(quick.prefix(2)))
        let first = evaluated(world)
        world.after(.conditionsAnswered(OperationID(quick[0]), token: first[0].token, .allTrue))
        #expect(evaluated(world).map(\.id) == [quick[2]], "what one user gives back does not go to the other")
    }

    @Test func `conditions that wait for a free evaluation are not said to be evaluated`() {
        var world = World(workers: 40)
        let asked = ask(5, &world, of: ann)
        world.turn()
        let details = asked.map { world.scheduler.why(OperationID($0), at: world.now).map(\.detail) }
        let isEvaluated = [Reason.Detail.condition(index: 0, again: nil)]
        #expect(details == Array(repeating: isEvaluated, count: 4) + [[.conditionsInLine]])
    }

    @Test func `slow conditions of two users leave turns for a third one and for root`() {
        var world = World(workers: 40)
        let slow = ask(20, &world, of: ann)
        world.turn()
        let anns = evaluated(world)
        _ = ask(20, &world, of: bob)
        world.turn()
        let thirds = ask(3, &world, of: 1002)
        world.turn()
        #expect(evaluated(world).map(\.id) == [thirds[0]])
        let asked = ask(2, &world, of: 0)
        world.turn()
        #expect(evaluated(world).map(\.id) == [asked[0]])
        for (place, next) in [[asked[1]], [], [], [slow[4]]].enumerated() {
            world.after(.conditionsAnswered(OperationID(anns[place].id), token: anns[place].token, .allTrue))
            #expect(evaluated(world).map(\.id) == next)
        }
    }

    @Test func `a user whose waiting operations have left keeps nobody waiting`() {
        var world = World(workers: 40)
        _ = ask(4, &world, of: ann)
        world.turn()
        let anns = evaluated(world)
        _ = ask(4, &world, of: bob)
        world.turn()
        let gone = ask(3, &world, of: 1002)
        let last = ask(1, &world, of: 1003)
        world.turn()
        world.handle(.cancel(gone.map { OperationID($0) }, by: "x", reason: nil, force: false))
        world.after(.conditionsAnswered(OperationID(anns[0].id), token: anns[0].token, .allTrue))
        #expect(evaluated(world).map(\.id) == last)
    }

    /// Lets a minute pass in which all conditions are true.
    private func passAMinute(_ world: inout World) {
        for _ in 0..<6 {
            for asked in evaluated(world) {
                world.after(.conditionsAnswered(OperationID(asked.id), token: asked.token, .allTrue))
            }
            world.pass(seconds: 10)
            world.after(.tick)
        }
        for asked in evaluated(world) {
            world.after(.conditionsAnswered(OperationID(asked.id), token: asked.token, .allTrue))
        }
    }

    /// One worker is busy, or one category.
    @Test(arguments: [(1, []), (8, ["db"])] as [(Int32, [CategoryUse])])
    func `others take its place at most once from an operation whose conditions are true`(
        workers: Int32, categories: [CategoryUse]
    ) {
        var world = World(workers: workers)
        for _ in 0..<4 { world.add(categories: categories) }
        world.turn()
        let asked = world.add(categories: categories, priority: 4) { $0.conditions = [ConditionPolicy()] }
        world.turn()
        world.after(world.exit(1))
        #expect(evaluated(world).map(\.id) == [asked] && world.executing == [2])
        passAMinute(&world)
        world.after(world.exit(2))
        #expect(world.executing == [asked])
    }

    @Test func `an operation whose conditions are evaluated again leaves the room of its queue to the next one`() {
        var world = World(workers: 1)
        world.after(.setQueue("q", QueueEdit()))
        let asked = world.add(queue: "q") { $0.conditions = [ConditionPolicy()] }
        world.turn()
        let question = evaluated(world)
        #expect(question.map(\.id) == [asked])
        let first = world.add()
        world.turn()
        world.after(.setQueue("q", QueueEdit(limit: .set(0))))
        let next = world.add(queue: "q")
        let second = world.add()
        world.after(.conditionsAnswered(OperationID(asked), token: question[0].token, .allTrue))
        world.after(world.exit(first))
        #expect(world.executing == [second])
        world.after(.setQueue("q", QueueEdit(limit: .set(2))))
        world.pass(seconds: 11)
        world.after(.tick)
        #expect(evaluated(world).map(\.id) == [asked])
        world.after(world.exit(second))
        #expect(world.executing == [next])
    }

    @Test(arguments: [Level.daemon, .queue("default")])
    func `conditions are not evaluated again during a suspension`(level: Level) {
        for categories in [[], ["db"]] as [[CategoryUse]] {
            var world = World(workers: 1)
            for _ in 0..<4 { world.add(categories: categories) }
            world.turn()
            world.add(categories: categories, priority: 4) { $0.conditions = [ConditionPolicy()] }
            world.turn()
            world.after(world.exit(1))
            let asked = evaluated(world)
            #expect(asked.count == 1)
            world.after(.conditionsAnswered(OperationID(asked[0].id), token: asked[0].token, .allTrue))
            world.after(.suspend(level, freeze: false))
            world.pass(seconds: 11)
            world.after(.tick)
            #expect(evaluated(world).isEmpty)
        }
    }

    @Test func `conditions are not evaluated again for an operation whose deadline passes at the same time`() {
        var world = World(workers: 1)
        for _ in 0..<3 { world.add() }
        world.turn()
        let deadline = world.now.wall + .seconds(11)
        let asked = world.add(priority: 4) {
            $0.conditions = [ConditionPolicy()]
            $0.deadline = deadline
        }
        world.turn()
        world.after(world.exit(1))
        let question = evaluated(world)
        #expect(question.map(\.id) == [asked])
        world.after(.conditionsAnswered(OperationID(asked), token: question[0].token, .allTrue))
        world.pass(seconds: 11)
        world.after(.tick)
        #expect(world.scheduler.state(of: OperationID(asked)) == nil)
        #expect(world.last.effects.isEmpty)
    }
}

import Testing

@testable import OpsCore

@Suite("Deadlock problem")
struct DeadlockProblemTests {
    private typealias Member = DeadlockProblem.Member
    private typealias Arc = DeadlockProblem.Arc

    private func use(
        _ units: Int32, of capacity: Int32, mode: CategoryUse.Mode = .units, in domain: Int32? = nil
    ) -> DeadlockProblem.Use {
        let need = Need(category: CategoryIndex(rawValue: 0), mode: mode, units: units)
        return DeadlockProblem.Use(domain: domain, need: need, capacity: capacity)
    }

    private func exclusive(_ category: Int32) -> DeadlockProblem.Use {
        let need = Need(category: CategoryIndex(rawValue: category), mode: .exclusive, units: 1)
        return DeadlockProblem.Use(domain: nil, need: need, capacity: 1)
    }

    private func holder(_ use: DeadlockProblem.Use, isExecuting: Bool = false) -> Member {
        Member(uses: [use], holdsUntilChildrenFinish: true, isExecuting: isExecuting)
    }

    private func start(_ member: Int32) -> Int32 { 2 * member }
    private func end(_ member: Int32) -> Int32 { 2 * member + 1 }

    private func solve(_ members: [Member], _ arcs: [Arc]) -> DeadlockProblem.Solution? {
        var problem = DeadlockProblem(members, arcs)
        return problem.deadlock()
    }

    /// Solves a problem with two executing holders of one unit each, whose ends wait for an operation that needs two.
    private func twoHolders(capacity: Int32) -> DeadlockProblem.Solution? {
        solve(
            [
                holder(use(1, of: capacity), isExecuting: true), holder(use(1, of: capacity), isExecuting: true),
                Member(uses: [use(2, of: capacity)]),
            ], [Arc(before: end(2), after: end(0)), Arc(before: end(2), after: end(1))])
    }

    @Test func `holders keep their units until they end`() throws {
        let found = try #require(twoHolders(capacity: 3))
        #expect(found.category == CategoryIndex(rawValue: 0))
        #expect(found.cycle.first == found.cycle.last && found.cycle.contains(2))
        #expect(found.isStuck == [false, true, false, true, true, true])
        #expect(twoHolders(capacity: 4) == nil, "there is room for all three")
    }

    /// 0 executes with one unit of four and waits for 1, which needs three and has room, whatever 2 takes before or
    /// after. Of the holders 3 and 5, which exclude each other, 5 must come first, which a first pass finds.
    @Test func `a further pass counts the units of holders once`() {
        let members = [
            holder(use(1, of: 4), isExecuting: true), Member(uses: [use(3, of: 4)]), Member(uses: [use(2, of: 4)]),
            holder(exclusive(1)), Member(), holder(exclusive(1)), Member(),
        ]
        let arcs = [
            Arc(before: end(1), after: end(0)), Arc(before: start(3), after: start(4)),
            Arc(before: end(4), after: end(3)), Arc(before: start(5), after: start(6)),
            Arc(before: end(6), after: end(5)), Arc(before: end(5), after: end(3)),
        ]
        #expect(solve(members, arcs) == nil)
        #expect(solve(members, arcs + [Arc(before: start(3), after: start(5))]) != nil)
    }

    @Test func `an executing holder blocks an operation that its end waits for`() {
        let members = [holder(use(1, of: 1, mode: .exclusive), isExecuting: true), Member(uses: [use(1, of: 1)])]
        #expect(solve(members, [Arc(before: end(1), after: end(0))]) != nil)
        #expect(solve(members, []) == nil, "without a wait it just comes later")
    }

    @Test func `an operation that wants the category starts before the holder that waits for it`() {
        let members = [holder(use(1, of: 1)), Member(uses: [use(1, of: 1)])]
        #expect(solve(members, [Arc(before: end(1), after: end(0))]) == nil)
        let both = [Arc(before: end(1), after: end(0)), Arc(before: start(0), after: start(1))]
        #expect(solve(members, both) != nil, "it can start neither before nor after")
    }

    @Test func `holders that share a category do not block each other`() {
        let members = [
            holder(use(1, of: 1, mode: .shared), isExecuting: true), Member(uses: [use(1, of: 1, mode: .shared)]),
        ]
        #expect(solve(members, [Arc(before: end(1), after: end(0))]) == nil)
    }

    @Test func `uses in different domains do not meet`() {
        let members = [
            holder(use(1, of: 1), isExecuting: true), Member(uses: [use(1, of: 1, in: 7)]),
        ]
        #expect(solve(members, [Arc(before: end(1), after: end(0))]) == nil)
    }

    @Test func `two holders that wait for each other's users are found`() {
        // Holders 0 and 1 of different categories. 2 needs the category of 0, and 1 waits for it; with 3 it is the
        // other way round.
        let members = [
            holder(exclusive(0), isExecuting: true), holder(exclusive(1), isExecuting: true),
            Member(uses: [exclusive(0)]), Member(uses: [exclusive(1)]),
        ]
        let crossed = [Arc(before: end(3), after: end(0)), Arc(before: end(2), after: end(1))]
        #expect(solve(members, crossed) != nil)
        #expect(solve(members, [crossed[0]]) == nil, "one of them can end first")
    }

    /// 0 and 2 execute, and each waits for an operation that needs its category.
    @Test func `a deadlock names the category on its own cycle beside another deadlock`() throws {
        let members = [
            holder(exclusive(0), isExecuting: true), Member(uses: [exclusive(0)]),
            holder(exclusive(1), isExecuting: true), Member(uses: [exclusive(1)]),
        ]
        let arcs = [Arc(before: end(1), after: end(0)), Arc(before: end(3), after: end(2))]
        for (category, chosen) in [0, 2].enumerated() {
            var problem = DeadlockProblem(members, arcs)
            let solution = problem.deadlock(through: [Int32(chosen)])
            let found = try #require(solution)
            #expect(found.cycle == [Int32(chosen), Int32(chosen + 1), Int32(chosen)])
            #expect(found.category == CategoryIndex(rawValue: Int32(category)))
        }
    }
}

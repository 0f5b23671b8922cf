import Testing

@testable import OpsCore

@Suite("Deadlock check")
struct DeadlockCheckTests {
    private let disk = [CategoryUse(name: "disk")]

    /// A group that would hold the only `disk`, with a child that waits for an outside operation that also needs
    /// `disk`.
    private func yielding() -> (rows: RegistryOfRows, group: OperationIndex, outside: OperationIndex) {
        let rows = RegistryOfRows()
        let group = rows.add(1, .group, needing: disk)
        let child = rows.add(2, under: group)
        let outside = rows.add(3, needing: disk)
        rows.edge(child, on: outside)
        return (rows, group, outside)
    }

    /// Asks a check, which remembers the cycles that it finds.
    private func yields(_ check: inout DeadlockCheck, _ group: OperationIndex, _ rows: RegistryOfRows) -> Bool {
        check.mustYield(group, needs(rows, group), in: rows.registry)
    }

    private func needs(_ rows: RegistryOfRows, _ operation: OperationIndex) -> [Need] {
        rows.registry.resolvedNeeds(of: operation)
    }

    @Test func `a group yields to an operation that its child waits for and that needs its category`() {
        let (rows, group, outside) = yielding()
        var check = DeadlockCheck()
        let answer1 = yields(&check, group, rows)
        #expect(answer1)
        let answer2 = yields(&check, group, rows)
        #expect(answer2, "the known cycle still stands")
        let answer3 = yields(&check, outside, rows)
        #expect(!answer3, "an operation without children never")
        #expect(check.checkInvariants { $0 == group }.isEmpty)
        #expect(check.checkInvariants { _ in false }.count == 1)
        rows.start(outside)
        let answer4 = yields(&check, group, rows)
        #expect(!answer4)
        #expect(check.checkInvariants { _ in false }.isEmpty, "a cycle that stands no longer is forgotten")
    }

    @Test func `a group that is forgotten is looked at again`() {
        let (rows, group, _) = yielding()
        var check = DeadlockCheck()
        let answer5 = yields(&check, group, rows)
        #expect(answer5)
        check.forget(group)
        #expect(check.checkInvariants { _ in false }.isEmpty)
    }

    @Test func `the deadlock names its cycle and its category`() throws {
        let (rows, group, outside) = yielding()
        let view = WaitView(rows.registry)
        let found = try #require(view.deadlock(starting: group, needs(rows, group)))
        #expect(found.category == "disk" && found.cycle.first == group && found.cycle.last == group)
        #expect(found.cycle.contains(outside))
        #expect(view.rejection(found) == .deadlock(found.cycle.map { view.target($0) }, category: "disk"))
        #expect(view.deadlock(around: group) == nil, "nothing holds the category yet")
    }

    @Test func `a group does not yield where there is room for both`() {
        let rows = RegistryOfRows()
        let shared = [CategoryUse(name: "disk", mode: .shared)]
        let group = rows.add(1, .group, needing: shared)
        let child = rows.add(2, under: group)
        rows.edge(child, on: rows.add(3, needing: shared))
        var check = DeadlockCheck()
        let answer6 = yields(&check, group, rows)
        #expect(!answer6)
    }

    @Test func `an edge from an operation outside to a group closes no deadlock`() {
        let rows = RegistryOfRows()
        let group = rows.add(1, .group, needing: disk)
        let child = rows.add(2, under: group)
        let outside = rows.add(3, needing: disk)
        let view = WaitView(rows.registry)
        #expect(view.deadlock(from: outside, waitingFor: .end(group)) == nil)
        #expect(view.path(from: .end(group), to: .start(child)) == [.end(group), .end(child), .start(child)])
        #expect(view.path(from: .start(outside), to: .start(child)) == nil)
    }

    @Test func `a group that has started does not wait for other holders of its categories`() throws {
        let rows = RegistryOfRows()
        let shared = [CategoryUse(name: "disk", mode: .shared)]
        let (holder, group) = (rows.add(1, .group, needing: shared), rows.add(2, .group, needing: shared))
        let need = try #require(needs(rows, group).first)
        rows.add(3, under: group)
        rows.start(holder)
        var registry = rows.registry
        registry.categories[need.category].longHolders = [holder]
        var view = WaitView(registry)
        #expect(view.reach([.end(group)]).contains(.end(holder)))
        view.started = group
        #expect(!view.reach([.end(group)]).contains(.end(holder)))
    }

    @Test func `events in a cycle and those that wait for one are blocked`() {
        let rows = RegistryOfRows()
        let all = (1...4).map { rows.add(Int64($0)) }
        rows.edge(all[0], on: all[1])
        rows.edge(all[1], on: all[0])
        rows.edge(all[2], on: all[0], when: .started)
        rows.edge(all[3], on: rows.add(5))
        let starts = all.map { WaitNode.start($0) }
        #expect(WaitView(rows.registry).blockedByCycles(starts) == Array(starts.prefix(3)))
        #expect(WaitView(rows.registry).blockedByCycles([.end(all[3])]).isEmpty)
    }

    // MARK: Proposals

    @Test func `a proposal is seen by the view alone`() {
        let rows = RegistryOfRows()
        let (first, second) = (rows.add(1), rows.add(2))
        var view = WaitView(rows.registry)
        view.addEdge(from: second, on: first, when: .succeeded)
        #expect(view.waits(of: .start(second)) == [.end(first)])
        #expect(WaitView(rows.registry).waits(of: .start(second)).isEmpty)
        view.addEdge(from: second, on: first, when: .started)
        #expect(view.waits(of: .start(second)) == [.end(first), .start(first)])
        #expect(view.path(from: .start(second), to: .start(first)) != nil)
    }

    @Test func `an edge on a start that has happened is met`() {
        let rows = RegistryOfRows()
        let (first, second) = (rows.add(1), rows.add(2))
        rows.start(first)
        var view = WaitView(rows.registry)
        view.addEdge(from: second, on: first, when: .started)
        #expect(view.waits(of: .start(second)).isEmpty)
    }

    @Test func `a proposed child makes its parent a holder and is waited for by it`() {
        let rows = RegistryOfRows()
        let parent = rows.add(1, needing: disk)
        var view = WaitView(rows.registry)
        #expect(!view.holdsUntilChildrenFinish(parent))
        let row = rows.registry.table[parent]
        let child = view.add(
            OperationRow(
                id: 2, origin: row.origin, parent: parent, queue: row.queue, categories: nil, policy: nil, traits: [],
                priority: 0))
        #expect(view.rows.isProposed(child) && !view.rows.isProposed(parent))
        #expect(view.holdsUntilChildrenFinish(parent))
        #expect(view.waits(of: .end(parent)) == [.start(parent), .end(child)])
        #expect(view.waits(of: .start(child)) == [.start(parent)])
        #expect(view.rows.unfinished(OperationID(2)) == child && rows.registry.unfinished(OperationID(2)) == nil)
    }

    @Test func `a move lays an operation behind the barriers of the other queue`() {
        let rows = RegistryOfRows()
        let barrier = rows.add(1, .barrier, in: "ordered")
        let moved = rows.add(2, of: 7)
        rows.join(barrier)
        rows.join(moved)
        let queue = rows.index(ofQueue: "ordered")
        var view = WaitView(rows.registry)
        view.move(moved, to: queue)
        view.rebuildBarriers(of: [queue])
        #expect(view.waits(of: .start(moved)) == [.end(barrier)])
        #expect(view.rows[moved].partition != nil && view.rows[moved].partition != rows.registry.table[moved].partition)
        #expect(WaitView(rows.registry).waits(of: .start(moved)).isEmpty)
        #expect(view.name([.start(moved), .end(barrier)]) == [.existing(OperationID(2)), .existing(OperationID(1))])
    }

    @Test func `proposed categories close the deadlock that the request would`() {
        let rows = RegistryOfRows()
        let group = rows.add(1, .group)
        let child = rows.add(2, under: group)
        let outside = rows.add(3, needing: disk)
        rows.edge(child, on: outside)
        var registry = rows.registry
        let set = registry.categories.retain(disk)
        let present = WaitView(registry)
        var view = present
        view.setCategories(set, of: group)
        #expect(view.deadlock(around: [group], notIn: present) == nil, "the group can wait for its turn")
        registry.setState(outside, .pending)
        view.addEdge(from: outside, on: group, when: .succeeded)
        #expect(view.deadlock(around: [group], notIn: present) != nil)
    }
}

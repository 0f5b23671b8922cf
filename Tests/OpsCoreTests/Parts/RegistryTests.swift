import Testing

@testable import OpsCore

@Suite("Registry")
struct RegistryTests {
    /// Returns a registry with a queue, group 1 in it, group 2 in group 1, and 3 in group 2.
    private func nested() -> (Registry, [OperationIndex]) {
        var registry = Registry()
        let queue = registry.queues.add(Queue(name: "default"))
        var operations: [OperationIndex] = []
        for id in 1...3 {
            var row = OperationRow(
                id: Int64(id), origin: OperationOrigin(graph: 1, partition: nil), parent: operations.last, queue: queue,
                categories: nil, policy: nil,
                traits: id < 3 ? [.group] : [], priority: 0)
            row.waiting = id > 1 ? 1 : 0
            if id > 1 { row.traits.insert(.groupNotStarted) }
            let operation = registry.table.insert(row)
            registry.count(.pending, 1, in: queue)
            if id == 1 { registry.setState(operation, .ready) }
            if id < 3 { registry.table[operation].group = registry.groups.insert(Group(parent: operation)) }
            if let group = operations.last.flatMap({ registry.table[$0].group }) {
                registry.groups[group].children.append(Int64(id))
                registry.groups[group].unfinished += 1
            }
            operations.append(operation)
        }
        return (registry, operations)
    }

    @Test func `states are counted as they change`() {
        var (registry, operations) = nested()
        #expect(registry.counts == Scheduler.Counts(pending: 2, ready: 1, executing: 0))
        #expect(registry.checkInvariants(operations).isEmpty)
        registry.setState(operations[0], .executing)
        #expect(registry.counts == Scheduler.Counts(pending: 2, ready: 0, executing: 1))
        registry.count(.pending, 1, in: registry.table[operations[0]].queue)
        #expect(registry.checkInvariants(operations).count == 2, "neither the core's count nor the queue's is right")
    }

    @Test func `descendants come parents first`() {
        let (registry, operations) = nested()
        #expect(registry.descendants(of: operations[0]) == [operations[1], operations[2]])
        #expect(registry.descendants(of: operations[2]).isEmpty)
        #expect(registry.table.isAncestor(operations[0], of: operations[2]))
        #expect(!registry.table.isAncestor(operations[2], of: operations[0]))
        #expect(registry.depth(of: operations[2]) == 2 && registry.hasUnfinishedChildren(operations[1]))
    }

    @Test func `a child is resolved to the share of the nearest group that holds the category`() throws {
        var (registry, operations) = nested()
        let set = registry.categories.retain([CategoryUse(name: "disk", mode: .units, units: 4)])
        registry.table[operations[0]].categories = set
        registry.table[operations[2]].categories = set
        registry.categories.retain(set)
        let need = try #require(registry.categories.needs(of: set).first)
        #expect(registry.resolvedNeeds(of: operations[2]) == [need], "no group holds it yet")
        let group = try #require(registry.table[operations[0]].group)
        let scope = registry.categories.addScope(of: need, nil, base: need.category)
        registry.groups[group].scopes.append(HeldScope(base: need.category, scope: scope))
        #expect(registry.resolvedNeeds(of: operations[2]).map(\.category) == [scope])
        #expect(registry.use(of: "disk", atOrAbove: operations[1])?.units == 4)
        #expect(registry.use(of: "net", atOrAbove: operations[1]) == nil)
        let all = registry.categories.retain([CategoryUse(name: "disk", mode: .exclusive)])
        registry.table[operations[1]].categories = all
        #expect(registry.use(of: "disk", atOrAbove: operations[1])?.units == 4, "it holds all of a share of 4")
        registry.table[operations[0]].categories = all
        #expect(registry.use(of: "disk", atOrAbove: operations[1]) == nil)
    }

    @Test func `a finished operation is not among the unfinished`() {
        var (registry, operations) = nested()
        #expect(registry.unfinished(OperationID(3)) == operations[2])
        registry.setState(operations[2], .finished)
        #expect(registry.unfinished(OperationID(3)) == nil && registry.counts.pending == 1)
        #expect(registry.unfinished(OperationID(77)) == nil)
    }
}

@testable import OpsCore

/// A registry built by hand: rows, edges, groups and barriers without a scheduler.
final class RegistryOfRows {
    private(set) var registry = Registry()
    private var queues: [String: QueueIndex] = [:]

    /// Adds an operation.
    ///
    /// - Parameter user: An ordinary user; nil for root.
    @discardableResult
    func add(
        _ id: Int64, _ traits: Traits = [], in queue: String = "default", under parent: OperationIndex? = nil,
        of user: UInt32? = nil, needing uses: [CategoryUse] = []
    ) -> OperationIndex {
        let queue = index(ofQueue: queue)
        let partition = user.map { registry.partitions.retain(queue, $0) }
        let row = OperationRow(
            id: id, origin: OperationOrigin(graph: 1, partition: partition), parent: parent, queue: queue,
            categories: registry.categories.retain(uses), policy: nil, traits: traits, priority: 0)
        let operation = registry.table.insert(row)
        registry.count(.pending, 1, in: queue)
        if traits.contains(.group) {
            registry.table[operation].group = registry.groups.insert(Group(parent: operation))
        }
        if let group = parent.flatMap({ registry.table[$0].group }) {
            registry.groups[group].children.append(id)
            registry.groups[group].unfinished += 1
        }
        return operation
    }

    func index(ofQueue name: String) -> QueueIndex {
        if let known = queues[name] { return known }
        let queue = registry.queues.add(Queue(name: name))
        queues[name] = queue
        return queue
    }

    /// Puts an operation, the latest so far, after the barriers before it.
    @discardableResult
    func join(_ operation: OperationIndex) -> Traits {
        let table = registry.table
        let traits = registry.barriers.join(operation, in: table)
        registry.table[operation].traits.formUnion(traits)
        return traits
    }

    func edge(_ from: OperationIndex, on: OperationIndex, when: EdgeCondition = .succeeded) {
        var table = registry.table
        registry.graph.add(from: from, on: on, when: when, in: &table)
        registry.table = table
    }

    func finish(_ operation: OperationIndex) -> [BarrierBook.Release] {
        registry.setState(operation, .finished)
        let released = leave(operation)
        for release in released {
            switch release {
            case .opened(let other): registry.table[other].traits.remove(.behindBarrier)
            case .gathered(let other): registry.table[other].traits.remove(.gathering)
            case .inherited: break
            }
        }
        return released
    }

    func start(_ operation: OperationIndex) {
        registry.setState(operation, .executing)
        registry.table[operation].traits.insert(.hasStarted)
    }

    func rebuild(_ queue: String = "default") -> [BarrierBook.Standing] {
        let (queue, table, partitions) = (index(ofQueue: queue), registry.table, registry.partitions)
        return registry.barriers.rebuild(queue, in: table, partitions)
    }

    func insert(_ traits: Traits, into operation: OperationIndex) {
        registry.table[operation].traits.formUnion(traits)
    }

    func leave(_ operation: OperationIndex) -> [BarrierBook.Release] {
        let table = registry.table
        return registry.barriers.leave(operation, in: table)
    }

    func broken() -> [String] {
        let rows = registry.table.indicesByID.filter { registry.table[$0].state != .finished }
        return registry.barriers.checkInvariants(rows, registry.queues, registry.partitions, in: registry.table)
    }
}

import OpsTesting
import Testing

@testable import OpsCore

/// Tables of the registry beside plain models of them, through random changes.
@Suite("Table models")
struct TableModelTests {
    // MARK: Edges

    /// One edge of the model; `on` is nil once it is detached.
    private struct ModelEdge: Equatable {
        var from: OperationIndex
        var on: OperationIndex?
        var when: EdgeCondition
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func `edges are those of a plain list`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (table, graph) = (OperationTable(), DependencyGraph())
        let operations = (1...8).map { table.insert(HandleTests.row(id: $0, parent: nil)) }
        var model: [ModelEdge] = []
        for _ in 0..<300 {
            let operation = random.pick(operations)
            let own = Array(graph.dependencies(of: table[operation]))
            switch random.below(12) {
            case 0..<6:
                let edge = ModelEdge(
                    from: operation, on: random.pick(operations), when: random.pick(EdgeCondition.allCases))
                graph.add(from: edge.from, on: edge.on ?? operation, when: edge.when, in: &table)
                model.insert(edge, at: 0)
            case 6:
                guard !own.isEmpty else { continue }
                let chosen = random.below(own.count)
                let place = places(in: model) { $0.from == operation }[chosen]
                graph.detach(own[chosen], in: &table)
                model[place].on = nil
            case 7, 8:
                guard !own.isEmpty else { continue }
                let chosen = random.below(own.count)
                let place = places(in: model) { $0.from == operation }[chosen]
                graph.remove(own[chosen], in: &table)
                model.remove(at: place)
            case 9, 10:
                var detached: [EdgeIndex] = []
                graph.detachDependents(of: operation, in: &table, into: &detached)
                let met = places(in: model) { $0.on == operation }
                #expect(detached.reversed().map { graph[$0].from } == met.map { model[$0].from })
                for place in met { model[place].on = nil }
            default:
                graph.dropDependencies(of: operation, in: &table)
                model.removeAll { $0.from == operation }
            }
            #expect(graph.count == model.count)
            for operation in operations {
                let dependents = graph.dependents(of: table[operation]).map { edge(graph[$0]) }
                #expect(dependents == model.filter { $0.on == operation })
                let dependencies = graph.dependencies(of: table[operation]).map { edge(graph[$0]) }
                #expect(dependencies == model.filter { $0.from == operation })
            }
        }
    }

    private func edge(_ edge: DependencyGraph.Edge) -> ModelEdge {
        ModelEdge(from: edge.from, on: edge.on, when: edge.when)
    }

    private func places(in model: [ModelEdge], where matches: (ModelEdge) -> Bool) -> [Int] {
        model.indices.filter { matches(model[$0]) }
    }

    @Test func `the room of removed edges is used again`() {
        var (table, graph) = (OperationTable(), DependencyGraph())
        let operations = (1...2).map { table.insert(HandleTests.row(id: $0, parent: nil)) }
        graph.add(from: operations[0], on: operations[1], when: .finished, in: &table)
        for _ in 0..<50 {
            graph.add(from: operations[1], on: operations[0], when: .failed, in: &table)
            let newest = table[operations[1]].firstDependency
            #expect(newest?.offset == 1)
            graph.dropDependencies(of: operations[1], in: &table)
        }
    }

    // MARK: Rows

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `an operation is found by its id as long as it is there`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var table = OperationTable()
        var model: [Int64: OperationIndex] = [:]
        var most = 0
        for step in 1...600 {
            if random.chance(55) {
                // Ids of many pages, far apart at times, and never the same twice.
                let id = Int64(random.below(40)) * 1500 + Int64(step)
                guard model[id] == nil else { continue }
                model[id] = table.insert(HandleTests.row(id: id, parent: nil))
            } else if let id = model.keys.sorted().first(where: { _ in random.chance(20) }) {
                if let operation = model.removeValue(forKey: id) { table.remove(operation) }
                #expect(table.index(of: OperationID(id)) == nil)
            }
            #expect(table.count == model.count)
            most = max(most, model.count)
            #expect(table.rows.count <= most, "rows are used again")
        }
        for (id, operation) in model {
            #expect(table.index(of: OperationID(id)) == operation && table[operation].id == id)
        }
        #expect(Set(table.indices) == Set(model.values))
        #expect(table.indicesByID.map { table[$0].id } == model.keys.sorted())
        for id in [0, -1, 5_000_000] as [Int64] { #expect(table.index(of: OperationID(id)) == nil) }
        for operation in model.values { table.remove(operation) }
        #expect(table.rows.isEmpty && table.count == 0, "an empty table keeps no rows")
    }

    @Test func `pages of ids without operations take no memory`() {
        var ids = IDTable()
        for id in [1, 2, 4095, 4096, 9000] as [Int64] { ids.insert(id, at: OperationIndex(rawValue: Int32(id))) }
        func pages() -> [Int] {
            Mirror(reflecting: ids).children.first { $0.label == "pages" }
                .map { Mirror(reflecting: $0.value).children.map { Mirror(reflecting: $0.value).children.count } } ?? []
        }
        #expect(pages() == [4096, 4096, 4096])
        ids.remove(1)
        ids.remove(2)
        #expect(pages() == [4096, 4096, 4096] && ids.index(of: 4095)?.rawValue == 4095)
        ids.remove(4095)
        ids.remove(4096)
        #expect(pages() == [0, 0, 4096] && ids.index(of: 9000)?.rawValue == 9000 && ids.index(of: 2) == nil)
        ids.insert(3, at: OperationIndex(rawValue: 7))
        #expect(ids.index(of: 3)?.rawValue == 7 && ids.index(of: 2) == nil)
    }

    @Test func `rows sort by effective priority, then by path, then by id`() {
        func row(_ id: Int64, _ effective: Int8, _ milliseconds: Int64?) -> OperationRow {
            var row = OperationRow(
                id: id, origin: OperationOrigin(graph: 1, partition: nil), parent: nil, queue: QueueIndex(rawValue: 0),
                categories: nil, policy: nil, traits: [], priority: 0,
                path: milliseconds.map { EstimatedPath(milliseconds: $0) })
            row.effective = effective
            return row
        }
        let rows = [
            row(9, 127, nil), row(5, 3, nil), row(6, 3, nil), row(OperationRow.lastID, 3, nil), row(8, 3, 60_000),
            row(4, 3, 1000), row(7, 3, 1000), row(1, 2, 90_000), row(1, 0, nil), row(2, -128, nil),
        ]
        #expect(rows.map(\.key) == rows.map(\.key).sorted() && Set(rows.map(\.key)).count == rows.count)
        for row in rows {
            #expect(OperationRow.id(ofKey: row.key) == row.operationID)
            #expect(OperationRow.effective(ofKey: row.key) == row.effective)
            #expect(OperationRow.firstKey(effective: row.effective) < row.key)
        }
        #expect(rows.map { $0.path == nil } == [true, true, true, true, false, false, false, false, true, true])
        var renamed = rows[4]
        renamed.id = 77
        #expect(renamed.id == 77 && renamed.path == rows[4].path)
    }

    // MARK: Slots

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `slots are those of a set`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var (pool, model) = (SlotPool(), Set<Int32>())
        for _ in 0..<400 {
            let any = Int32(random.below(200))
            switch random.below(10) {
            case 0..<5:
                let lowest = (0...).first { !model.contains($0) }
                #expect(pool.allocate() == lowest)
                if let lowest { model.insert(lowest) }
            case 5:
                guard !model.contains(any) else { continue }
                pool.occupy(any)
                model.insert(any)
            default:
                guard let slot = model.sorted().first(where: { _ in random.chance(30) }) else { continue }
                pool.release(slot)
                model.remove(slot)
            }
            #expect(pool.used == Int32(model.count) && pool.checkInvariants().isEmpty)
            #expect(pool.isFree(any) == !model.contains(any) && !pool.isFree(-1) && pool.isFree(100_000))
            #expect(pool.isUsed(from: any) == model.contains { $0 >= any } && !pool.isUsed(from: 100_000))
        }
    }

    // MARK: Partitions

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func `partitions count the operations of each user`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var partitions = PartitionTable()
        var model: [Partition.Key: Int] = [:]
        for _ in 0..<300 {
            let key = Partition.Key(queue: QueueIndex(rawValue: Int32(random.below(3))), user: UInt32(random.below(3)))
            if random.chance(50) {
                let known = partitions.find(key.queue, key.user)
                if let known, random.chance(50) {
                    partitions.retain(known)
                } else {
                    let partition = partitions.retain(key.queue, key.user)
                    #expect(known == nil || partition == known)
                }
                model[key, default: 0] += 1
            } else if let partition = partitions.find(key.queue, key.user), let count = model[key] {
                partitions.release(partition)
                model[key] = count == 1 ? nil : count - 1
                #expect(partitions.isFree(partition.offset) == (count == 1))
            }
            var ofUsers: [UInt32: Int] = [:]
            for (key, count) in model {
                #expect(partitions.find(key.queue, key.user).map { partitions[$0].members } == Int32(count))
                ofUsers[key.user, default: 0] += count
            }
            for user in 0..<3 as Range<UInt32> { #expect(partitions.members(of: user) == ofUsers[user] ?? 0) }
            #expect(partitions.checkInvariants(ofUsers, edges: [:]).isEmpty && partitions.pool.count == model.count)
            #expect(!partitions.isFree(100) && partitions.find(key.queue, 7) == nil)
        }
    }
}

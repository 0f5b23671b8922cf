import Testing

@testable import OpsCore

@Suite("Handles")
struct HandleTests {
    @Test func `an optional handle is as large as a handle`() {
        #expect(MemoryLayout<Packed<LaneIndex>>.stride == MemoryLayout<LaneIndex>.stride)
        var lane = Packed<LaneIndex>(wrappedValue: nil)
        #expect(lane.wrappedValue == nil)
        lane.wrappedValue = LaneIndex(rawValue: 0)
        #expect(lane.wrappedValue == LaneIndex(rawValue: 0))
    }

    @Test func `rows and edges stay small`() {
        #expect(MemoryLayout<OperationRow>.stride == 72)
        #expect(MemoryLayout<DependencyGraph.Edge>.stride == 20)
    }

    @Test func `graph and partition share a word and keep apart`() {
        for graph in [1, OperationOrigin.lastGraph] {
            for partition in [nil, PartitionIndex(rawValue: 0), PartitionIndex(rawValue: (1 << 24) - 2)] {
                var origin = OperationOrigin(graph: graph, partition: nil)
                origin.partition = partition
                #expect(origin.graph == graph && origin.partition == partition)
            }
        }
    }

    @Test func `the link of a row belongs to its state`() {
        var row = Self.row(id: 1, parent: nil)
        row.state = .ready
        row.link(to: LaneIndex(rawValue: 7))
        #expect(row.lane == LaneIndex(rawValue: 7) && row.execution == nil && row.finished == nil)
        row.state = .executing
        row.link(to: ExecutionIndex(rawValue: 3))
        #expect(row.lane == nil && row.execution == ExecutionIndex(rawValue: 3))
        row.unlink()
        #expect(!row.isLinked && row.execution == nil)
    }

    @Test func `ancestors come nearest first`() {
        var table = OperationTable()
        let outer = table.insert(Self.row(id: 1, parent: nil))
        let inner = table.insert(Self.row(id: 2, parent: outer))
        let child = table.insert(Self.row(id: 3, parent: inner))
        #expect(Array(table.ancestors(of: child)) == [inner, outer])
        #expect(Array(table.chain(from: child)) == [child, inner, outer])
        #expect(Array(table.ancestors(of: outer)).isEmpty)
    }

    @Test func `a removed row is used again and its id is forgotten`() {
        var table = OperationTable()
        let first = table.insert(Self.row(id: 1, parent: nil))
        let second = table.insert(Self.row(id: 2, parent: nil))
        table.remove(first)
        #expect(table.index(of: OperationID(1)) == nil && table.index(of: OperationID(2)) == second)
        #expect(table.insert(Self.row(id: 3, parent: nil)) == first)
        #expect(table.count == 2)
    }

    static func row(id: Int64, parent: OperationIndex?) -> OperationRow {
        OperationRow(
            id: id, origin: OperationOrigin(graph: 1, partition: nil), parent: parent, queue: QueueIndex(rawValue: 0),
            categories: nil, policy: nil, traits: [],
            priority: 0)
    }
}

@Suite("Dependency graph")
struct DependencyGraphTests {
    @Test func `edges are listed at both ends, the newest first`() {
        var (table, graph, operations) = Self.fork()
        #expect(graph.dependents(of: table[operations[0]]).map { graph[$0].from } == [operations[2], operations[1]])
        #expect(graph.dependencies(of: table[operations[2]]).map { graph[$0].on } == [operations[1], operations[0]])
        graph.dropDependencies(of: operations[2], in: &table)
        #expect(graph.dependents(of: table[operations[0]]).map { graph[$0].from } == [operations[1]])
        #expect(table[operations[2]].firstDependency == nil && graph.count == 1)
    }

    @Test func `a detached edge stays with its dependent alone`() {
        var (table, graph, operations) = Self.fork()
        var detached: [EdgeIndex] = []
        graph.detachDependents(of: operations[0], in: &table, into: &detached)
        #expect(detached.map { graph[$0].from } == [operations[1], operations[2]])
        #expect(table[operations[0]].firstDependent == nil)
        #expect(graph.dependencies(of: table[operations[1]]).map { graph[$0].on } == [nil])
    }

    @Test func `an edge leaves the middle of both lists`() throws {
        var (table, graph, operations) = Self.fork()
        let edge = try #require(graph.dependencies(of: table[operations[2]]).first { graph[$0].on == operations[0] })
        graph.remove(edge, in: &table)
        #expect(graph.dependencies(of: table[operations[2]]).map { graph[$0].on } == [operations[1]])
        #expect(graph.dependents(of: table[operations[0]]).map { graph[$0].from } == [operations[1]])
        #expect(graph.count == 2)
    }

    /// 2 and 3 wait for 1, and 3 waits for 2.
    static func fork() -> (OperationTable, DependencyGraph, [OperationIndex]) {
        var table = OperationTable()
        var graph = DependencyGraph()
        let operations = (1...3).map { table.insert(HandleTests.row(id: $0, parent: nil)) }
        graph.add(from: operations[1], on: operations[0], when: .succeeded, in: &table)
        graph.add(from: operations[2], on: operations[0], when: .finished, in: &table)
        graph.add(from: operations[2], on: operations[1], when: .started, in: &table)
        return (table, graph, operations)
    }
}

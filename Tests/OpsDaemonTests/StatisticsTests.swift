import OpsCore
import OpsWire
import Testing

@testable import OpsDaemon
@testable import OpsStore

@Suite struct StatisticsTests {
    /// Returns an operation that waited a second and ran from one second to another.
    private func node(
        _ id: Int64, from start: Int64?, to end: Int64?, group: Int64? = nil, isGroup: Bool = false
    ) -> GraphNode {
        func instant(_ second: Int64) -> WallInstant { .zero + .seconds(second) }
        return GraphNode(
            id: OperationID(id), name: nil, state: end == nil ? .pending : .finished,
            outcome: end == nil ? nil : .succeeded, group: group.map { OperationID($0) }, isGroup: isGroup, slot: nil,
            cause: nil, submittedAt: .zero, readyAt: start.map { instant($0 - 1) }, startedAt: start.map(instant),
            finishedAt: end.map(instant))
    }

    private func edge(_ from: Int64, _ on: Int64, _ when: EdgeCondition = .succeeded) -> Snapshot.Edge {
        Snapshot.Edge(from: OperationID(from), on: OperationID(on), when: when)
    }

    private func result(_ nodes: [GraphNode], _ edges: [Snapshot.Edge] = [], workers: Int = 2) -> JSONObject {
        var statistics = Statistics()
        for node in nodes { statistics.add(node) }
        for edge in edges { statistics.add(edge) }
        return statistics.result(workers: workers)
    }

    private func expect(
        _ object: JSONObject, _ key: String, _ text: String, at place: SourceLocation = #_sourceLocation
    ) {
        let value = object.members.first { $0.key == key }?.value
        #expect(value?.text == text, sourceLocation: place)
    }

    @Test func `percentiles, utilisation and span are calculated from the run times`() {
        // Four operations ran 1, 2, 3 and 4 s within 5 s: 10 s of work on 2 workers, which could have done 10.
        let object = result([
            node(1, from: 10, to: 11), node(2, from: 11, to: 13), node(3, from: 12, to: 15), node(4, from: 11, to: 15),
            node(5, from: nil, to: nil),
        ])
        expect(object, "count", "5")
        expect(object, "runSeconds", #"{"min":1.0,"p50":2.0,"p90":4.0,"p99":4.0,"max":4.0,"mean":2.5}"#)
        expect(object, "waitSeconds", #"{"min":1.0,"p50":1.0,"p90":1.0,"p99":1.0,"max":1.0,"mean":1.0}"#)
        expect(object, "spanSeconds", "5.0")
        expect(object, "utilisation", "1.0")
    }

    @Test func `held and scheduled operations are counted apart`() {
        var nodes = (1...3 as ClosedRange<Int64>).map { node($0, from: nil, to: nil) }
        nodes[1].isHeld = true
        nodes[2].isScheduled = true
        expect(
            result(nodes), "states", #"{"pending":1,"ready":0,"executing":0,"finished":0,"scheduled":1,"held":1}"#)
    }

    /// Like 100,000 operations that waited a day and ran for another: their sum in nanoseconds fits no integer.
    @Test func `times whose sum no number holds have a mean`() {
        let century: Int64 = 3_153_600_000
        let nodes = (1...3 as ClosedRange<Int64>).map { id in
            var node = self.node(id, from: century, to: 2 * century)
            node.readyAt = .zero
            return node
        }
        let object = result(nodes, [edge(2, 1), edge(3, 2)])
        let mean = "\(Double(century)),\"mean\":\(Double(century))"
        for key in ["waitSeconds", "runSeconds"] {
            let text = object.members.first { $0.key == key }?.value.text
            #expect(text?.hasSuffix("\"max\":\(mean)}") == true, "\(key): \(text ?? "")")
        }
        expect(object, "criticalPath", "[1,2,3]")
        expect(object, "utilisation", "1.0")
    }

    @Test func `the critical path is the chain of longest duration`() {
        // 1 -> 2 -> 4 takes 1 + 5 + 1, 1 -> 3 -> 4 takes 1 + 2 + 1; 5 alone takes 6.
        let nodes = [
            node(1, from: 1, to: 2), node(2, from: 2, to: 7), node(3, from: 2, to: 4), node(4, from: 7, to: 8),
            node(5, from: 1, to: 7),
        ]
        let object = result(nodes, [edge(2, 1), edge(3, 1), edge(4, 2), edge(4, 3)])
        expect(object, "criticalPath", "[1,2,4]")
        expect(object, "criticalPathSeconds", "7.0")
    }

    @Test func `the critical path leads through groups`() {
        // 1, then the group 2 with 3 (2 s) and 4 (5 s), then 5; 6 waits for the start of 4 alone.
        let nodes = [
            node(1, from: 0, to: 1), node(2, from: 1, to: 6, isGroup: true), node(3, from: 1, to: 3, group: 2),
            node(4, from: 1, to: 6, group: 2), node(5, from: 6, to: 9), node(6, from: 1, to: 8),
        ]
        let object = result(nodes, [edge(2, 1), edge(5, 2), edge(6, 4, .started)])
        expect(object, "criticalPath", "[1,4,5]")
        expect(object, "criticalPathSeconds", "9.0")
    }

    @Test func `a dependency on a later operation counts for the critical path`() {
        let object = result([node(1, from: 3, to: 4), node(2, from: 1, to: 3)], [edge(1, 2)])
        expect(object, "criticalPath", "[2,1]")
        expect(object, "criticalPathSeconds", "3.0")
    }

    @Test func `a graph without operations has no durations`() {
        let object = result([])
        expect(object, "runSeconds", "null")
        expect(object, "criticalPath", "[]")
        expect(object, "utilisation", "0.0")
    }
}

import OpsCore
import OpsTesting
import Testing

@Suite("Longest path")
struct LongestPathTests {
    @Test func `a path is stored to within a thousandth`() {
        for milliseconds: Int64 in [1, 2, 999, 2047, 2048, 2049, 60_000, 3_600_000, 86_400_000 * 365, Int64.max] {
            let stored = EstimatedPath(milliseconds: milliseconds).milliseconds
            #expect(stored <= milliseconds)
            #expect(Double(milliseconds - stored) <= Double(milliseconds) / 1000)
        }
        #expect(EstimatedPath(milliseconds: 0).milliseconds == 1)
    }

    @Test func `codes of paths sort as the paths do`() {
        let paths = (0..<63).flatMap { [Int64(1) << $0, (Int64(1) << $0) / 8 * 9] }.sorted()
        let codes = paths.map { EstimatedPath(milliseconds: $0).code }
        #expect(codes == codes.sorted())
    }

    @Test func `a path is the own estimate and everything behind it`() {
        var submission = Submission()
        let first = submission.add()
        let short = submission.add(after: [first])
        let long = submission.add(after: [first])
        submission.add(after: [short, long])
        let alone = submission.add()
        #expect(paths(submission, [10, 20, 30, 40, 50]) == [80, 60, 70, 40, 50])
        #expect(alone == 4)
    }

    @Test func `a group is as long as its children and what waits for it`() {
        var submission = Submission()
        let before = submission.add()
        let group = submission.add(flags: .group, after: [before])
        let first = submission.add(in: group)
        submission.add(in: group, after: [first])
        submission.add(in: group)
        submission.add(after: [group])
        #expect(paths(submission, [1, 999, 20, 30, 40, 7]) == [58, 57, 57, 37, 47, 7])
    }

    @Test func `an operation that waits for a start alone runs beside it`() {
        var submission = Submission()
        let first = submission.add()
        submission.add(after: [first], when: .started)
        #expect(paths(submission, [10, 30]) == [30, 30])
        #expect(paths(submission, [50, 30]) == [50, 30])
    }

    @Test func `the longest path starts first among equals, in any order of submission`() {
        var world = World(workers: 1)
        var submission = Submission()
        // No operation with an estimate overtakes one without.
        for milliseconds in [5, nil, 70, 20, 70] as [Int64?] {
            submission.add()
            submission.operations[submission.operations.count - 1].path =
                milliseconds.map(EstimatedPath.init(milliseconds:))
        }
        submission.add(priority: 1)
        world.handle(.submit(submission))
        #expect(world.drain() == [6, 2, 3, 5, 4, 1])
    }

    @Test func `the first in line is named in the order of paths`() {
        var world = World(workers: 1)
        world.add()
        world.turn()
        var submission = Submission()
        submission.add()
        submission.add()
        submission.operations[0].path = EstimatedPath(milliseconds: 50)
        submission.operations[1].path = EstimatedPath(milliseconds: 100)
        world.after(.submit(submission))
        let reasons = [2, 3].flatMap { world.scheduler.why(OperationID($0), at: world.now) }
        #expect(reasons.map(\.detail) == [.pool(workers: 1, position: 2), .pool(workers: 1, position: 1)])
        #expect(reasons.map(\.path) == [50, 100].map(EstimatedPath.init(milliseconds:)))
    }

    @Test func `a retried operation keeps its path`() {
        var world = World(workers: 1)
        var revived = Revival()
        revived.queues = ["default"]
        revived.policies = [Policy()]
        var submission = Submission()
        submission.add()
        submission.add()
        world.handle(.submit(submission))
        #expect(world.drain() == [1, 2])
        revived.operations = [
            Snapshot.Row(
                id: OperationID(1), graph: GraphID(1), state: .finished, attempt: 1,
                path: EstimatedPath(milliseconds: 8)),
            Snapshot.Row(
                id: OperationID(2), graph: GraphID(1), state: .finished, attempt: 1,
                path: EstimatedPath(milliseconds: 9)),
        ]
        world.handle(.retry([OperationID(1), OperationID(2)], revived: revived))
        #expect(world.drain() == [2, 1])
    }

    private func paths(_ submission: Submission, _ estimates: [Int64]) -> [Int64] {
        var submission = submission
        submission.setLongestPaths(estimates) { _ in true }
        return submission.operations.map { $0.path?.milliseconds ?? -1 }
    }
}

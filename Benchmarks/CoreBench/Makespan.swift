internal import OpsCore

/// Times that workflows take from submission to end, in the order of submission and by their longest paths.
struct Makespan {
    private static let seeds: ClosedRange<UInt64> = 1...12

    static func compare() {
        let names = Workflow.shapes.map(\.name)
        print(
            left("longest path / submission", 28), right("workflows", 10), right("mean", 8), right("best", 8),
            right("worst", 8))
        for workers in [4, 16] as [Int32] {
            var all: [Double] = []
            for (shape, name) in names.enumerated() {
                let ratios = seeds.map { seed in ratio(Workflow(shape: shape, seed: seed), workers) }
                show("\(name), \(workers) workers", ratios)
                all += ratios
            }
            show("all, \(workers) workers", all)
        }
    }

    private static func show(_ name: String, _ ratios: [Double]) {
        let mean = ratios.reduce(0, +) / Double(ratios.count)
        let columns = [mean, ratios.min() ?? 1, ratios.max() ?? 1].map { right(thousandths($0), 8) }
        print(left(name, 28), right("\(ratios.count)", 10), columns.joined(separator: " "))
    }

    private static func thousandths(_ value: Double) -> String { "\((value * 1000).rounded() / 1000)" }

    private static func ratio(_ workflow: Workflow, _ workers: Int32) -> Double {
        var ordered = workflow.submission
        ordered.setLongestPaths(workflow.estimates) { _ in true }
        let submitted = time(workflow.submission, workflow.durations, workers)
        return Double(time(ordered, workflow.durations, workers)) / Double(submitted)
    }

    /// Returns the milliseconds until all has ended.
    private static func time(_ submission: Submission, _ durations: [Int64], _ workers: Int32) -> Int64 {
        var clock: Int64 = 0
        var moment: Moment {
            Moment(monotonic: .zero + .nanoseconds(1), wall: .zero + .seconds(1_700_000_000)) + .milliseconds(clock)
        }
        var scheduler = Scheduler(Snapshot(), workers: workers, at: moment)
        _ = scheduler.handle(.runnerConnected(Inventory(runner: "r", boot: "b")), at: moment)
        guard case .success(.submitted(_, let first, _)) = scheduler.handle(.submit(submission), at: moment) else {
            preconditionFailure("a workflow has no cycle")
        }
        var running: [(end: Int64, attempt: AttemptID)] = []
        while true {
            for case .launch(let attempt, _) in scheduler.endTurn(at: moment).effects {
                running.append((clock + durations[Int(attempt.operation.rawValue - first.rawValue)], attempt))
            }
            guard let next = running.indices.min(by: { running[$0].end < running[$1].end }) else { return clock }
            let ended = running.remove(at: next)
            clock = ended.end
            let exit = ProcessExit(status: .code(0), at: moment)
            _ = scheduler.handle(.exited(ended.attempt, exit, treeIsGone: true), at: moment)
        }
    }
}

import OpsExecutor
import OpsModel
import OpsSlurm
import Testing

/// Attempts after a restart of the executor, as their stored records say, and several jobs of one attempt.
@Suite struct RestoredJobTests {
    private static let attempt = AttemptID(OperationID(12), 1)
    private static func at(_ seconds: Int64) -> Moment {
        Moment(monotonic: .zero + .seconds(1000 + seconds), wall: .zero + .seconds(5000 + seconds))
    }

    /// Returns a tracker whose record says that its job 4711 is held, with changes by `change`.
    private static func tracker(_ change: (inout JobRecord) -> Void) -> JobTracker {
        var record = JobRecord()
        record.mayBeSubmitted = true
        record.job = "4711"
        change(&record)
        return JobTracker(attempt, user: 7, record: record, jobOfOpsd: "", settings: .init(), now: at(0))
    }

    private static func list(
        _ tracker: inout JobTracker, _ rows: [(job: String, state: String)]
    ) -> [JobTracker.Effect] {
        let rows = rows.map { row in
            JobRow(
                job: row.job, batch: Batch([attempt]), user: 7, state: JobState(row.state),
                reason: row.state == "PENDING" ? "JobHeldUser" : "None", waitStatus: 0, nodes: "n1")
        }
        return tracker.listed(rows, askedAt: at(20).monotonic, now: at(20))
    }

    private static func releases(_ effects: [JobTracker.Effect]) -> Bool {
        effects.contains { if case .release = $0 { true } else { false } }
    }

    @Test func `the job of a cancelled attempt is killed after a restart`() {
        var tracker = Self.tracker {
            $0.isReleased = true
            $0.isTerminated = true
        }
        #expect(tracker.timePassed(now: Self.at(14)).isEmpty)
        #expect(tracker.timePassed(now: Self.at(15)) == [.cancel(jobs: ["4711"]), .list])
    }

    @Test func `a refusal is reported again after a restart`() {
        let tracker = Self.tracker { $0.refusal = "no" }
        #expect(tracker.hasEnded)
        #expect(tracker.launch(now: Self.at(1)) == [.report(.refused(Self.attempt, cause: "no"))])
        #expect(tracker.attemptState(now: Self.at(1)) == .refused(cause: "no"))
    }

    @Test func `of several jobs of an attempt, the one that runs is kept`() {
        var tracker = Self.tracker { $0.job = nil }
        let effects = Self.list(&tracker, [("1", "PENDING"), ("2", "RUNNING")])
        #expect(tracker.record.job == "2" && tracker.record.isReleased)
        #expect(effects.contains(.cancel(jobs: ["1"])))
    }

    @Test(arguments: [false, true])
    func `the held job of a cancelled attempt is not released`(isReleased: Bool) {
        var tracker = Self.tracker { $0.isReleased = isReleased }
        var other = tracker
        if !isReleased { for effects in [tracker.release(), other.release()] { #expect(effects == [.list]) } }
        #expect(Self.releases(Self.list(&other, [("4711", "PENDING")])), "without a cancel it is")
        _ = tracker.terminate(grace: .zero, now: Self.at(1))
        #expect(!Self.releases(Self.list(&tracker, [("4711", "PENDING")])))
    }
}

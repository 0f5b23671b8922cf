import OpsExecutor
import OpsModel
import OpsSlurm
import Testing

/// States of an attempt that people see: Slurm's state of its job, or the reason why it has none.
@Suite struct JobStateTests: TestsOfAttempts {
    private static func tracker(_ record: JobRecord? = nil) -> JobTracker {
        JobTracker(attempt, user: 7, record: record, jobOfOpsd: "", settings: .init(), now: at(0))
    }

    private static func row(_ state: String, _ reason: String = "None") -> JobRow {
        JobRow(
            job: "4711", batch: Batch([attempt]), user: 7, state: JobState(state), reason: reason, waitStatus: 0,
            nodes: "n1")
    }

    private static let held = row("PENDING", "JobHeldUser")

    private static func list(
        _ tracker: inout JobTracker, _ rows: [JobRow], problem: String? = nil, at seconds: Int64
    ) -> [JobTracker.Effect] {
        tracker.listed(rows, problem: problem, askedAt: at(seconds).monotonic, now: at(seconds))
    }

    /// Returns a tracker whose job 4711 is released.
    private static func released() -> JobTracker {
        var tracker = tracker()
        _ = list(&tracker, [], at: 0)
        _ = tracker.submitted(.accepted(job: "4711"), now: at(0))
        _ = tracker.release()
        _ = list(&tracker, [held], at: 1)
        return tracker
    }

    private static func started() -> JobTracker {
        var tracker = released()
        _ = tracker.found(start: StartRecord(node: "n1", job: "4711", at: at(2).wall), exit: nil, now: at(3))
        return tracker
    }

    private static func states(_ effects: [JobTracker.Effect]) -> [String] {
        effects.compactMap { effect -> String? in
            guard case .report(.updated(_, let update)) = effect else { return nil }
            return update.status
        }
    }

    // MARK: Jobs

    @Test func `a state is reported once`() {
        var tracker = Self.released()
        let rows = [Self.row("PENDING", "Priority"), Self.row("PENDING", "Priority"), Self.row("PENDING", "Resources")]
        let states = rows.map { Self.states(Self.list(&tracker, [$0], at: 2)) }
        #expect(states == [["PENDING (Priority)"], [], ["PENDING (Resources)"]])
    }

    @Test(arguments: [
        (row("RUNNING"), "RUNNING on n1"), (row("SUSPENDED"), "SUSPENDED on n1"), (row("NODE_FAIL"), "NODE_FAIL on n1"),
        (row("COMPLETED"), "COMPLETED on n1"), (row("REQUEUED"), "REQUEUED"),
        (row("PENDING", "BeginTime"), "PENDING (BeginTime)"), (held, "PENDING (JobHeldUser)"),
    ])
    func `the state of a job is reported also after its start`(row: JobRow, state: String) {
        var tracker = Self.started()
        #expect(Self.states(Self.list(&tracker, [row], at: 5)) == [state])
        #expect(tracker.update.status == state)
        #expect(Self.list(&tracker, [row], at: 6).isEmpty)
    }

    @Test func `a job that Slurm does not list any more is said to be missing`() {
        var tracker = Self.started()
        _ = Self.list(&tracker, [Self.row("RUNNING")], at: 5)
        #expect(Self.states(Self.list(&tracker, [], at: 6)) == ["not listed by Slurm"])
        #expect(Self.states(Self.list(&tracker, [Self.row("RUNNING")], at: 7)) == ["RUNNING on n1"])
    }

    @Test func `the state that ends an attempt is not reported apart`() {
        var tracker = Self.started()
        let exit = ExitRecord(status: .signal(15), at: Self.at(6).wall)
        _ = tracker.found(start: nil, exit: exit, now: Self.at(7))
        let effects = Self.list(&tracker, [Self.row("TIMEOUT")], at: 8)
        #expect(tracker.hasEnded && Self.states(effects).isEmpty)
    }

    @Test func `a job that stays held although it was released is shown as held`() {
        var tracker = Self.released()
        // This listing may be older than the release.
        #expect(Self.list(&tracker, [Self.held], at: 2) == [.release(job: "4711")])
        let effects = Self.list(&tracker, [Self.held], at: 3)
        #expect(Self.states(effects) == ["PENDING (JobHeldUser)"] && effects.last == .release(job: "4711"))
    }

    // MARK: Reasons

    @Test func `the answer of sbatch is the state until there is a job`() {
        var tracker = Self.tracker()
        _ = Self.list(&tracker, [], at: 0)
        let refusal = Submission.ambiguous("You must give --account")
        #expect(Self.states(tracker.submitted(refusal, now: Self.at(1))) == ["sbatch: You must give --account"])
        // opsd asks again after each connection.
        #expect(Self.states(tracker.launch(now: Self.at(2))) == ["sbatch: You must give --account"])
        _ = Self.list(&tracker, [], at: 20)
        #expect(tracker.submitted(refusal, now: Self.at(21)) == [.list])
        _ = Self.list(&tracker, [], at: 40)
        #expect(Self.states(tracker.submitted(.accepted(job: "4711"), now: Self.at(41))) == [""])
    }

    @Test func `a reason that an earlier process has reported is removed`() {
        var record = JobRecord()
        record.mayBeSubmitted = true
        #expect(Self.states(Self.tracker(record).launch(now: Self.at(1))) == [""])
        #expect(Self.states(Self.tracker().launch(now: Self.at(1))).isEmpty)
    }

    @Test func `a failure of squeue is the state of an attempt that waits for a listing`() {
        var tracker = Self.tracker()
        #expect(Self.states(tracker.listingFailed("no answer")) == ["squeue: no answer"])
        #expect(tracker.listingFailed("no answer").isEmpty)
        _ = Self.list(&tracker, [], at: 0)
        #expect(Self.states(tracker.submitted(.accepted(job: "4711"), now: Self.at(0))) == [""])
        #expect(tracker.listingFailed("no answer").isEmpty, "opsd has not stored the job")
        _ = tracker.release()
        #expect(Self.states(tracker.listingFailed("no answer")) == ["squeue: no answer"])
        #expect(Self.states(Self.list(&tracker, [Self.held], at: 1)) == [""])
        var started = Self.started()
        #expect(started.listingFailed("no answer").isEmpty)
    }

    // MARK: Listings that may lack jobs

    @Test func `a listing that may lack jobs leads to no submission and to no end`() {
        var looking = Self.tracker()
        #expect(Self.states(Self.list(&looking, [], problem: "x", at: 0)) == ["squeue: x"])
        #expect(Self.list(&looking, [], problem: "x", at: 1).isEmpty)
        #expect(Self.list(&looking, [], at: 2).contains(.submit))

        var held = Self.tracker()
        _ = Self.list(&held, [], at: 0)
        _ = held.submitted(.accepted(job: "4711"), now: Self.at(1))
        for seconds in [2, 600] as [Int64] { #expect(Self.list(&held, [], problem: "x", at: seconds).isEmpty) }
        #expect(Self.list(&held, [], at: 601).isEmpty, "the first listing that lacks the job")

        for tracker in [Self.released(), Self.started()] {
            var tracker = tracker
            for seconds in [5, 2000] as [Int64] {
                #expect(Self.list(&tracker, [], problem: "x", at: seconds).isEmpty)
            }
            #expect(!tracker.hasEnded && tracker.presentState(now: Self.at(2001)) != nil)
        }
    }
}

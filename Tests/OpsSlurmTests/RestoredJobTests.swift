import OpsExecutor
import OpsModel
import OpsSlurm
import Testing

/// Attempts after a restart of the executor, as their stored records say, several jobs of one attempt, and signals that
/// Slurm has not taken.
@Suite struct RestoredJobTests: TestsOfAttempts {
    /// Returns a tracker whose record says that its job 4711 is held, with changes by `change`.
    private static func tracker(_ change: (inout JobRecord) -> Void) -> JobTracker {
        var record = JobRecord()
        record.mayBeSubmitted = true
        record.job = "4711"
        change(&record)
        return JobTracker(attempt, user: 7, record: record, jobOfOpsd: "", settings: .init(), now: at(0))
    }

    private static let start = StartRecord(node: "n1", job: "4711", at: at(0).wall)

    private static func list(
        _ tracker: inout JobTracker, _ rows: [(job: String, state: String)], fence: Int = 0
    ) -> [JobTracker.Effect] {
        let rows = rows.map { row in
            JobRow(
                job: row.job, batch: Batch([attempt], fence: fence), user: 7, state: JobState(row.state),
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

    @Test func `a cancelled command keeps its grace period after a restart`() {
        var tracker = Self.tracker {
            $0.isReleased = true
            $0.isTerminated = true
            $0.grace = .seconds(3600)
        }
        let effects = tracker.found(start: Self.start, exit: nil, now: Self.at(1))
        #expect(effects.last == .terminate(job: "4711"))
        #expect(tracker.timePassed(now: Self.at(3600)).isEmpty)
        #expect(tracker.timePassed(now: Self.at(3601)) == [.cancel(jobs: ["4711"]), .list])
    }

    // MARK: Jobs that only opsd knows

    /// Returns a tracker of an attempt whose spool was changed or lost. opsd has stored its job 4711.
    private static func handedDown() -> JobTracker {
        JobTracker(attempt, user: 7, record: nil, jobOfOpsd: "4711", settings: .init(), now: at(0))
    }

    @Test(arguments: [("RUNNING", true), ("PENDING", false)])
    func `a job of a later fence that only opsd knows is kept`(state: String, isReleased: Bool) {
        var tracker = Self.handedDown()
        let effects = Self.list(&tracker, [("4711", state)], fence: 1)
        #expect(tracker.record.fence == 1 && tracker.record.isReleased == isReleased)
        #expect(effects.first == .store(tracker.record))
        let reports: [ExecutorReport] = isReleased ? [] : [.accepted(Self.attempt, job: "4711")]
        #expect(Self.reports(effects) == reports)
        #expect(effects.count == 1 + reports.count, "nothing is cancelled, and no fence is closed")
    }

    /// Users can write any comments.
    @Test func `a fence that no submission has is not taken from a comment`() {
        var tracker = Self.handedDown()
        #expect(Self.list(&tracker, [("4711", "RUNNING")], fence: .max) == [.close(fence: 0)])
    }

    @Test func `a shared job that only opsd knows is not replaced after its end`() {
        var tracker = Self.handedDown()
        func list(_ state: String, at seconds: Int64) -> [JobTracker.Effect] {
            let row = JobRow(
                job: "4711", batch: Batch([Self.attempt, AttemptID(OperationID(13), 1)], pack: 2), user: 7,
                state: JobState(state), reason: "None", waitStatus: 0, nodes: "n1")
            return tracker.listed([row], askedAt: Self.at(seconds).monotonic, now: Self.at(seconds))
        }
        _ = list("RUNNING", at: 20)
        _ = list("COMPLETED", at: 30)
        #expect(list("COMPLETED", at: 50) == [.close(fence: 0)])
        guard case .ended(_, let end)? = Self.reports(tracker.fenceClosed(true, now: Self.at(51))).first else {
            Issue.record("the attempt has not ended")
            return
        }
        #expect(end.outcome == .interrupted && tracker.record.fence == 0)
    }

    @Test func `a job that only opsd knows is not replaced after two restarts without a listing`() {
        let stored = JobRecord(Self.handedDown().record.bytes)
        func next() -> JobTracker {
            JobTracker(Self.attempt, user: 7, record: stored, jobOfOpsd: "4711", settings: .init(), now: Self.at(0))
        }
        var tracker = next()
        #expect(tracker.presentState(now: Self.at(1)) == nil)
        #expect(Self.list(&tracker, []) == [.close(fence: 0)])
        #expect(Self.reports(tracker.fenceClosed(true, now: Self.at(21))).count == 1, "it ends, and is not submitted")
        var later = next()
        _ = Self.list(&later, [("4711", "RUNNING")], fence: 2)
        #expect(later.record.fence == 2 && later.record.isReleased)
    }

    // MARK: Signals

    @Test(arguments: [JobTracker.Effect.terminate(job: "4711"), .stop(job: "4711"), .resume(job: "4711")])
    func `a signal that Slurm has not taken is sent again while the job runs`(signal: JobTracker.Effect) {
        var tracker = Self.tracker {
            $0.isReleased = true
            $0.isFrozen = signal == .resume(job: "4711")
        }
        _ = tracker.found(start: Self.start, exit: nil, now: Self.at(1))
        let effects =
            switch signal {
            case .terminate: tracker.terminate(grace: .seconds(100), now: Self.at(2))
            case .stop: tracker.setFrozen(true)
            default: tracker.setFrozen(false)
            }
        #expect(effects.contains(signal))
        func repeats(_ state: String) -> Bool { Self.list(&tracker, [("4711", state)]).contains(signal) }
        #expect(!repeats("RUNNING"), "the command is under way")
        #expect(tracker.signalEnded(.terminate(job: "1"), isTaken: false).isEmpty)
        #expect(!repeats("RUNNING"), "another one has failed")
        #expect(tracker.signalEnded(signal, isTaken: false).isEmpty)
        #expect(!repeats("PENDING"), "the controller has forgotten the start")
        #expect(repeats("RUNNING"))
        #expect(!repeats("RUNNING"))
        _ = tracker.signalEnded(signal, isTaken: true)
        #expect(!repeats("RUNNING"))
    }

    @Test func `a freeze that is repeated changes nothing`() {
        var tracker = Self.tracker { $0.isReleased = true }
        _ = tracker.found(start: Self.start, exit: nil, now: Self.at(1))
        #expect(tracker.setFrozen(false).isEmpty)
        #expect(tracker.setFrozen(true).last == .stop(job: "4711"))
        #expect(tracker.setFrozen(true).isEmpty)
    }

    @Test func `a stopped command is stopped again after a restart`() {
        var tracker = Self.tracker {
            $0.isReleased = true
            $0.isFrozen = true
        }
        #expect(tracker.found(start: Self.start, exit: nil, now: Self.at(1)).last == .stop(job: "4711"))
    }

    @Test func `a stopped command goes on although the executor was killed before its signal`() {
        var tracker = Self.tracker {
            $0.isReleased = true
            $0.isFrozen = true
        }
        _ = tracker.found(start: Self.start, exit: nil, now: Self.at(1))
        #expect(tracker.setFrozen(false).last == .resume(job: "4711"))
        let stored = JobRecord(tracker.record.bytes)
        var next = Self.tracker { $0 = stored }
        #expect(next.found(start: Self.start, exit: nil, now: Self.at(2)).last == .resume(job: "4711"))
        _ = next.signalEnded(.resume(job: "4711"), isTaken: true)
        let taken = JobRecord(next.record.bytes)
        var last = Self.tracker { $0 = taken }
        #expect(!last.found(start: Self.start, exit: nil, now: Self.at(3)).contains(.resume(job: "4711")))
    }
}

import OpsExecutor
import OpsModel
import OpsSlurm
import Testing

/// Attempts that opsd ends before Slurm has started their jobs. opsd takes an exit for the proof of a start.
@Suite struct CancelledJobTests: TestsOfAttempts {
    private static func tracker(_ record: JobRecord? = nil) -> JobTracker {
        JobTracker(attempt, user: 7, record: record, jobOfOpsd: "", settings: .init(), now: at(0))
    }

    private static func list(
        _ tracker: inout JobTracker, _ state: String, _ reason: String = "None", at seconds: Int64
    ) -> [JobTracker.Effect] {
        let row = JobRow(
            job: "4711", batch: Batch([attempt]), user: 7, state: JobState(state), reason: reason, waitStatus: 0,
            nodes: "n1")
        return tracker.listed([row], askedAt: at(seconds).monotonic, now: at(seconds))
    }

    /// Returns a tracker whose job was released and waits in Slurm.
    private static func pending(isShared: Bool = false) -> JobTracker {
        var tracker = tracker()
        _ = tracker.listed([], askedAt: at(0).monotonic, now: at(0))
        _ = tracker.submitted(.accepted(job: "4711"), isShared: isShared, now: at(0))
        _ = tracker.release()
        _ = list(&tracker, "PENDING", "JobHeldUser", at: 1)
        _ = list(&tracker, "PENDING", "Priority", at: 2)
        return tracker
    }

    private static func cancelled(at seconds: Int64) -> ExternalEnd {
        ExternalEnd(outcome: .cancelled, cause: "cancelled before its start", at: at(seconds))
    }

    @Test func `a job that is cancelled while it waits ends without an exit, also after a restart`() {
        var tracker = Self.pending()
        #expect(tracker.terminate(grace: .seconds(5), now: Self.at(3)).contains(.cancel(jobs: ["4711"])))
        _ = Self.list(&tracker, "CANCELLED", at: 4)
        #expect(Self.list(&tracker, "CANCELLED", at: 19) == [.close(fence: 0)])
        let end = Self.cancelled(at: 19)
        #expect(Self.reports(tracker.fenceClosed(true, now: Self.at(20))) == [.ended(Self.attempt, end)])
        #expect(tracker.attemptState(now: Self.at(21)) == .ended(end))
        #expect(Self.tracker(tracker.record).hasEnded)
    }

    @Test func `an attempt that is cancelled before its submission ends without an exit`() {
        var tracker = Self.tracker()
        let reports = Self.reports(tracker.terminate(grace: .zero, now: Self.at(1)))
        #expect(reports == [.ended(Self.attempt, Self.cancelled(at: 1))])
    }

    @Test func `an attempt that is cancelled after a lost reply ends without an exit`() {
        var record = JobRecord()
        record.mayBeSubmitted = true
        var tracker = Self.tracker(record)
        #expect(Self.reports(tracker.terminate(grace: .zero, now: Self.at(1))).isEmpty)
        #expect(tracker.listed([], askedAt: Self.at(15).monotonic, now: Self.at(15)) == [.close(fence: 0)])
        let reports = Self.reports(tracker.fenceClosed(true, now: Self.at(16)))
        #expect(reports == [.ended(Self.attempt, Self.cancelled(at: 15))])
    }

    @Test func `an attempt of a shared job that is cancelled before its start ends without an exit`() {
        var tracker = Self.pending(isShared: true)
        #expect(tracker.terminate(grace: .seconds(5), now: Self.at(3)).last == .close(fence: 0))
        let reports = Self.reports(tracker.fenceClosed(true, now: Self.at(4)))
        #expect(reports == [.ended(Self.attempt, Self.cancelled(at: 3))])
    }

    @Test func `a job that starts while it is being cancelled has started, and ends with its exit`() {
        var tracker = Self.pending()
        _ = tracker.terminate(grace: .zero, now: Self.at(3))
        _ = Self.list(&tracker, "CANCELLED", at: 4)
        #expect(Self.list(&tracker, "CANCELLED", at: 19) == [.close(fence: 0)])
        // The job has passed the fence, although no listing has shown it as running.
        #expect(Self.reports(tracker.fenceClosed(false, now: Self.at(20))).isEmpty)
        let start = StartRecord(node: "n1", job: "4711", at: Self.at(3).wall)
        let exit = ExitRecord(status: .signal(15), at: Self.at(4).wall)
        let process = LaunchedProcess(pid: 0, startTicks: 0, at: Self.at(3))
        let end = ProcessExit(status: .signal(15), at: Self.at(4))
        #expect(
            Self.reports(tracker.found(start: start, exit: exit, now: Self.at(21)))
                == [.launched(Self.attempt, process), .exited(Self.attempt, end, treeIsGone: true)])
    }
}

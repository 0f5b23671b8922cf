import OpsExecutor
import OpsModel
import OpsSlurm
import Testing

/// The states of attempts that share a job or an array, and the fence that prevents an attempt from starting any more.
@Suite struct SharedJobTests: TestsOfAttempts {
    private static func row(
        _ job: String, _ state: String, _ reason: String = "None", fence: Int = 0, isShared: Bool = true
    ) -> JobRow {
        let others = isShared ? [AttemptID(OperationID(13), 1)] : []
        return JobRow(
            job: job, batch: Batch([attempt] + others, pack: 2, fence: fence), user: 7, state: JobState(state),
            reason: reason, waitStatus: 0, nodes: "n1")
    }

    private static func list(
        _ tracker: inout JobTracker, _ rows: [JobRow], showsArray: Bool = false, at seconds: Int64
    ) -> [JobTracker.Effect] {
        tracker.listed(rows, showsArray: showsArray, askedAt: at(seconds).monotonic, now: at(seconds))
    }

    /// Returns a tracker whose job is released.
    private static func released(_ job: String = "4711", isShared: Bool = true) -> JobTracker {
        var tracker = JobTracker(
            attempt, user: 7, record: nil, jobOfOpsd: "", settings: .init(), now: at(0))
        _ = list(&tracker, [], at: 0)
        _ = tracker.submitted(.accepted(job: job), isShared: isShared, now: at(0))
        _ = tracker.release()
        _ = list(&tracker, [row(job, "PENDING", "JobHeldUser", isShared: isShared)], at: 1)
        return tracker
    }

    @Test func `an attempt that has not started ends only after its fence is closed`() {
        var tracker = Self.released(isShared: false)
        _ = Self.list(&tracker, [], at: 10)
        #expect(Self.list(&tracker, [], at: 30) == [.close(fence: 0)])
        #expect(!tracker.hasEnded)
        // The fence could not be closed, because the job has just started.
        let effects = tracker.fenceClosed(false, now: Self.at(31))
        #expect(Self.reports(effects).isEmpty)
        let start = StartRecord(node: "n1", job: "4711", at: Self.at(30).wall)
        let launched = Self.reports(tracker.found(start: start, exit: nil, now: Self.at(32)))
        #expect(launched.count == 1)
        // The command may still run, although Slurm no longer lists its job.
        #expect(Self.list(&tracker, [], at: 300).isEmpty)
    }

    /// A user can replace this record by anything.
    @Test(arguments: [false, true])
    func `an attempt whose record of the start cannot be read ends after its job`(isShared: Bool) {
        var tracker = Self.released(isShared: isShared)
        let completed = Self.row("4711", "COMPLETED", isShared: isShared)
        _ = Self.list(&tracker, [completed], at: 10)
        #expect(Self.list(&tracker, [completed], at: 30) == [.close(fence: 0)])
        #expect(Self.reports(tracker.fenceClosed(false, now: Self.at(31))).isEmpty)
        var other = tracker
        // The command may still run.
        for seconds in [40, 639] as [Int64] { #expect(Self.list(&tracker, [completed], at: seconds).isEmpty) }
        guard case .ended(_, let end)? = Self.reports(Self.list(&tracker, [completed], at: 640)).first else {
            Issue.record("the attempt has not ended")
            return
        }
        #expect(end.outcome == .interrupted)
        let exit = ExitRecord(status: .code(3), at: Self.at(30).wall)
        let exited = ProcessExit(status: .code(3), at: Self.at(30))
        #expect(
            Self.reports(other.found(start: nil, exit: exit, now: Self.at(32)))
                == [.exited(Self.attempt, exited, treeIsGone: true)])
    }

    @Test func `a cancelled attempt whose record of the start cannot be read ends`() {
        var tracker = Self.released(isShared: false)
        _ = tracker.terminate(grace: .zero, now: Self.at(2))
        for seconds in [4, 19] as [Int64] { _ = Self.list(&tracker, [], at: seconds) }
        #expect(Self.reports(tracker.fenceClosed(false, now: Self.at(20))).isEmpty)
        for seconds in [21, 620] as [Int64] { #expect(Self.list(&tracker, [], at: seconds).isEmpty) }
        let end = ProcessExit(status: .signal(9), at: Self.at(621))
        #expect(
            Self.reports(Self.list(&tracker, [], at: 621)) == [.exited(Self.attempt, end, treeIsGone: true)])
    }

    @Test func `an attempt that is frozen before it has a job is frozen at its start`() {
        var tracker = JobTracker(
            Self.attempt, user: 7, record: nil, jobOfOpsd: "", settings: .init(), now: Self.at(0))
        #expect(!tracker.setFrozen(true).contains(.request), "opsd-step has no such attempt yet")
        _ = Self.list(&tracker, [], at: 0)
        #expect(tracker.submitted(.accepted(job: "4711"), isShared: true, now: Self.at(0)).contains(.request))
        // A crash may have lost the request.
        let start = StartRecord(node: "n1", job: "4711", at: Self.at(30).wall)
        #expect(tracker.found(start: start, exit: nil, now: Self.at(32)).contains(.request))
    }

    @Test func `a refused submission closes the fence, because the job may exist nevertheless`() {
        var tracker = JobTracker(
            Self.attempt, user: 7, record: nil, jobOfOpsd: "", settings: .init(), now: Self.at(0))
        _ = Self.list(&tracker, [], at: 0)
        #expect(tracker.submitted(.refused("no"), now: Self.at(1)) == [.close(fence: 0)])
        #expect(Self.reports(tracker.fenceClosed(true, now: Self.at(1))) == [.refused(Self.attempt, cause: "no")])
    }

    @Test func `an attempt whose shared job ended before its start is submitted again with a new fence`() {
        var tracker = Self.released()
        let failed = Self.row("4711", "NODE_FAIL")
        _ = Self.list(&tracker, [failed], at: 10)
        #expect(Self.list(&tracker, [failed], at: 30) == [.close(fence: 0)])
        let effects = tracker.fenceClosed(true, now: Self.at(31))
        #expect(Self.reports(effects).isEmpty)
        #expect(tracker.record.fence == 1)
        #expect(tracker.record.job == nil && !tracker.record.isReleased)
        // A crash of the controller restores the first job as held. Its fence is closed, so it is cancelled.
        let reborn = Self.row("4711", "PENDING", "JobHeldUser")
        #expect(Self.list(&tracker, [reborn], at: 32).contains(.submit))
        _ = tracker.submitted(.accepted(job: "4720"), isShared: true, now: Self.at(33))
        let held = Self.row("4720", "PENDING", "JobHeldUser", fence: 1)
        #expect(Self.list(&tracker, [reborn, held], at: 34) == [.cancel(jobs: ["4711"])])
        // Other attempts may run in it.
        let running = Self.row("4711", "RUNNING")
        #expect(Self.list(&tracker, [running, held], at: 35).isEmpty)
    }

    @Test func `an attempt is submitted at most eight times`() {
        var tracker = Self.released()
        var jobs = 1
        for round in 0..<20 where !tracker.hasEnded {
            let job = "\(4711 + round)"
            let failed = Self.row(job, "NODE_FAIL", fence: tracker.record.fence)
            _ = Self.list(&tracker, [failed], at: Int64(100 * round + 10))
            guard Self.list(&tracker, [failed], at: Int64(100 * round + 40)).contains(.close(fence: round)) else {
                break
            }
            _ = tracker.fenceClosed(true, now: Self.at(Int64(100 * round + 41)))
            guard !tracker.hasEnded else { break }
            _ = Self.list(&tracker, [], at: Int64(100 * round + 42))
            _ = tracker.submitted(
                .accepted(job: "\(4712 + round)"), isShared: true, now: Self.at(Int64(100 * round + 43)))
            jobs += 1
            _ = tracker.release()
            let next = Self.row("\(4712 + round)", "PENDING", "JobHeldUser", fence: tracker.record.fence)
            _ = Self.list(&tracker, [next], at: Int64(100 * round + 44))
        }
        #expect(jobs == 8)
        #expect(tracker.hasEnded)
    }

    @Test func `cancelling one attempt does not cancel a shared job`() {
        var tracker = Self.released()
        let effects = tracker.terminate(grace: .seconds(5), now: Self.at(5))
        #expect(effects.last == .close(fence: 0))
        #expect(!effects.contains { if case .cancel = $0 { true } else { false } })
        #expect(Self.reports(tracker.fenceClosed(true, now: Self.at(5))).count == 1)

        var running = Self.released()
        let start = StartRecord(node: "n1", job: "4711", at: Self.at(2).wall)
        _ = running.found(start: start, exit: nil, now: Self.at(3))
        let requests = running.terminate(grace: .seconds(5), now: Self.at(5))
        #expect(requests.last == .request)
        #expect(StepRequest(running.record).grace == .seconds(5))
        #expect(running.timePassed(now: Self.at(100)).isEmpty)
    }

    @Test func `cancelling a shared job in Slurm cancels its waiting attempts`() {
        var tracker = Self.released()
        let cancelled = Self.row("4711", "CANCELLED")
        _ = Self.list(&tracker, [cancelled], at: 10)
        #expect(Self.list(&tracker, [cancelled], at: 30) == [.close(fence: 0)])
        guard case .ended(_, let end)? = Self.reports(tracker.fenceClosed(true, now: Self.at(31))).first else {
            Issue.record("the attempt has not ended")
            return
        }
        #expect(end.outcome == .cancelled)
    }

    @Test func `a missing task counts as cancelled if its array is listed, and as interrupted otherwise`() {
        for (showsArray, outcome) in [(true, ExternalEnd.Outcome.cancelled), (false, .interrupted)] {
            var tracker = Self.released("4711_3", isShared: false)
            _ = Self.list(&tracker, [], showsArray: showsArray, at: 10)
            #expect(Self.list(&tracker, [], showsArray: showsArray, at: 30) == [.close(fence: 0)])
            guard case .ended(_, let end)? = Self.reports(tracker.fenceClosed(true, now: Self.at(31))).first else {
                Issue.record("the attempt has not ended")
                return
            }
            #expect(end.outcome == outcome)
        }
    }

    @Test func `a shared job is not released before opsd has stored all of its attempts`() {
        var tracker = JobTracker(
            Self.attempt, user: 7, record: nil, jobOfOpsd: "", settings: .init(), now: Self.at(0))
        _ = Self.list(&tracker, [], at: 0)
        _ = tracker.submitted(.accepted(job: "4711"), isShared: true, now: Self.at(0))
        #expect(!tracker.permitsRelease)
        #expect(Self.released().permitsRelease)
    }

    @Test func `attempts keep their shared job although sbatch has given it a wrong number`() {
        var tracker = JobTracker(
            Self.attempt, user: 7, record: nil, jobOfOpsd: "", settings: .init(), now: Self.at(0))
        _ = Self.list(&tracker, [], at: 0)
        _ = tracker.submitted(.accepted(job: "1"), isShared: true, now: Self.at(1))
        _ = Self.list(&tracker, [Self.row("4711", "PENDING", "JobHeldUser")], at: 0)
        #expect(tracker.keeps("4711"))
    }

    @Test func `an attempt whose job started before its number was known is ended without the others of the job`() {
        var tracker = JobTracker(
            Self.attempt, user: 7, record: nil, jobOfOpsd: "", settings: .init(), now: Self.at(0))
        _ = Self.list(&tracker, [], at: 0)
        let start = StartRecord(node: "n1", job: "4711", at: Self.at(1).wall)
        _ = tracker.found(start: start, exit: nil, now: Self.at(2))
        let listed = Self.list(&tracker, [Self.row("4711", "RUNNING")], at: 3)
        #expect(tracker.record.isShared)
        #expect(listed.first == .store(tracker.record))
        let terminated = tracker.terminate(grace: .zero, now: Self.at(4))
        #expect(terminated == [.store(tracker.record), .request])
    }

    @Test func `a held task ends with its array only if the array is listed without it`() {
        var tracker = JobTracker(
            Self.attempt, user: 7, record: nil, jobOfOpsd: "", settings: .init(), now: Self.at(0))
        _ = Self.list(&tracker, [], at: 0)
        _ = tracker.submitted(.accepted(job: "4711_1"), now: Self.at(0))
        let own = Self.row("4711_1", "PENDING", "JobHeldUser", isShared: false)
        #expect(Self.list(&tracker, [own], showsArray: true, at: 1).isEmpty)
        let other = Self.row("4712", "PENDING", "JobHeldUser", isShared: false)
        #expect(Self.list(&tracker, [other], showsArray: true, at: 2) == [.close(fence: 0)])
        #expect(own.isShared == false && Self.row("4711", "RUNNING").isShared)
    }
}

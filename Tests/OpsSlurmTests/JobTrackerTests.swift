import OpsExecutor
import OpsModel
import OpsSlurm
import OpsSystem
import Testing

/// The states of one attempt from submission to end, with listings and replies made up by the tests.
@Suite struct JobTrackerTests: TestsOfAttempts {
    private static func tracker(_ record: JobRecord? = nil, job: String = "", at seconds: Int64 = 0) -> JobTracker {
        JobTracker(attempt, user: 7, record: record, jobOfOpsd: job, settings: .init(), now: at(seconds))
    }

    private static func row(
        _ job: String, _ state: String, _ reason: String = "None", wait: Int = 0, user: UInt32 = 7
    ) -> JobRow {
        JobRow(
            job: job, batch: Batch([attempt]), user: user, state: JobState(state),
            reason: reason, waitStatus: wait, nodes: "n1")
    }

    private static func held(_ job: String) -> JobRow { row(job, "PENDING", "JobHeldUser") }

    /// Passes a listing to a tracker, and returns the effects without states for people.
    private static func list(_ tracker: inout JobTracker, _ rows: [JobRow], at seconds: Int64) -> [JobTracker.Effect] {
        tracker.listed(rows, askedAt: at(seconds).monotonic, now: at(seconds)).withoutStates
    }

    /// Returns a tracker whose job 4711 is released.
    private static func released() -> JobTracker {
        var tracker = tracker()
        _ = list(&tracker, [], at: 0)
        _ = tracker.submitted(.accepted(job: "4711"), now: at(0))
        _ = tracker.release()
        _ = list(&tracker, [held("4711")], at: 1)
        return tracker
    }

    private static func started() -> JobTracker {
        var tracker = released()
        _ = tracker.found(start: StartRecord(node: "n1", job: "4711", at: at(2).wall), exit: nil, now: at(3))
        return tracker
    }

    /// Returns the end that the first report tells; nil if it tells no end.
    private static func end(_ reports: [ExecutorReport]) -> ExternalEnd? {
        if case .ended(_, let end)? = reports.first { end } else { nil }
    }

    /// Closes the fence of an attempt that has not started, and returns the reports that follow.
    private static func closed(
        _ tracker: inout JobTracker, _ effects: [JobTracker.Effect], at seconds: Int64
    ) -> [ExecutorReport] {
        #expect(effects.last == .close(fence: 0))
        #expect(reports(effects).isEmpty)
        return reports(tracker.fenceClosed(true, now: at(seconds)))
    }

    @Test func `an attempt is looked up, submitted, stored, checked and released in this order`() {
        var tracker = Self.tracker()
        #expect(tracker.launch(now: Self.at(0)) == [.list])
        var stored = JobRecord()
        stored.mayBeSubmitted = true
        #expect(Self.list(&tracker, [], at: 0) == [.store(stored), .submit])
        stored.job = "4711"
        #expect(
            tracker.submitted(.accepted(job: "4711"), now: Self.at(0))
                == [.store(stored), .report(.accepted(Self.attempt, job: "4711"))])
        // Nothing is released before opsd has stored the job.
        #expect(Self.list(&tracker, [Self.held("4711")], at: 1).isEmpty)
        #expect(tracker.release() == [.list])
        stored.isReleased = true
        #expect(
            Self.list(&tracker, [Self.held("4711")], at: 2) == [.store(stored), .release(job: "4711"), .list])
        let start = StartRecord(node: "n1", job: "4711", at: Self.at(3).wall)
        #expect(
            tracker.found(start: start, exit: nil, now: Self.at(4))
                == [.report(.launched(Self.attempt, LaunchedProcess(pid: 0, startTicks: 0, at: Self.at(3))))])
        let end = ExitRecord(status: .code(3), at: Self.at(5).wall)
        #expect(
            tracker.found(start: start, exit: end, now: Self.at(6))
                == [.report(.exited(Self.attempt, ProcessExit(status: .code(3), at: Self.at(5)), treeIsGone: true))])
    }

    @Test func `an attempt whose reply was lost is submitted again only when no job can appear any more`() {
        var tracker = Self.tracker()
        _ = Self.list(&tracker, [], at: 0)
        #expect(tracker.submitted(.ambiguous("timed out"), now: Self.at(10)).withoutStates == [.list])
        #expect(Self.list(&tracker, [], at: 11).isEmpty)
        #expect(Self.list(&tracker, [], at: 24).isEmpty)
        #expect(Self.list(&tracker, [], at: 26).contains(.submit))
        _ = tracker.submitted(.ambiguous("timed out"), now: Self.at(27))
        let found = Self.list(&tracker, [Self.held("4711"), Self.held("4712")], at: 28)
        #expect(Self.reports(found) == [.accepted(Self.attempt, job: "4711")])
        #expect(found.contains(.cancel(jobs: ["4712"])))
    }

    @Test func `of several jobs of an attempt, the stored one is kept and the others are cancelled`() {
        var tracker = Self.tracker()
        _ = Self.list(&tracker, [], at: 0)
        _ = tracker.submitted(.accepted(job: "4712"), now: Self.at(0))
        #expect(Self.list(&tracker, [Self.held("4711"), Self.held("4712")], at: 1) == [.cancel(jobs: ["4711"])])
    }

    @Test func `an attempt whose held job Slurm has forgotten is submitted once more with a new fence`() {
        var tracker = Self.tracker()
        _ = Self.list(&tracker, [], at: 0)
        _ = tracker.submitted(.accepted(job: "4711"), now: Self.at(1))
        #expect(Self.list(&tracker, [], at: 0).isEmpty, "the listing is older than the job")
        // Slurm has given the number to a job of another user.
        let stranger = Self.row("4711", "RUNNING", user: 8)
        #expect(Self.list(&tracker, [stranger], at: 2).isEmpty)
        #expect(Self.list(&tracker, [stranger], at: 16).isEmpty)
        #expect(Self.list(&tracker, [stranger], at: 17) == [.cancelUnlisted(job: "4711"), .close(fence: 0)])
        #expect(tracker.fenceClosed(true, now: Self.at(17)).last == .list)
        #expect(tracker.record.fence == 1)
        #expect(Self.list(&tracker, [stranger], at: 18).contains(.submit))
    }

    @Test func `a held job that listings lack for a while is kept`() {
        var tracker = Self.tracker()
        _ = Self.list(&tracker, [], at: 0)
        _ = tracker.submitted(.accepted(job: "4711"), now: Self.at(1))
        for seconds in [2, 16] as [Int64] { #expect(Self.list(&tracker, [], at: seconds).isEmpty) }
        #expect(Self.list(&tracker, [Self.held("4711")], at: 17).isEmpty)
        for seconds in [18, 32] as [Int64] { #expect(Self.list(&tracker, [], at: seconds).isEmpty) }
    }

    @Test func `an attempt whose jobs are never listed is submitted eight times and then refused`() {
        var tracker = Self.tracker()
        var effects = Self.list(&tracker, [], at: 0)
        var reports: [ExecutorReport] = []
        var submissions = 0
        while effects.contains(.submit) {
            let job = "\(4711 + submissions)"
            let start = Int64(100 * submissions)
            _ = tracker.submitted(.accepted(job: job), now: Self.at(start + 1))
            #expect(Self.list(&tracker, [], at: start + 2).isEmpty)
            let missing = Self.list(&tracker, [], at: start + 17)
            #expect(missing == [.cancelUnlisted(job: job), .close(fence: submissions)])
            reports = Self.reports(tracker.fenceClosed(true, now: Self.at(start + 18)))
            effects = Self.list(&tracker, [], at: start + 19)
            submissions += 1
        }
        #expect(submissions == 8)
        let cause = "Slurm accepted job 4718 but does not list it; were its name or comment changed?"
        #expect(reports == [.refused(Self.attempt, cause: cause)])
    }

    @Test func `a held job that is not listed is cancelled by its number when its operation is cancelled`() {
        var tracker = Self.tracker()
        _ = Self.list(&tracker, [], at: 0)
        _ = tracker.submitted(.accepted(job: "4711"), now: Self.at(1))
        _ = tracker.terminate(grace: .zero, now: Self.at(2))
        #expect(Self.list(&tracker, [], at: 3) == [.cancelUnlisted(job: "4711"), .close(fence: 0)])
        let end = ExternalEnd(outcome: .cancelled, cause: "cancelled before its start", at: Self.at(3))
        #expect(Self.reports(tracker.fenceClosed(true, now: Self.at(3))) == [.ended(Self.attempt, end)])
    }

    /// A listing can be older than the reply of sbatch and show the job already.
    @Test(arguments: [0, 2] as [Int64])
    func `a job to which sbatch has given a wrong number is kept`(seconds: Int64) {
        var tracker = Self.tracker()
        _ = Self.list(&tracker, [], at: 0)
        _ = tracker.submitted(.accepted(job: "1"), now: Self.at(1))
        let effects = Self.list(&tracker, [Self.held("4711")], at: seconds)
        #expect(Self.reports(effects) == [.accepted(Self.attempt, job: "4711")])
        #expect(effects.count == 2, "nothing is cancelled")
        _ = tracker.release()
        #expect(Self.list(&tracker, [Self.held("4711")], at: 3).contains(.release(job: "4711")))
    }

    @Test func `an attempt whose stored job is unknown to Slurm is not submitted again`() {
        var tracker = Self.tracker(job: "4711")
        #expect(tracker.launch(now: Self.at(0)) == [.list])
        let effects = Self.list(&tracker, [], at: 1)
        let end = Self.end(Self.closed(&tracker, effects, at: 1))
        #expect(end?.outcome == .interrupted)
        #expect(end?.cause == "Slurm has no record of job 4711")
    }

    @Test func `a crash at any step causes no second submission and no release without a check`() {
        var record = JobRecord()
        record.mayBeSubmitted = true
        var tracker = Self.tracker(record)
        #expect(Self.list(&tracker, [], at: 1).isEmpty, "the reply may still be under way")
        #expect(Self.reports(Self.list(&tracker, [Self.held("4711")], at: 2)) == [.accepted(Self.attempt, job: "4711")])
        record.job = "4711"
        tracker = Self.tracker(record)
        #expect(tracker.presentState(now: Self.at(0)) == .accepted(Self.attempt, job: "4711"))
        #expect(tracker.release() == [.list])
        #expect(Self.list(&tracker, [Self.held("4711")], at: 1).contains(.release(job: "4711")))
        record.isReleased = true
        tracker = Self.tracker(record)
        // The record says released. Slurm may never have received the release, or may have lost it in a crash. The job is
        // released again, because the fence prevents a second start.
        #expect(Self.list(&tracker, [Self.held("4711")], at: 1) == [.release(job: "4711")])
        _ = tracker.found(start: StartRecord(node: "n1", job: "4711", at: .zero), exit: nil, now: Self.at(2))
        #expect(Self.list(&tracker, [Self.held("4711")], at: 3).isEmpty, "it has started")
    }

    @Test func `the exit record takes precedence over the state of the job`() {
        var tracker = Self.started()
        #expect(Self.list(&tracker, [Self.row("4711", "CANCELLED")], at: 5).isEmpty)
        let end = ExitRecord(status: .code(0), at: Self.at(6).wall)
        let reports = Self.reports(tracker.found(start: nil, exit: end, now: Self.at(7)))
        #expect(reports == [.exited(Self.attempt, ProcessExit(status: .code(0), at: Self.at(6)), treeIsGone: true)])
    }

    @Test func `the end waits until the log is copied, whatever Slurm says of the job`() {
        var tracker = Self.started()
        let end = ExitRecord(status: .code(1), at: Self.at(5).wall)
        #expect(tracker.found(start: nil, exit: end, isCopied: false, now: Self.at(6)).isEmpty)
        let failed = Self.row("4711", "FAILED", "NonZeroExitCode", wait: 1 << 8)
        for seconds in [7, 40, 1000] as [Int64] {
            #expect(Self.list(&tracker, [failed], at: seconds).isEmpty)
            #expect(tracker.found(start: nil, exit: end, isCopied: false, now: Self.at(seconds)).isEmpty)
        }
        #expect(Self.list(&tracker, [], at: 2000).isEmpty, "Slurm has forgotten the job")
        let reports = Self.reports(tracker.found(start: nil, exit: end, now: Self.at(2001)))
        #expect(reports == [.exited(Self.attempt, ProcessExit(status: .code(1), at: Self.at(5)), treeIsGone: true)])
    }

    @Test func `Slurm decides the outcome of a killed command after its log is copied`() {
        var tracker = Self.started()
        let end = ExitRecord(status: .signal(15), at: Self.at(6).wall)
        #expect(tracker.found(start: nil, exit: end, isCopied: false, now: Self.at(7)).isEmpty)
        #expect(Self.list(&tracker, [Self.row("4711", "TIMEOUT")], at: 30).isEmpty)
        #expect(tracker.found(start: nil, exit: end, now: Self.at(100)) == [.list])
        let found = Self.end(Self.reports(Self.list(&tracker, [Self.row("4711", "TIMEOUT")], at: 101)))
        #expect(found?.outcome == .timedOut)
    }

    @Test func `a cancelled attempt waits for its log only until lost-after`() {
        var tracker = Self.started()
        _ = tracker.terminate(grace: .zero, now: Self.at(5))
        let end = ExitRecord(status: .signal(15), at: Self.at(6).wall)
        for seconds in [7, 606] as [Int64] {
            #expect(tracker.found(start: nil, exit: end, isCopied: false, now: Self.at(seconds)).isEmpty)
        }
        let reports = Self.reports(tracker.found(start: nil, exit: end, isCopied: false, now: Self.at(607)))
        #expect(reports == [.exited(Self.attempt, ProcessExit(status: .signal(15), at: Self.at(6)), treeIsGone: true)])
    }

    @Test func `a fence that could not be closed is closed later`() {
        var tracker = Self.tracker()
        _ = Self.list(&tracker, [], at: 0)
        #expect(tracker.timePassed(now: Self.at(1)).isEmpty)
        #expect(tracker.submitted(.refused("no"), now: Self.at(1)) == [.close(fence: 0)])
        // An error: `fenceClosed` is not called.
        #expect(Self.list(&tracker, [Self.held("4711")], at: 2).isEmpty)
        for seconds in [3, 4] as [Int64] { #expect(tracker.timePassed(now: Self.at(seconds)) == [.close(fence: 0)]) }
        #expect(!tracker.hasEnded)
        #expect(Self.reports(tracker.fenceClosed(true, now: Self.at(4))) == [.refused(Self.attempt, cause: "no")])
        #expect(tracker.timePassed(now: Self.at(5)).isEmpty)
    }

    @Test func `an attempt is killed also while its fence cannot be closed`() {
        var tracker = Self.released()
        _ = Self.list(&tracker, [], at: 10)
        #expect(Self.list(&tracker, [], at: 30) == [.close(fence: 0)])
        _ = tracker.terminate(grace: .zero, now: Self.at(40))
        #expect(tracker.timePassed(now: Self.at(41)) == [.cancel(jobs: ["4711"]), .list, .close(fence: 0)])
    }

    @Test func `an attempt whose command cannot be started fails without an exit`() {
        var tracker = Self.started()
        var end = ExitRecord(status: .code(127), at: Self.at(6).wall)
        end.startFailure = SpawnError(step: "exec /no/such", errno: 2)
        let reports = Self.reports(tracker.found(start: nil, exit: end, now: Self.at(7)))
        #expect(reports == [.failed(Self.attempt, step: "exec /no/such", errno: 2)])
        #expect(tracker.attemptState(now: Self.at(8)) == .failed(step: "exec /no/such", errno: 2))
    }

    @Test(arguments: [
        ("TIMEOUT", ExternalEnd.Outcome.timedOut), ("CANCELLED", .cancelled), ("NODE_FAIL", .interrupted),
        ("PREEMPTED", .interrupted), ("OUT_OF_MEMORY", .outOfMemory),
    ])
    func `the state of the job decides the outcome of a command that was killed by a signal`(
        state: String, outcome: ExternalEnd.Outcome
    ) {
        var tracker = Self.started()
        let end = ExitRecord(status: .signal(15), at: Self.at(6).wall)
        #expect(tracker.found(start: nil, exit: end, now: Self.at(7)) == [.list])
        #expect(Self.list(&tracker, [Self.row("4711", "COMPLETING")], at: 8).filter { $0 != .list }.count <= 1)
        let found = Self.end(Self.reports(Self.list(&tracker, [Self.row("4711", state)], at: 9)))
        #expect(found?.outcome == outcome)
        #expect(found?.exit?.status == .signal(15))
    }

    @Test func `the outcome of a command that was killed by a signal waits for a listing of Slurm`() {
        var tracker = Self.started()
        let end = ExitRecord(status: .signal(15), at: Self.at(6).wall)
        #expect(tracker.found(start: nil, exit: end, now: Self.at(7)) == [.list])
        #expect(tracker.found(start: nil, exit: end, now: Self.at(300)).isEmpty)
        let found = Self.end(Self.reports(Self.list(&tracker, [Self.row("4711", "NODE_FAIL")], at: 301)))
        #expect(found?.outcome == .interrupted)
    }

    @Test func `a failed node does not end an attempt before lost-after`() {
        var tracker = Self.started()
        #expect(Self.list(&tracker, [Self.row("4711", "NODE_FAIL")], at: 10).isEmpty)
        #expect(Self.list(&tracker, [], at: 600).isEmpty)
        let end = Self.end(Self.reports(Self.list(&tracker, [Self.row("4711", "NODE_FAIL")], at: 610)))
        #expect(end?.cause == "node n1 failed during Slurm job 4711")
    }

    @Test func `a second start that the fence refuses does not end the attempt`() {
        var tracker = Self.started()
        let refused = Self.row("4711", "FAILED", "NonZeroExitCode", wait: 75 << 8)
        #expect(Self.list(&tracker, [refused], at: 10).isEmpty)
        #expect(Self.list(&tracker, [refused], at: 600).isEmpty)
        let end = ExitRecord(status: .code(0), at: Self.at(601).wall)
        let reports = Self.reports(tracker.found(start: nil, exit: end, now: Self.at(602)))
        #expect(reports == [.exited(Self.attempt, ProcessExit(status: .code(0), at: Self.at(601)), treeIsGone: true)])
    }

    @Test(arguments: [("NODE_FAIL", 0), ("NODE_FAIL", 9), ("CANCELLED", 0), (nil, 0)])
    func `an attempt whose cancelled command may still run does not end before lost-after`(state: String?, wait: Int) {
        var tracker = Self.started()
        _ = tracker.terminate(grace: .zero, now: Self.at(5))
        let rows = state.map { [Self.row("4711", $0, wait: wait)] } ?? []
        #expect(Self.reports(Self.list(&tracker, rows, at: 10)).isEmpty)
        #expect(Self.reports(Self.list(&tracker, rows, at: 609)).isEmpty)
        let reports = Self.reports(Self.list(&tracker, rows, at: 610))
        #expect(reports == [.exited(Self.attempt, ProcessExit(status: .signal(9), at: Self.at(610)), treeIsGone: true)])
    }

    @Test func `an attempt whose released job can never run is refused`() {
        var tracker = Self.released()
        let effects = Self.list(&tracker, [Self.row("4711", "PENDING", "BadConstraints")], at: 2)
        #expect(effects.first == .cancel(jobs: ["4711"]))
        guard case .refused(_, let cause)? = Self.closed(&tracker, effects, at: 2).first else {
            Issue.record("the attempt was not refused")
            return
        }
        #expect(cause.hasPrefix("BadConstraints"))
    }

    @Test func `a running command gets SIGTERM, and its job is cancelled after the grace period`() {
        var tracker = Self.started()
        #expect(tracker.terminate(grace: .seconds(5), now: Self.at(10)).contains(.terminate(job: "4711")))
        #expect(tracker.timePassed(now: Self.at(14)).isEmpty)
        #expect(tracker.timePassed(now: Self.at(15)) == [.cancel(jobs: ["4711"]), .list])
        _ = Self.list(&tracker, [Self.row("4711", "CANCELLED", wait: 15)], at: 20)
        let reports = Self.reports(Self.list(&tracker, [Self.row("4711", "CANCELLED", wait: 15)], at: 40))
        #expect(reports == [.exited(Self.attempt, ProcessExit(status: .signal(9), at: Self.at(40)), treeIsGone: true)])
    }

    @Test func `cancelling an attempt before the reply of sbatch cancels the job that appears`() {
        var tracker = Self.tracker()
        _ = Self.list(&tracker, [], at: 0)
        _ = tracker.terminate(grace: .zero, now: Self.at(1))
        #expect(tracker.submitted(.accepted(job: "4711"), now: Self.at(2)).contains(.cancel(jobs: ["4711"])))
        let effects = Self.list(&tracker, [Self.row("4711", "CANCELLED", "JobHeldUser")], at: 3)
        let end = ExternalEnd(outcome: .cancelled, cause: "cancelled before its start", at: Self.at(3))
        #expect(Self.closed(&tracker, effects, at: 3) == [.ended(Self.attempt, end)])
    }

    @Test func `a listing is needed except while sbatch runs and after the end`() {
        var tracker = Self.tracker()
        #expect(tracker.needsListing && !tracker.hasStarted)
        _ = Self.list(&tracker, [], at: 0)
        #expect(!tracker.needsListing, "sbatch runs")
        _ = tracker.submitted(.accepted(job: "4711"), now: Self.at(0))
        #expect(tracker.needsListing)
        tracker = Self.started()
        #expect(tracker.needsListing && tracker.hasStarted)
        _ = tracker.found(start: nil, exit: ExitRecord(status: .code(0), at: .zero), now: Self.at(5))
        #expect(!tracker.needsListing)
    }

    @Test func `a start whose job nobody knew is stored with its job before it is reported`() {
        var tracker = Self.tracker()
        let start = StartRecord(node: "n1", job: "4711", at: Self.at(1).wall)
        let effects = tracker.found(start: start, exit: nil, now: Self.at(2))
        var stored = JobRecord()
        stored.mayBeSubmitted = true
        stored.isReleased = true
        stored.job = "4711"
        let process = LaunchedProcess(pid: 0, startTicks: 0, at: Self.at(1))
        #expect(effects.first == .store(stored) && effects.count == 3)
        #expect(Self.reports(effects) == [.accepted(Self.attempt, job: "4711"), .launched(Self.attempt, process)])
    }

    @Test func `an attempt that has passed its fence goes on`() {
        var tracker = Self.tracker()
        _ = Self.list(&tracker, [], at: 0)
        #expect(tracker.submitted(.refused("no"), now: Self.at(1)) == [.close(fence: 0)])
        var stored = JobRecord()
        stored.mayBeSubmitted = true
        stored.isReleased = true
        #expect(tracker.fenceClosed(false, now: Self.at(1)) == [.store(stored), .list])
        #expect(!tracker.hasEnded)
    }

    @Test func `a job that opsd has stored and that waits or runs in Slurm is reported again`() {
        for row in [Self.held("4711"), Self.row("4711", "RUNNING")] {
            var tracker = Self.tracker(job: "4711")
            #expect(tracker.presentState(now: Self.at(0)) == nil)
            _ = Self.list(&tracker, [row], at: 1)
            #expect(tracker.presentState(now: Self.at(1)) == .accepted(Self.attempt, job: "4711"))
        }
    }

    @Test func `a listing from the instant of a release or a signal counts`() {
        var tracker = Self.released()
        #expect(Self.list(&tracker, [], at: 1).isEmpty)
        #expect(Self.list(&tracker, [], at: 16) == [.close(fence: 0)], "the job is missing for the time of a record")
        tracker = Self.started()
        _ = tracker.found(start: nil, exit: ExitRecord(status: .signal(9), at: Self.at(4).wall), now: Self.at(5))
        #expect(Self.reports(Self.list(&tracker, [Self.row("4711", "TIMEOUT")], at: 5)).count == 1)
    }

    @Test func `a job that is found counts as released unless it is held`() {
        for (row, isReleased) in [(Self.held("4711"), false), (Self.row("4711", "RUNNING"), true)] {
            var record = JobRecord()
            record.mayBeSubmitted = true
            var tracker = Self.tracker(record)
            _ = Self.list(&tracker, [row], at: 1)
            #expect(tracker.record.job == "4711" && tracker.record.isReleased == isReleased)
        }
    }

    @Test func `a second termination can only shorten the grace period`() {
        var tracker = Self.started()
        _ = tracker.terminate(grace: .seconds(3600), now: Self.at(10))
        #expect(tracker.terminate(grace: .seconds(3600), now: Self.at(11)).isEmpty)
        #expect(tracker.terminate(grace: .zero, now: Self.at(12)).contains(.terminate(job: "4711")))
        #expect(tracker.record.grace == .zero)
        #expect(tracker.timePassed(now: Self.at(12)) == [.cancel(jobs: ["4711"]), .list])
        #expect(tracker.terminate(grace: .seconds(5), now: Self.at(13)).isEmpty)
    }

    @Test func `a kill is repeated only after a while`() {
        var tracker = Self.started()
        _ = tracker.terminate(grace: .seconds(5), now: Self.at(10))
        #expect(tracker.timePassed(now: Self.at(15)) == [.cancel(jobs: ["4711"]), .list])
        #expect(tracker.timePassed(now: Self.at(16)).isEmpty)
        #expect(tracker.timePassed(now: Self.at(30)) == [.cancel(jobs: ["4711"]), .list])
    }

    @Test func `a command that starts after its termination gets SIGTERM`() {
        var tracker = Self.released()
        _ = tracker.terminate(grace: .zero, now: Self.at(2))
        let start = StartRecord(node: "n1", job: "4711", at: Self.at(3).wall)
        #expect(tracker.found(start: start, exit: nil, now: Self.at(4)).contains(.terminate(job: "4711")))
    }

    @Test func `the outcome that Slurm has decided is stored before it is reported`() {
        var tracker = Self.released()
        let ended = Self.row("4711", "CANCELLED")
        _ = Self.list(&tracker, [ended], at: 2)
        #expect(Self.list(&tracker, [ended], at: 20) == [.close(fence: 0)])
        let effects = tracker.fenceClosed(true, now: Self.at(21))
        guard case .store(let record)? = effects.first else {
            Issue.record("nothing is stored first")
            return
        }
        #expect(record.end?.outcome == .cancelled && record.end?.cause == "Slurm job 4711 was cancelled in Slurm")
        #expect(Self.tracker(record, at: 22).presentState(now: Self.at(22)) == Self.reports(effects).first)
    }

    @Test func `a signal counts as the end of the command after the time of a record`() {
        var tracker = Self.started()
        let end = ExitRecord(status: .signal(9), at: Self.at(4).wall)
        #expect(tracker.found(start: nil, exit: end, now: Self.at(5)) == [.list])
        _ = Self.list(&tracker, [Self.row("4711", "RUNNING")], at: 6)
        #expect(Self.reports(tracker.found(start: nil, exit: end, now: Self.at(19))).isEmpty)
        #expect(Self.reports(tracker.found(start: nil, exit: end, now: Self.at(20))).count == 1)
    }
}

extension [JobTracker.Effect] {
    /// The effects except reports of states, which JobStateTests checks.
    var withoutStates: Self {
        filter { if case .report(.updated) = $0 { false } else { true } }
    }
}

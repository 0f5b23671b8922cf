import OpsCore
import Testing

@testable import OpsStore

@Suite struct CauseTextTests {
    private let words = CauseText(
        other: { id in
            switch id.rawValue {
            case 12: CauseText.Other(name: "build", outcome: .timedOut)
            case 13: CauseText.Other(name: "site", outcome: .succeeded, isUpToDate: true)
            default: CauseText.Other()
            }
        },
        condition: { $0 == 0 ? "pathExists /x" : nil })

    @Test(arguments: [
        (Cause.exitStatus(2), "exit status 2"),
        (.signal(11), "killed by SIGSEGV"),
        (.signal(40), "killed by signal 40"),
        (.outOfMemory, "out of memory"),
        (.cannotStart(step: "/no/such", errno: 2), "cannot start: /no/such: no such file or directory"),
        (.ranLongerThan(.seconds(30)), "ran longer than 30s"),
        (.ranLongerThan(.nanoseconds(1_000_500_000)), "ran longer than 1s500us"),
        (.deadlinePassed, "its deadline passed"),
        (.cancelledBy("root", reason: "wrong branch"), "cancelled by root: wrong branch"),
        (.cancelledBy("root", reason: nil), "cancelled by root"),
        (.groupCancelled(OperationID(12)), "group 12 (build) was cancelled"),
        (.groupTimedOut(OperationID(5)), "group 5 timed out"),
        (.groupSkipped(OperationID(5)), "group 5 was skipped"),
        (
            .groupSkipped(OperationID(5), because: Cause.Root(OperationID(12), .timedOut)),
            "group 5 was skipped: dependency 12 (build) timed out"
        ),
        (.groupSkipped(OperationID(5), because: Cause.Root(OperationID(5), .failed)), "group 5 failed"),
        (.groupSkipped(OperationID(5), because: Cause.Root(OperationID(5), .notNeeded)), "group 5 was skipped"),
        (
            .groupSkipped(OperationID(13), because: Cause.Root(OperationID(13), .succeeded)),
            "group 13 (site) is up to date"
        ),
        (
            .groupSkipped(OperationID(5), because: Cause.Root(OperationID(13), .succeeded)),
            "group 5 was skipped: dependency 13 (site) is up to date"
        ),
        (.dependency(root: OperationID(13), .succeeded), "dependency 13 (site) is up to date"),
        (.dependency(root: OperationID(12), .failed), "dependency 12 (build) failed"),
        (.dependency(root: OperationID(7), .cancelled), "dependency 7 was cancelled"),
        (.dependency(root: OperationID(7), .interrupted), "dependency 7 was interrupted"),
        (.dependency(root: OperationID(7), .succeeded), "dependency 7 succeeded"),
        (.providedFor(OperationID(12), .timedOut), "provided for 12 (build), which timed out"),
        (.neverStarted(root: OperationID(12)), "dependency 12 (build) ended without starting"),
        (.conditionFalse(index: 0, detail: ""), "condition 1 (pathExists /x) is false"),
        (.conditionFalse(index: 1, detail: "exit status 1"), "condition 2 is false: exit status 1"),
        (
            .conditionFalse(index: 0, detail: "cannot be evaluated: no answer in time"),
            "condition 1 (pathExists /x) cannot be evaluated: no answer in time"
        ),
        (.children(first: OperationID(12), count: 3), "child 12 (build) timed out and 2 more did not succeed"),
        (.children(first: OperationID(8), count: 1), "child 8 failed"),
        (.runnerLost, "the runner died"),
        (.machineRestarted, "the machine restarted"),
        (.abandoned(by: "root"), "given up by root, its processes may be alive"),
        (.abandoned(by: "root", reason: "lost node"), "given up by root, its processes may be alive: lost node"),
        (.finishedBy("ada", message: "bad"), "rejected by ada: bad"),
        (.reported(status: 3), "it reported status 3"),
    ])
    func causesReadAsSentences(_ cause: Cause, _ text: String) throws {
        #expect(try words.text(cause) == text)
    }

    @Test(
        arguments: [
            (0, "0s"), (250_000_000, "250ms"), (30_000_000_000, "30s"), (90_000_000_000, "1m30s"),
            (3_600_000_000_000, "1h"), (5_400_500_000_000, "1h30m500ms"),
        ] as [(Int64, String)])
    func `durations are written as opsctl reads them`(_ nanoseconds: Int64, _ text: String) {
        #expect(durationText(.nanoseconds(nanoseconds)) == text)
    }

    @Test func `causes are read back from their rows`() {
        let causes: [Cause] = [
            .exitStatus(2), .signal(9), .outOfMemory, .cannotStart(step: "exec", errno: 13),
            .ranLongerThan(.nanoseconds(1)), .deadlinePassed, .cancelledBy("a", reason: nil),
            .cancelledBy("a", reason: "b"), .groupCancelled(OperationID(1)), .groupTimedOut(OperationID(2)),
            .dependency(root: OperationID(3), .skipped), .neverStarted(root: OperationID(4)),
            .providedFor(OperationID(6), .timedOut),
            .conditionFalse(index: 1, detail: "d"), .children(first: OperationID(5), count: 6),
            .groupSkipped(OperationID(7)), .groupSkipped(OperationID(7), because: Cause.Root(OperationID(2), .failed)),
            .runnerLost, .machineRestarted, .abandoned(by: "c"), .abandoned(by: "c", reason: "d"),
            .finishedBy("d", message: nil), .reported(status: 8),
        ]
        for cause in causes { #expect(CauseRow(cause).cause == cause) }
    }
}

import OpsCore
import OpsExecutor
import OpsSystem
import OpsWire
import Testing

@testable import OpsDaemon

@Suite struct TranslationTests {
    private let text = ReasonText(
        label: { "\($0.rawValue) (n\($0.rawValue))" }, instantText: { "at \($0)" },
        condition: { $0 == 1 ? "pathExists /x" : nil })

    /// The scheduler must accept everything that the wire format accepts, because only refusals of the wire format name
    /// the line of the file.
    @Test func `limits of the wire are those of the scheduler`() {
        #expect(Limits.operationsPerSubmission == Limits.operationsPerSubmission)
        #expect(Limits.edgesPerSubmission == Limits.edgesPerSubmission)
        #expect(Limits.groupDepth == Limits.groupDepth)
        #expect(Limits.categoriesPerOperation == Limits.categoriesPerOperation)
        #expect(Limits.conditionsPerOperation == Limits.conditionsPerOperation)
        #expect(Limits.duration == Limits.duration)
    }

    @Test func `a path that is longer than any duration is shown as the longest one`() {
        var reason = Reason(kind: .pool, detail: .pool(workers: 2, position: 3))
        reason.path = EstimatedPath(milliseconds: .max)
        #expect(text.text(reason).hasSuffix("by its longest path, about 36525d"))
    }

    @Test func `reasons are explained in sentences`() {
        let ids = [OperationID(3), OperationID(4)]
        let use = CategoryUse(name: "db", mode: .exclusive)
        let ranked = { (reason: Reason) in
            var reason = reason
            reason.path = EstimatedPath(milliseconds: 90_000)
            return reason
        }
        let expected: [(Reason, String)] = [
            (
                Reason(kind: .dependency, ids: ids, detail: .dependency(.succeeded)),
                "3 (n3), 4 (n4) must succeed first"
            ),
            (
                Reason(
                    kind: .category, ids: [OperationID(3)],
                    detail: .category(name: "db", wanted: use, capacity: 1, position: 2)),
                "category db is held by 3 (n3); 2nd in line"
            ),
            (
                Reason(kind: .category, detail: .category(name: "db", wanted: use, capacity: 0, position: 1)),
                "category db is closed (capacity 0)"
            ),
            (Reason(kind: .pool, detail: .pool(workers: 2, position: 11)), "all 2 workers are busy; 11th in line"),
            (Reason(kind: .queue, detail: .queue(name: "q", limit: 0, position: 1)), "queue q has a limit of 0"),
            (
                ranked(Reason(kind: .pool, detail: .pool(workers: 2, position: 3))),
                "all 2 workers are busy; 3rd in line by its longest path, about 1m30s"
            ),
            (ranked(Reason(kind: .pool, detail: .pool(workers: 0, position: 3))), "the daemon has no workers"),
            (
                Reason(kind: .backoff, detail: .instant(.zero + .nanoseconds(5))),
                "waits until at 5 before it is retried"
            ),
            (Reason(kind: .notBefore, detail: .instant(.zero + .nanoseconds(5))), "not before at 5"),
            (
                Reason(kind: .condition, ids: ids, detail: .conditionsInLine),
                "its conditions wait to be evaluated (at most 8 evaluations run at once)"
            ),
            (Reason(kind: .suspended, detail: .suspended(.graph(GraphID(7)))), "graph g7 is suspended"),
        ]
        for (reason, sentence) in expected { #expect(text.text(reason) == sentence) }
    }

    @Test func `the state that an executor reports is part of the reason`() {
        let refused = EngineState("sbatch: You must give --account")
        let waiting = EngineState("PENDING (Priority)", expectedStart: .zero + .nanoseconds(5))
        let lost = EngineState("NODE_FAIL on n1")
        let none = EngineState("")
        let expected: [(Reason.Detail, String)] = [
            (.job(executor: "c", id: nil), "executor c has not submitted it yet"),
            (.job(executor: "c", id: nil, state: none), "executor c has not submitted it yet"),
            (
                .job(executor: "c", id: nil, state: refused),
                "executor c has not submitted it yet: sbatch: You must give --account"
            ),
            (
                .job(executor: "c", id: "17", state: waiting),
                "job 17 of executor c has not started: PENDING (Priority); expected at at 5"
            ),
            (.startedJob(executor: "c", id: "17"), "job 17 of executor c has started"),
            (.startedJob(executor: "c", id: "17", state: lost), "job 17 of executor c has started: NODE_FAIL on n1"),
            (.startedJob(executor: "t", id: nil, state: none), "its process is running"),
        ]
        for (detail, sentence) in expected {
            #expect(text.text(Reason(kind: .executor, detail: detail)) == sentence)
        }
    }

    @Test func `only the first of many names are listed and the rest is counted`() {
        let ids = (1...Int64(Limits.named) + 5).map { OperationID($0) }
        let reason = Reason(kind: .barrier, ids: ids, detail: .barrier)
        #expect(text.text(reason) == "comes after 1 (n1), 2 (n2), 3 (n3) and 1002 more, by a barrier of its queue")
    }

    @Test func `stored details are read back`() throws {
        let captured: Details.Captured = .with {
            $0.directory = "/home/ann"
            $0.umask = 0o027
        }
        let own = #"{"directory":"sub","stdin":"in.txt","observers":{"finish":["notify","x"]}}"#
        let stored = Details.text(
            own: Array(own.utf8), labels: Array(#"{"team":"a"}"#.utf8), captured: captured)
        let details = try Details(stored)
        #expect(details.labels["team"] == "a")
        #expect(details.directory == "/home/ann/sub")
        #expect(details.stdin == "/home/ann/sub/in.txt")
        #expect(details.umask == 0o027)
        #expect(details.observers(.finish(run: 1), .succeeded).first == ["notify", "x"])
        #expect(details.observers(.start, .succeeded).first == nil)
    }

    @Test func `empty details are read back`() throws {
        let stored = Details.text(own: Array("{}".utf8), labels: Array("{}".utf8), captured: Details.Captured())
        let details = try Details(stored)
        #expect(details.own == OperationDetails())
        #expect(details.labels.entries.isEmpty)
        #expect(details.directory == "/")
    }

    @Test func `the stored user is read back and never cut to another`() throws {
        let user = Details.RunUser(name: "ann", uid: .max - 1, gid: 7)
        let own = Array(#"{"user":"ann"}"#.utf8)
        let stored = Details.text(own: own, labels: Array("{}".utf8), runUser: user, captured: Details.Captured())
        #expect(try Details(stored).runUser == user)
        #expect(try Details(stored).own.user == "ann")
        for uid in ["4294967296", "-1"] {
            let other = stored.replacing("4294967294", with: uid)
            #expect(other != stored)
            #expect(throws: (any Error).self) { try Details(other) }
        }
    }

    @Test func `operation names become names of environment variables`() {
        #expect(LaunchComposer.variableName("build.x-86/ö") == "BUILD_X_86___")
        #expect(LaunchComposer.variableName("12") == "12")
    }

    @Test func `a captured environment loses the variables that opsd sets`() throws {
        var capture = Capture()
        capture.environment = ["A": "1", "OPS_ID": "7", "NOTIFY_SOCKET": "/x", "B": "2"]
        let environment = Captured(capture, account: nil).environment(under: ["B": "3", "C": "4"])
        #expect(environment == #"{"A":"1","B":"3","C":"4"}"#)
    }

    @Test func `limits that cannot be enforced are named`() {
        var limits = OperationDetails.ResourceLimits()
        limits.memory = 1 << 20
        limits.openFiles = 10
        #expect(EnforceableLimits(ExecutorCapabilities()).problems(with: limits).map(\.key) == ["memory"])
        limits.nice = -5
        let narrow = ProcessRights(lowestNice: 0, mostOpenFiles: 9)
        let told = EnforceableLimits(ExecutorCapabilities(), rights: narrow).problems(with: limits).map(\.key)
        #expect(told == ["nice", "openFiles", "memory"])
        let wide = ProcessRights(lowestNice: -5, mostOpenFiles: 10)
        #expect(EnforceableLimits(ExecutorCapabilities(), rights: wide).problems(with: limits).map(\.key) == ["memory"])
        #expect(EnforceableLimits(nil).problems(with: limits).map(\.key) == ["memory"])
        #expect(
            EnforceableLimits(ExecutorCapabilities(hasControlGroups: true, controllers: ["memory"])).problems(
                with: limits
            )
            .isEmpty)
    }
}

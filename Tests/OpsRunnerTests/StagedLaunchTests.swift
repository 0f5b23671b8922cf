import Glibc
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

/// Staged launches that the runner starts by itself.
@Suite struct StagedLaunchTests {
    /// A runner with one attempt in slot 3 that ends with `code` when `go` exists, and a launch to stage that writes
    /// its slot.
    private struct Scene {
        let runner: RunnerProcess
        let first: LaunchRequest
        let next: LaunchRequest

        init(code: Int, usesControlGroups: Bool = true) throws {
            runner = try RunnerProcess(usesControlGroups: usesControlGroups)
            var first = runner.request(1, "while ! [ -e $DIR/go ]; do sleep 0.01; done; exit \(code)")
            first.slot = 3
            self.first = first
            next = runner.request(2, "echo $OPS_SLOT > $DIR/slot")
        }

        func go() { #expect(creat(runner.path("go"), 0o600) >= 0) }

        func isKnown(_ request: LaunchRequest) throws -> Bool {
            try runner.settle()
            return runner.greeting?.entries.contains { $0.attempt == request.attempt } == true
        }
    }

    @Test(arguments: treeKinds)
    func `a staged launch starts in the slot of an attempt that succeeded`(usesControlGroups: Bool) throws {
        let scene = try Scene(code: 0, usesControlGroups: usesControlGroups)
        let tokens = try scene.runner.shareTokens()
        try tokens.add()
        try scene.runner.send([.launch(scene.first), .stage(scene.next, after: [])])
        _ = try scene.runner.awaitLaunched(scene.first.attempt)
        scene.go()
        _ = try scene.runner.awaitExit(scene.next.attempt)
        #expect(try scene.runner.text("slot") == "3\n")
        #expect(try !tokens.acquire())
        let steps = scene.runner.reports.map { report in
            switch report {
            case .exited(scene.first.attempt, _, _): "end of the first"
            case .stagedStarted(scene.next.attempt, let start) where start.slot == 3: "start of the next"
            default: ""
            }
        }
        #expect(steps.filter { !$0.isEmpty } == ["end of the first", "start of the next"])
    }

    @Test func `a staged launch does not start without its token`() throws {
        let scene = try Scene(code: 0)
        let tokens = try scene.runner.shareTokens()
        try tokens.add()
        try scene.runner.send([.launch(scene.first), .stage(scene.next, after: [])])
        _ = try scene.runner.awaitLaunched(scene.first.attempt)
        #expect(try tokens.acquire())
        scene.go()
        _ = try scene.runner.awaitExit(scene.first.attempt)
        #expect(try !scene.isKnown(scene.next))
        try scene.runner.send([.revokeStaged])
        try scene.runner.await { $0 == .stagingRevoked ? () : nil }
    }

    @Test func `after a failure no staged launch starts until opsd acknowledges the end`() throws {
        let scene = try Scene(code: 1)
        let tokens = try scene.runner.shareTokens()
        try tokens.add()
        var third = scene.runner.request(3, "true")
        third.slot = 5
        try scene.runner.send([.launch(scene.first), .stage(scene.next, after: [])])
        _ = try scene.runner.awaitLaunched(scene.first.attempt)
        scene.go()
        _ = try scene.runner.awaitExit(scene.first.attempt)
        try scene.runner.send([.launch(third)])
        _ = try scene.runner.awaitExit(third.attempt)
        #expect(try tokens.acquire(), "nobody has taken it")
        try tokens.add()
        third.attempt = AttemptID(third.attempt.operation, 2)
        try scene.runner.send([.acknowledge(scene.first.attempt), .launch(third)])
        _ = try scene.runner.awaitExit(scene.next.attempt)
        #expect(try scene.runner.text("slot") == "5\n")
    }

    @Test func `the slot of an attempt with leftover processes is not passed on`() throws {
        let scene = try Scene(code: 0)
        let tokens = try scene.runner.shareTokens()
        try tokens.add()
        var leaver = scene.runner.request(4, "sleep 1000 & exit 0")
        leaver.slot = 0
        leaver.leftovers = .wait
        try scene.runner.send([.stage(scene.next, after: []), .launch(leaver)])
        let (_, treeIsGone) = try scene.runner.awaitExit(leaver.attempt)
        #expect(!treeIsGone)
        #expect(try tokens.acquire())
        #expect(try !scene.isKnown(scene.next))
    }

    @Test func `a runner that is shutting down starts no staged launch`() throws {
        let scene = try Scene(code: 0)
        let runner = scene.runner
        let tokens = try runner.shareTokens()
        try tokens.add()
        var slow = runner.request(
            1, "trap '' TERM; echo ready > $DIR/ready; while ! [ -e $DIR/go ]; do sleep 0.01; done")
        slow.slot = 3
        try runner.send([.launch(slow), .stage(scene.next, after: [])])
        _ = try runner.awaitFile("ready")
        #expect(kill(runner.pid, SIGTERM) == 0)
        try runner.awaitEnding()
        scene.go()
        #expect(try runner.awaitExit(slow.attempt).treeIsGone)
        #expect(try tokens.acquire(), "nobody has taken it")
        #expect(try !scene.isKnown(scene.next))
    }

    @Test func `no staged launch starts after the connection to opsd is closed`() throws {
        let scene = try Scene(code: 0)
        let tokens = try scene.runner.shareTokens()
        try tokens.add()
        try scene.runner.send([.launch(scene.first), .stage(scene.next, after: [])])
        _ = try scene.runner.awaitLaunched(scene.first.attempt)
        try scene.runner.connect()
        scene.go()
        let end = Clock.read().monotonic + RunnerProcess.patience
        while true {
            try #require(Clock.read().monotonic < end, "the exit was lost")
            try scene.runner.connect()
            let entry = scene.runner.greeting?.entries.first { $0.attempt == scene.first.attempt }
            if case .gone = entry?.state { break }
        }
        #expect(try !scene.isKnown(scene.next))
        #expect(try tokens.acquire())
    }
}

import Glibc
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

/// Staged launches that wait for the success of other attempts.
@Suite struct StagedDependentTests {
    /// A runner, an attempt in slot 3 that ends like the script when `go` exists, and a launch to stage.
    private struct Scene {
        let runner: RunnerProcess
        let first: LaunchRequest
        let next: LaunchRequest

        init(_ script: String) throws {
            runner = try RunnerProcess()
            var first = runner.request(1, "while ! [ -e $DIR/go ]; do sleep 0.01; done; \(script)")
            first.slot = 3
            self.first = first
            next = runner.request(2, "echo $OPS_SLOT > $DIR/slot")
        }

        func shareTokens(_ count: Int = 1) throws -> Tokens {
            let tokens = try runner.shareTokens()
            for _ in 0..<count { try tokens.add() }
            return tokens
        }

        func go() { #expect(creat(runner.path("go"), 0o600) >= 0) }

        func isKnown(_ request: LaunchRequest) throws -> Bool {
            try runner.settle()
            return runner.greeting?.entries.contains { $0.attempt == request.attempt } == true
        }
    }

    @Test func `the greeting says that staged launches may depend on others`() throws {
        let runner = try RunnerProcess()
        #expect(runner.greeting?.stagesDependents == true)
    }

    @Test func `a staged dependent starts in the slot of the attempt it waits for`() throws {
        let scene = try Scene("exit 0")
        let tokens = try scene.shareTokens()
        try scene.runner.send([.launch(scene.first), .stage(scene.next, after: [scene.first.attempt])])
        _ = try scene.runner.awaitLaunched(scene.first.attempt)
        scene.go()
        _ = try scene.runner.awaitExit(scene.next.attempt)
        #expect(try scene.runner.text("slot") == "3\n")
        #expect(try !tokens.acquire())
    }

    @Test func `a staged dependent does not start when another attempt succeeds`() throws {
        let scene = try Scene("exit 0")
        _ = try scene.shareTokens(2)
        var other = scene.runner.request(3, "exit 0")
        other.slot = 5
        let later = scene.runner.request(4, "echo $OPS_SLOT > $DIR/slot")
        try scene.runner.send([
            .launch(scene.first), .stage(scene.next, after: [scene.first.attempt]), .stage(later, after: []),
            .launch(other),
        ])
        // A later staged launch that waits for no attempt starts.
        _ = try scene.runner.awaitExit(later.attempt)
        #expect(try scene.runner.text("slot") == "5\n")
        scene.go()
        _ = try scene.runner.awaitExit(scene.next.attempt)
    }

    @Test(arguments: ["exit 1", "kill -9 $$"])
    func `a staged dependent does not start after a failure`(script: String) throws {
        let scene = try Scene(script)
        let tokens = try scene.shareTokens()
        try scene.runner.send([.launch(scene.first), .stage(scene.next, after: [scene.first.attempt])])
        _ = try scene.runner.awaitLaunched(scene.first.attempt)
        scene.go()
        _ = try scene.runner.awaitExit(scene.first.attempt)
        // It does not start either after opsd has acknowledged that and another attempt succeeds.
        var other = scene.runner.request(3, "exit 0")
        other.slot = 5
        try scene.runner.send([.acknowledge(scene.first.attempt), .launch(other)])
        _ = try scene.runner.awaitExit(other.attempt)
        #expect(try !scene.isKnown(scene.next))
        #expect(try tokens.acquire(), "nobody has taken it")
    }

    /// The result of an attempt goes through opsd to those that wait for it.
    @Test func `no later staged launch passes one whose dependency has ended with a result`() throws {
        let scene = try Scene("systemd-notify X_OPS_RESULT=7; exit 0")
        let tokens = try scene.shareTokens(2)
        var other = scene.runner.request(3, "exit 0")
        other.slot = 5
        let later = scene.runner.request(4, "exit 0")
        try scene.runner.send([
            .launch(scene.first), .stage(scene.next, after: [scene.first.attempt]), .stage(later, after: []),
        ])
        _ = try scene.runner.awaitLaunched(scene.first.attempt)
        scene.go()
        _ = try scene.runner.awaitExit(scene.first.attempt)
        try scene.runner.send([.acknowledge(scene.first.attempt), .launch(other)])
        _ = try scene.runner.awaitExit(other.attempt)
        #expect(try !scene.isKnown(later))
        #expect(try tokens.acquire() && tokens.acquire(), "nobody has taken them")
    }

    @Test func `a staged dependent starts if its dependency succeeded before it was staged`() throws {
        let scene = try Scene("exit 0")
        _ = try scene.shareTokens()
        try scene.runner.send([.launch(scene.first)])
        scene.go()
        _ = try scene.runner.awaitExit(scene.first.attempt)
        try scene.runner.send([.stage(scene.next, after: [scene.first.attempt])])
        _ = try scene.runner.awaitExit(scene.next.attempt)
        #expect(try scene.runner.text("slot") == "3\n")
    }

    @Test func `a slot whose end opsd has acknowledged is not passed on`() throws {
        let scene = try Scene("exit 0")
        let tokens = try scene.shareTokens()
        try scene.runner.send([.launch(scene.first)])
        scene.go()
        _ = try scene.runner.awaitExit(scene.first.attempt)
        try scene.runner.send([.acknowledge(scene.first.attempt), .stage(scene.next, after: [])])
        #expect(try !scene.isKnown(scene.next))
        #expect(try tokens.acquire())
    }

    @Test func `a dependency that failed before the launch was staged blocks all staged launches`() throws {
        let scene = try Scene("exit 1")
        _ = try scene.shareTokens(2)
        try scene.runner.send([.launch(scene.first)])
        scene.go()
        _ = try scene.runner.awaitExit(scene.first.attempt)
        var other = scene.runner.request(3, "exit 0")
        other.slot = 5
        let later = scene.runner.request(4, "true")
        try scene.runner.send([
            .stage(scene.next, after: [scene.first.attempt]), .stage(later, after: []), .launch(other),
        ])
        _ = try scene.runner.awaitExit(other.attempt)
        #expect(try !scene.isKnown(later), "it would overtake")
    }

    /// opsd sets OPS_RESULT, and has not received the result yet.
    @Test(.enabled(if: NotifyTests.hasSender, "SKIPPED: systemd-notify is not installed"))
    func `the slot of an attempt with a result is not passed to its dependent`() throws {
        let scene = try Scene("systemd-notify X_OPS_RESULT=7; exit 0")
        let tokens = try scene.shareTokens()
        try scene.runner.send([.launch(scene.first), .stage(scene.next, after: [scene.first.attempt])])
        _ = try scene.runner.awaitLaunched(scene.first.attempt)
        scene.go()
        _ = try scene.runner.awaitExit(scene.first.attempt)
        #expect(
            scene.runner.reports.contains { report in
                if case .updated(scene.first.attempt, let update) = report { update.result == "7" } else { false }
            })
        #expect(try !scene.isKnown(scene.next))
        #expect(try tokens.acquire())
    }
}

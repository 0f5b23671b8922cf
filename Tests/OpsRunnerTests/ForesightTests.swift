import Glibc
import OpsRunner
import OpsSystem
import Testing

/// What waits in hand for the success of others, and begins the moment that has come.
@Suite struct ForesightTests {
    /// A runner, an attempt in slot 3 that ends as the script says once `go` is there, and one for its hand.
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

    @Test func itSaysThatItsHandWaits() throws {
        let runner = try RunnerProcess()
        #expect(runner.greeting?.handWaits == true)
    }

    @Test func whatWaitsBeginsInTheSlotOfItsPredecessor() throws {
        let scene = try Scene("exit 0")
        let tokens = try scene.shareTokens()
        try scene.runner.send([.launch(scene.first), .hand(scene.next, after: [scene.first.attempt])])
        _ = try scene.runner.awaitLaunched(scene.first.attempt)
        scene.go()
        _ = try scene.runner.awaitExit(scene.next.attempt)
        #expect(try scene.runner.text("slot") == "3\n")
        #expect(try !tokens.take())
    }

    @Test func theSuccessOfAnotherDoesNotBeginIt() throws {
        let scene = try Scene("exit 0")
        _ = try scene.shareTokens(2)
        var other = scene.runner.request(3, "exit 0")
        other.slot = 5
        let later = scene.runner.request(4, "echo $OPS_SLOT > $DIR/slot")
        try scene.runner.send([
            .launch(scene.first), .hand(scene.next, after: [scene.first.attempt]), .hand(later, after: []),
            .launch(other),
        ])
        // Whoever comes after it and waits for nobody goes on.
        _ = try scene.runner.awaitExit(later.attempt)
        #expect(try scene.runner.text("slot") == "5\n")
        scene.go()
        _ = try scene.runner.awaitExit(scene.next.attempt)
    }

    @Test(arguments: ["exit 1", "kill -9 $$"])
    func afterAFailureItDoesNotBegin(script: String) throws {
        let scene = try Scene(script)
        let tokens = try scene.shareTokens()
        try scene.runner.send([.launch(scene.first), .hand(scene.next, after: [scene.first.attempt])])
        _ = try scene.runner.awaitLaunched(scene.first.attempt)
        scene.go()
        _ = try scene.runner.awaitExit(scene.first.attempt)
        // Neither when opsd has heard of that and something else succeeds.
        var other = scene.runner.request(3, "exit 0")
        other.slot = 5
        try scene.runner.send([.acknowledge(scene.first.attempt), .launch(other)])
        _ = try scene.runner.awaitExit(other.attempt)
        #expect(try !scene.isKnown(scene.next))
        #expect(try tokens.take(), "nobody has taken it")
    }

    @Test func whatItWaitsForMayHaveSucceededBeforeItCame() throws {
        let scene = try Scene("exit 0")
        _ = try scene.shareTokens()
        try scene.runner.send([.launch(scene.first)])
        scene.go()
        _ = try scene.runner.awaitExit(scene.first.attempt)
        try scene.runner.send([.hand(scene.next, after: [scene.first.attempt])])
        _ = try scene.runner.awaitExit(scene.next.attempt)
        #expect(try scene.runner.text("slot") == "3\n")
    }

    @Test func aSlotThatOpsdKnowsToBeFreeIsNotPassedOn() throws {
        let scene = try Scene("exit 0")
        let tokens = try scene.shareTokens()
        try scene.runner.send([.launch(scene.first)])
        scene.go()
        _ = try scene.runner.awaitExit(scene.first.attempt)
        try scene.runner.send([.acknowledge(scene.first.attempt), .hand(scene.next, after: [])])
        #expect(try !scene.isKnown(scene.next))
        #expect(try tokens.take())
    }

    @Test func whatFailedBeforeItCameHoldsItBack() throws {
        let scene = try Scene("exit 1")
        _ = try scene.shareTokens(2)
        try scene.runner.send([.launch(scene.first)])
        scene.go()
        _ = try scene.runner.awaitExit(scene.first.attempt)
        var other = scene.runner.request(3, "exit 0")
        other.slot = 5
        let later = scene.runner.request(4, "true")
        try scene.runner.send([
            .hand(scene.next, after: [scene.first.attempt]), .hand(later, after: []), .launch(other),
        ])
        _ = try scene.runner.awaitExit(other.attempt)
        #expect(try !scene.isKnown(later), "it would overtake")
    }

    /// OPS_RESULT is opsd's to say, and it has not heard of it.
    @Test(.enabled(if: NotifyTests.hasSender, "SKIPPED: systemd-notify is not installed"))
    func whoeverPublishesAResultPassesNothingOn() throws {
        let scene = try Scene("systemd-notify X_OPS_RESULT=7; exit 0")
        let tokens = try scene.shareTokens()
        try scene.runner.send([.launch(scene.first), .hand(scene.next, after: [scene.first.attempt])])
        _ = try scene.runner.awaitLaunched(scene.first.attempt)
        scene.go()
        _ = try scene.runner.awaitExit(scene.first.attempt)
        #expect(
            scene.runner.reports.contains { report in
                if case .told(scene.first.attempt, let told) = report { told.result == "7" } else { false }
            })
        #expect(try !scene.isKnown(scene.next))
        #expect(try tokens.take())
    }
}

import LaunchRecording
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

/// A conversation with a real opsd-runner, as opsd of the current version and of the previous one.
@Suite struct LaunchConversationTests {
    /// Conversation in one version: the commands sent and the reports received.
    private final class Conversation {
        let runner: RunnerProcess
        var commands: [[UInt8]] = []
        var reports: [ExecutorReport] = []
        /// Lines for a recording.
        var lines: [String] = []

        init(version: UInt16) throws {
            runner = try RunnerProcess(usesControlGroups: false, version: version)
            runner.received = []
        }

        func section(_ title: String) throws {
            try drain()
            lines.append("# \(title)")
        }

        func note(_ command: ExecutorCommand) throws {
            try drain()
            var bytes: [UInt8] = []
            command.append(to: &bytes, for: runner.version)
            commands.append(bytes)
            lines.append(LaunchRecording.line(.command, bytes))
        }

        func send(_ commands: [ExecutorCommand]) throws {
            for command in commands { try note(command) }
            try runner.send(commands)
        }

        /// Receives the reports that have arrived.
        func drain() throws {
            var reader = FrameReader<ExecutorReport>()
            reader.append(runner.received)
            while let report = try reader.next() { reports.append(report) }
            lines += LaunchRecording.frames(runner.received).map { LaunchRecording.line(.report, $0) }
            runner.received = []
        }
    }

    private func request(_ operation: Int64, slot: Int32, _ script: String) -> LaunchRequest {
        LaunchRequest(
            attempt: AttemptID(OperationID(operation), 1), slot: slot, arguments: ["/bin/sh", "-c", script],
            environment: [
                "PATH=/usr/bin:/bin", "OPS_ID=\(operation)", "OPS_ATTEMPT=1", "OPS_SOCKET=/run/opsd/control.sock",
            ])
    }

    private func converse(version: UInt16) throws -> Conversation {
        let conversation = try Conversation(version: version)
        let runner = conversation.runner
        try conversation.section("opsd connects, with two tokens")
        try conversation.note(.hello(version: version))
        let tokens = try runner.shareTokens()
        try tokens.add()
        try tokens.add()
        try launchAndFail(conversation)
        let long = try leaveRunning(conversation)
        try stage(conversation, dependingOn: long)
        try sendUpdate(conversation)
        try conversation.section("opsd connects again")
        runner.disconnect()
        runner.received = []
        try conversation.note(.hello(version: version))
        try runner.connect()
        try conversation.section("the end")
        try conversation.send([.terminate(long.attempt, grace: .seconds(5))])
        _ = try runner.awaitExit(long.attempt)
        let known = [3, 4, 5, 6, 9].map { ExecutorCommand.acknowledge(AttemptID(OperationID($0), 1)) }
        try conversation.send(known + [.stop(grace: .zero)])
        try conversation.drain()
        return conversation
    }

    private func launchAndFail(_ conversation: Conversation) throws {
        let runner = conversation.runner
        try conversation.section("a launch with all that can be set in it, its end, and the acknowledgement")
        var first = request(1, slot: 0, "exit 3")
        first.umask = 0o077
        first.priority = ProcessPriority(nice: 5, ioClass: .idle, ioLevel: 7, cpuWeight: 50)
        first.resourceLimits = [ResourceLimit(.openFiles, soft: 100, hard: 100)]
        first.leftovers = .wait
        first.grace = .seconds(1)
        first.logCap = 1 << 20
        try conversation.send([.launch(first)])
        _ = try runner.awaitExit(first.attempt)
        try conversation.send([.acknowledge(first.attempt)])
        try conversation.section("a launch that fails")
        var missing = request(2, slot: 0, "")
        missing.arguments = ["/no/such/program"]
        try conversation.send([.launch(missing)])
        _ = try runner.await { if case .failed(missing.attempt, _, _) = $0 { () } else { nil } }
    }

    private func leaveRunning(_ conversation: Conversation) throws -> LaunchRequest {
        try conversation.section("an operation that executes until it is terminated; frozen and thawed")
        let long = request(3, slot: 1, "trap 'exit 7' TERM; while :; do sleep 0.05; done")
        try conversation.send([.launch(long)])
        _ = try conversation.runner.awaitLaunched(long.attempt)
        try conversation.send([
            .freeze(long.attempt), .thaw(long.attempt), .acknowledge(AttemptID(OperationID(2), 1)),
        ])
        return long
    }

    private func stage(_ conversation: Conversation, dependingOn long: LaunchRequest) throws {
        let runner = conversation.runner
        try conversation.section("two staged launches: one depends on the operation before it, one only needs a slot")
        let before = request(4, slot: 2, "sleep 0.2")
        let dependent = request(5, slot: -1, "exit 0")
        let next = request(6, slot: -1, "sleep 0.2; exit 0")
        try conversation.send([
            .launch(before), .stage(dependent, after: [before.attempt]), .stage(next, after: []),
        ])
        for request in [before, dependent, next] { _ = try runner.awaitExit(request.attempt) }
        try conversation.section("a staged launch that is revoked")
        try conversation.send([.stage(request(7, slot: -1, "exit 0"), after: [long.attempt]), .revokeStaged])
        try runner.await { $0 == .stagingRevoked ? () : nil }
        try conversation.section("a ping, and the tree of an attempt of an earlier runner")
        try conversation.send([.ping])
        try runner.await { $0 == .pong ? () : nil }
        let stale = AttemptID(OperationID(8), 2)
        try conversation.send([.killStaleTree(stale, socket: "/run/opsd/control.sock", uid: 1000)])
        try runner.awaitGone(stale)
    }

    private func sendUpdate(_ conversation: Conversation) throws {
        try conversation.section("an update through the notify socket")
        var sender = request(
            9, slot: 3,
            "systemd-notify --status='half way' X_OPS_PROGRESS=1/2 X_OPS_RESULT=r X_OPS_FINISHED=0 "
                + "EXTEND_TIMEOUT_USEC=5; sleep 0.2 & exit 0")
        sender.leftovers = .wait
        try conversation.send([.launch(sender)])
        try conversation.runner.awaitGone(sender.attempt)
    }

    /// Describes a report without values that differ between conversations.
    private func outline(_ report: ExecutorReport) -> String {
        switch report {
        case .hello(let greeting):
            let entries = greeting.entries.map { entry in
                switch entry.state {
                case .running: "\(entry.attempt) running"
                case .exited(let exit): "\(entry.attempt) exited \(exit.status)"
                case .gone(let exit): "\(entry.attempt) gone \(exit.status)"
                case .failed(let step, let errno): "\(entry.attempt) failed \(step) \(errno)"
                case .accepted, .refused, .ended: "\(entry.attempt) \(entry.state)"
                }
            }
            let slots = greeting.slotStarts.map { "\($0.attempt) in slot \($0.start.slot)" }
            return "hello \(entries) \(slots) \(greeting.isEnding) \(greeting.stagesDependents)"
        case .launched(let attempt, _): return "\(attempt) launched"
        case .exited(let attempt, let exit, let isGone):
            return "\(attempt) exited \(exit.status) \(exit.outOfMemory) \(isGone)"
        case .stagedStarted(let attempt, let start): return "\(attempt) started in slot \(start.slot)"
        case .failed, .gone, .updated, .stagingRevoked, .pong, .accepted, .refused, .ended: return "\(report)"
        }
    }

    private func recordedReports() throws -> [ExecutorReport] {
        var reader = FrameReader<ExecutorReport>()
        reader.append(LaunchRecording.version3.bytes(.report))
        var reports: [ExecutorReport] = []
        while let report = try reader.next() { reports.append(report) }
        return reports
    }

    @Test(.enabled(if: NotifyTests.hasSender, "SKIPPED: systemd-notify is not installed"))
    func `opsd of version 3 and this runner have the recorded conversation`() throws {
        let conversation = try converse(version: 3)
        #expect(conversation.commands == LaunchRecording.version3.frames.filter { $0.kind == .command }.map(\.bytes))
        #expect(try conversation.reports.map(outline) == recordedReports().map(outline))
        let kinds = conversation.lines.filter { $0.hasPrefix("< ") }.map { $0.dropFirst(10).prefix(2) }
        #expect(kinds.allSatisfy { $0.hasPrefix("0") }, "no frame has the mark of record lengths: \(kinds)")
    }

    @Test(.enabled(if: NotifyTests.hasSender, "SKIPPED: systemd-notify is not installed"))
    func `opsd of this version has the same conversation`() throws {
        let conversation = try converse(version: LaunchProtocol.version)
        #expect(try conversation.reports.map(outline) == recordedReports().map(outline))
        guard let path = Environment["OPSD_RECORD"] else { return }
        var lines = conversation.lines + ["# every kind of message, as LaunchProtocolTests has them"]
        for command in LaunchProtocolTests.commands {
            var bytes: [UInt8] = []
            command.append(to: &bytes, for: LaunchProtocol.version)
            lines.append(LaunchRecording.line(.sampleCommand, bytes))
        }
        for report in LaunchProtocolTests.reports {
            var bytes: [UInt8] = []
            report.append(to: &bytes, for: LaunchProtocol.version)
            lines.append(LaunchRecording.line(.sampleReport, bytes))
        }
        try Files.replace(path, with: Array((lines.joined(separator: "\n") + "\n").utf8), mode: 0o644)
    }
}

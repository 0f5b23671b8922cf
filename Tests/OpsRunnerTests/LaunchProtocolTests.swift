import LaunchRecording
import OpsExecutor
import OpsRunner
import OpsSystem
import Testing

@Suite struct LaunchProtocolTests {
    static let attempt = AttemptID(OperationID(1 << 40), 3)
    static let at = Moment(monotonic: .zero + .nanoseconds(-1), wall: .distantFuture)

    static let commands: [ExecutorCommand] = [
        .hello(version: 3),
        .launch(LaunchRequest(attempt: attempt, arguments: ["/bin/true"])),
        .launch(
            LaunchRequest(
                attempt: attempt, slot: 7, arguments: ["sh", "-c", "écho \u{0}"], environment: ["A=1", "B="],
                directory: "/tmp", umask: 0o077, stdin: "/in", output: .split(stdout: "/a", stderr: "/b"),
                user: .init(name: "nobody", uid: 65534, gid: 65533),
                priority: ProcessPriority(nice: -5, ioClass: .idle, ioLevel: 7, cpuWeight: 50),
                resourceLimits: [ResourceLimit(.openFiles, soft: 10, hard: .max)],
                controlLimits: ControlLimits(
                    memoryBytes: 1 << 30, tasks: 5, cpuWeight: 20, cpuMicrosecondsPerSecond: 500_000),
                leftovers: .leave, grace: .nanoseconds(1), logCap: 0)),
        .launch(LaunchRequest(attempt: attempt, arguments: [], output: .log("/log"))),
        .launch(LaunchRequest(attempt: attempt, arguments: [], output: .paths(stdout: "o", stderr: "e"))),
        .launch(LaunchRequest(attempt: attempt, arguments: [], output: .journal(identifier: "build"))),
        .terminate(attempt, grace: .nanoseconds(10)), .freeze(attempt), .thaw(attempt), .acknowledge(attempt),
        .killStaleTree(attempt, socket: "/run/opsd/control.sock", uid: 1000), .stop(grace: .nanoseconds(5)), .reexecute,
        .stage(LaunchRequest(attempt: attempt, arguments: ["/bin/true"]), after: []), .revokeStaged, .ping,
        .stage(LaunchRequest(attempt: attempt, arguments: ["/bin/true"]), after: [AttemptID(OperationID(2), 3)]),
    ]

    static let reports: [ExecutorReport] = [
        .hello(
            ExecutorGreeting(
                version: 1, instance: "i", boot: "b", pid: 9,
                entries: [
                    .init(attempt, .running(LaunchedProcess(pid: 1, startTicks: .max, at: at))),
                    .init(attempt, .exited(ProcessExit(status: .code(2), at: at))),
                    .init(attempt, .gone(ProcessExit(status: .signal(9), outOfMemory: true, at: at))),
                    .init(attempt, .failed(step: "exec", errno: 2)),
                ], capabilities: ExecutorCapabilities(hasControlGroups: true, controllers: ["cpu", "memory"]),
                release: "1.2",
                isEnding: true, slotStarts: [.init(attempt, SlotStart(slot: 3, at: at))], stagesDependents: true)),
        .launched(attempt, LaunchedProcess(pid: 1, startTicks: 2, at: at)),
        .failed(attempt, step: "directory", errno: 13),
        .exited(
            attempt,
            ProcessExit(
                status: .code(255),
                usage: ProcessUsage(userMicroseconds: 1, systemMicroseconds: 2, maxResidentBytes: 3), at: at),
            treeIsGone: true),
        .gone(attempt), .updated(attempt, OperationUpdate()),
        .updated(
            attempt,
            OperationUpdate(
                status: "s", progressDone: 1, progressTotal: 2, result: "r", finished: -1,
                extendTimeout: .nanoseconds(4))
        ),
        .stagedStarted(attempt, SlotStart(slot: 2, at: at)), .stagingRevoked, .pong,
    ]

    /// Messages that a runner never sends or receives, and an older opsd never either.
    static let executorCommands: [ExecutorCommand] = [
        .launch(
            LaunchRequest(
                attempt: attempt, arguments: ["/bin/true"], executorOptions: #"{"cpus":2}"#,
                timeLimit: .nanoseconds(1 << 40),
                niceness: 50, job: "4711")),
        .release(attempt),
    ]
    static let end = ExternalEnd(
        outcome: .timedOut, cause: "time limit of job 4711", exit: ProcessExit(status: .signal(15), at: at), at: at)
    static let executorReports: [ExecutorReport] = [
        .accepted(attempt, job: "4711"), .refused(attempt, cause: "no such partition"), .ended(attempt, end),
        .hello(
            ExecutorGreeting(
                version: 4, instance: "i", boot: "b", pid: 9,
                entries: [
                    .init(attempt, .accepted(job: "4711")), .init(attempt, .refused(cause: "never")),
                    .init(attempt, .ended(ExternalEnd(outcome: .interrupted, cause: "node failed", at: at))),
                ])),
    ]

    func bytes(_ messages: [some LaunchMessage], for version: UInt16 = LaunchProtocol.version) -> [UInt8] {
        var bytes: [UInt8] = []
        for message in messages { message.append(to: &bytes, for: version) }
        return bytes
    }

    func readAll<Message: LaunchMessage>(_ reader: inout FrameReader<Message>) throws -> [Message] {
        var messages: [Message] = []
        while let message = try reader.next() { messages.append(message) }
        return messages
    }

    @Test(arguments: [3, LaunchProtocol.version])
    func `every message is decoded as it was encoded`(version: UInt16) throws {
        var commands = FrameReader<ExecutorCommand>()
        commands.append(bytes(Self.commands, for: version))
        #expect(try readAll(&commands) == Self.commands)
        #expect(commands.buffered == 0)
        var reports = FrameReader<ExecutorReport>()
        reports.append(bytes(Self.reports, for: version))
        #expect(try readAll(&reports) == Self.reports)
        #expect(reports.buffered == 0)
    }

    @Test func `messages of executors are decoded as they were encoded`() throws {
        var commands = FrameReader<ExecutorCommand>()
        commands.append(bytes(Self.executorCommands))
        #expect(try readAll(&commands) == Self.executorCommands)
        var reports = FrameReader<ExecutorReport>()
        reports.append(bytes(Self.executorReports))
        #expect(try readAll(&reports) == Self.executorReports)
    }

    @Test func `a launch of an older opsd has no job and no limit of time`() throws {
        let request = LaunchRequest(attempt: Self.attempt, arguments: ["a"], logCap: 7)
        var frame = bytes([ExecutorCommand.launch(request)])
        // The appended fields: three texts, two numbers, a list and a flag. The lengths of frame and record fit in their
        // first byte.
        let appended = 4 + 8 + 4 + 4 + 4 + 4 + 1
        frame.removeLast(appended)
        for offset in [0, 5] { frame[offset] -= UInt8(appended) }
        var reader = FrameReader<ExecutorCommand>()
        reader.append(frame)
        #expect(try readAll(&reader) == [.launch(request)])
    }

    @Test func `version 3 gets a launch without fields that it cannot skip`() throws {
        let plain = LaunchRequest(attempt: Self.attempt, arguments: ["a"])
        var external = plain
        external.executorOptions = "{}"
        external.timeLimit = .nanoseconds(1)
        external.niceness = 1
        external.job = "4711"
        #expect(bytes([ExecutorCommand.launch(external)], for: 3) == bytes([ExecutorCommand.launch(plain)], for: 3))
    }

    @Test func `messages of version 3 are read as recorded`() throws {
        var commands = FrameReader<ExecutorCommand>()
        commands.append(LaunchRecording.version3.bytes(.sampleCommand))
        #expect(try readAll(&commands) == Self.commands)
        var reports = FrameReader<ExecutorReport>()
        reports.append(LaunchRecording.version3.bytes(.sampleReport))
        #expect(try readAll(&reports) == Self.reports)
    }

    @Test(arguments: [LaunchRecording.Kind.command, .sampleCommand])
    func `commands for version 3 are written as recorded`(kind: LaunchRecording.Kind) throws {
        let recorded = LaunchRecording.version3.bytes(kind)
        var reader = FrameReader<ExecutorCommand>()
        reader.append(recorded)
        #expect(try bytes(readAll(&reader), for: 3) == recorded)
    }

    @Test(arguments: [LaunchRecording.Kind.report, .sampleReport])
    func `reports for version 3 are written as recorded`(kind: LaunchRecording.Kind) throws {
        let recorded = LaunchRecording.version3.bytes(kind)
        var reader = FrameReader<ExecutorReport>()
        reader.append(recorded)
        #expect(try bytes(readAll(&reader), for: 3) == recorded)
    }

    /// Returns a frame in which the innermost of some nested records has additional fields.
    ///
    /// - Parameter offsets: Offsets of the length of the frame, and of each surrounding record, from outside to inside.
    private func extended(_ frame: [UInt8], _ offsets: [Int]) throws -> [UInt8] {
        let more: [UInt8] = [1, 2, 3, 4, 5]
        var frame = frame
        func length(at offset: Int) -> Int { (0..<4).reduce(0) { $0 | Int(frame[offset + $1]) << (8 * $1) } }
        let last = try #require(offsets.last)
        let end = last + 4 + length(at: last)
        try #require(end <= frame.count, "there is no record at \(last)")
        for offset in offsets {
            let sum = length(at: offset) + more.count
            for index in 0..<4 { frame[offset + index] = UInt8(truncatingIfNeeded: sum >> (8 * index)) }
        }
        frame.insert(contentsOf: more, at: end)
        return frame
    }

    @Test func `fields appended to a launch request are skipped`() throws {
        let request = LaunchRequest(
            attempt: Self.attempt, arguments: ["a"], user: .init(name: "n", uid: 1, gid: 2), grace: .nanoseconds(1),
            logCap: 2)
        let after = [AttemptID(OperationID(2), 3)]
        for command in [ExecutorCommand.launch(request), .stage(request, after: []), .stage(request, after: after)] {
            var reader = FrameReader<ExecutorCommand>()
            // Header of the frame, record of the request.
            reader.append(try extended(bytes([command]), [0, 5]))
            reader.append(bytes([ExecutorCommand.ping]))
            #expect(try readAll(&reader) == [command, .ping])
        }
    }

    @Test func `fields appended to records of reports are skipped`() throws {
        let process = LaunchedProcess(pid: 1, startTicks: 2, at: Self.at)
        let hello = ExecutorReport.hello(
            ExecutorGreeting(
                version: 5, instance: "i", boot: "b", pid: 9,
                entries: [.init(Self.attempt, .running(process)), .init(Self.attempt, .running(process))],
                slotStarts: [.init(Self.attempt, SlotStart(slot: 3, at: Self.at))], stagesDependents: true))
        // Header, magic, version, two texts of a byte, pid, count of entries.
        let entry = 5 + 4 + 2 + 5 + 5 + 4 + 4
        let reports: [(ExecutorReport, [Int])] = [
            (.launched(Self.attempt, process), [0, 17]),
            (.exited(Self.attempt, ProcessExit(status: .code(1), at: Self.at), treeIsGone: true), [0, 17]),
            (.updated(Self.attempt, OperationUpdate(status: "s")), [0, 17]),
            (hello, [0, entry]),
            // Length, attempt and kind of state come before the process.
            (hello, [0, entry, entry + 4 + 12 + 1]),
        ]
        for (report, offsets) in reports {
            var reader = FrameReader<ExecutorReport>()
            reader.append(try extended(bytes([report]), offsets))
            #expect(try readAll(&reader) == [report])
        }
    }

    @Test func `a command of an older opsd to kill a stale tree names no user`() throws {
        var command = bytes([ExecutorCommand.killStaleTree(Self.attempt, socket: "/s", uid: nil)])
        // Without the last field, and one byte shorter.
        command.removeLast()
        command[0] -= 1
        var reader = FrameReader<ExecutorCommand>()
        reader.append(command)
        #expect(try reader.next() == .killStaleTree(Self.attempt, socket: "/s", uid: nil))
    }

    @Test func `a stream split anywhere gives the same messages`() throws {
        let all = bytes(Self.commands)
        for cut in 0...all.count {
            var reader = FrameReader<ExecutorCommand>()
            reader.append(all[..<cut])
            var messages = try readAll(&reader)
            reader.append(all[cut...])
            messages += try readAll(&reader)
            #expect(messages == Self.commands)
        }
        var reader = FrameReader<ExecutorCommand>()
        var messages: [ExecutorCommand] = []
        for byte in all {
            reader.append([byte])
            messages += try readAll(&reader)
        }
        #expect(messages == Self.commands)
    }

    @Test func `a frame that is cut short is refused`() throws {
        for command in Self.commands where command != .reexecute {
            var frame = bytes([command])
            frame.removeLast()
            frame[0] &-= 1
            var reader = FrameReader<ExecutorCommand>()
            reader.append(frame)
            #expect(throws: ProtocolError.self) { try reader.next() }
        }
    }

    @Test func `fields appended to a message are skipped`() throws {
        var frame = bytes([ExecutorCommand.freeze(Self.attempt)])
        frame.append(99)
        frame[0] += 1
        var reader = FrameReader<ExecutorCommand>()
        reader.append(frame)
        #expect(try reader.next() == .freeze(Self.attempt))
    }

    @Test func `invalid frames are refused with their error`() {
        let cases: [([UInt8], ProtocolError)] = [
            ([0, 0, 0, 0], .truncated),
            ([1, 0, 0, 0, 100], .unknownMessage(100)),
            ([1, 0, 0, 0, 0x80 | 100], .unknownMessage(100)),
            ([1, 0, 0, 0x40, 1], .tooLarge(0x4000_0001)),
            ([7, 0, 0, 0, 1, 1, 2, 3, 4, 1, 0], .wrongMagic),
        ]
        for (bytes, error) in cases {
            var reader = FrameReader<ExecutorCommand>()
            reader.append(bytes)
            #expect(throws: error) { try reader.next() }
        }
    }

    @Test func `a text that is longer than the rest of its frame is refused`() {
        var unpacker = Unpacker([1, 0, 0, 0, 6, 0, 0, 0, 97, 98, 99], recordsHaveLengths: true)
        #expect(throws: ProtocolError.truncated) { try unpacker.strings() }
    }

    @Test func `a message that is too long for a frame is not appended`() {
        var output = bytes([ExecutorCommand.ping])
        let start = output
        let long = LaunchRequest(attempt: Self.attempt, arguments: [String(repeating: "x", count: 64 << 20)])
        let short = LaunchRequest(attempt: Self.attempt, arguments: ["/bin/true"])
        let version = LaunchProtocol.version
        #expect(!ExecutorCommand.launch(long).appendIfItFits(to: &output, for: version) && output == start)
        #expect(ExecutorCommand.launch(short).appendIfItFits(to: &output, for: version))
        #expect(output == start + bytes([ExecutorCommand.launch(short)]))
    }

    @Test func `a count beyond the frame reserves no memory`() {
        // A launch with an argument count of four billion.
        var reader = FrameReader<ExecutorCommand>()
        reader.append([21, 0, 0, 0, 2] + [UInt8](repeating: 1, count: 16) + [255, 255, 255, 255])
        #expect(throws: ProtocolError.truncated) { try reader.next() }
        // An environment with as many variables.
        var unpacker = Unpacker([255, 255, 255, 255], recordsHaveLengths: true)
        #expect(throws: ProtocolError.truncated) { try unpacker.strings() }
    }

    @Test func `only the report of a launch can wait`() {
        for report in Self.reports + Self.executorReports {
            let isLaunch = if case .launched = report { true } else { false }
            #expect(report.canWait == isLaunch, "\(report)")
        }
    }

    @Test func `damaged bytes are refused without a crash`() throws {
        var seed: UInt64 = 0x9E37_79B9_7F4A_7C15
        func random() -> UInt64 {
            seed ^= seed << 13
            seed ^= seed >> 7
            seed ^= seed << 17
            return seed
        }
        let good = bytes(Self.reports)
        var refused = 0
        for _ in 0..<5_000 {
            var damaged = good
            for _ in 0..<3 { damaged[Int(random() % UInt64(good.count))] = UInt8(truncatingIfNeeded: random()) }
            var reader = FrameReader<ExecutorReport>()
            reader.append(damaged)
            do { _ = try readAll(&reader) } catch is ProtocolError { refused += 1 }
        }
        #expect(refused > 0)
    }

    @Test func `one version older or newer is understood`() {
        #expect(!LaunchProtocol.understands(.max))
        #expect(LaunchProtocol.understands(LaunchProtocol.version))
        #expect(LaunchProtocol.understands(LaunchProtocol.version + 1))
        #expect(LaunchProtocol.understands(LaunchProtocol.version - 1))
        #expect(!LaunchProtocol.understands(LaunchProtocol.version + 2))
        #expect(!LaunchProtocol.understands(LaunchProtocol.version - 2))
    }
}

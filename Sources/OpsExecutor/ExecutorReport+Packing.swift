public import OpsSystem

extension ExecutorReport: LaunchMessage {
    public var kind: UInt8 {
        switch self {
        case .hello: 1
        case .launched: 2
        case .failed: 3
        case .exited: 4
        case .gone: 5
        case .updated: 6
        case .stagedStarted: 7
        case .stagingRevoked: 8
        case .pong: 9
        case .accepted: 10
        case .refused: 11
        case .ended: 12
        }
    }

    public func append(to bytes: inout [UInt8], for version: UInt16) {
        Packer.frame(kind: kind, onto: &bytes, for: version) { packer in
            switch self {
            case .hello(let greeting): packer.pack(greeting)
            case .launched(let attempt, let process):
                packer.pack(attempt)
                packer.pack(process)
            case .failed(let attempt, let step, let errno):
                packer.pack(attempt)
                packer.pack(step)
                packer.pack(errno)
            case .exited(let attempt, let exit, let treeIsGone):
                packer.pack(attempt)
                packer.pack(exit)
                packer.pack(treeIsGone)
            case .gone(let attempt): packer.pack(attempt)
            case .updated(let attempt, let update):
                packer.pack(attempt)
                packer.pack(update)
            case .stagedStarted(let attempt, let start):
                packer.pack(attempt)
                packer.pack(start)
            case .stagingRevoked, .pong: break
            case .accepted(let attempt, let text), .refused(let attempt, let text):
                packer.pack(attempt)
                packer.pack(text)
            case .ended(let attempt, let end):
                packer.pack(attempt)
                packer.pack(end)
            }
        }
    }

    public init(kind: UInt8, fields: ArraySlice<UInt8>, recordsHaveLengths: Bool) throws(ProtocolError) {
        var from = Unpacker(fields, recordsHaveLengths: recordsHaveLengths)
        switch kind {
        case 1: self = .hello(try from.greeting())
        case 2: self = .launched(try from.attempt(), try from.launchedProcess())
        case 3: self = .failed(try from.attempt(), step: try from.text(), errno: try from.number())
        case 4: self = .exited(try from.attempt(), try from.processExit(), treeIsGone: try from.flag())
        case 5: self = .gone(try from.attempt())
        case 6: self = .updated(try from.attempt(), try from.operationUpdate())
        case 7: self = .stagedStarted(try from.attempt(), try from.slotStart())
        case 8: self = .stagingRevoked
        case 9: self = .pong
        case 10: self = .accepted(try from.attempt(), job: try from.text())
        case 11: self = .refused(try from.attempt(), cause: try from.text())
        case 12: self = .ended(try from.attempt(), try from.externalEnd())
        default: throw .unknownMessage(kind)
        }
    }
}

extension Packer {
    public mutating func pack(_ time: some NanosecondCount) { pack(time.nanoseconds) }

    public mutating func pack(_ reading: Moment) {
        pack(reading.monotonic)
        pack(reading.wall)
    }

    public mutating func pack(_ start: SlotStart) {
        pack(start.slot)
        pack(start.at)
    }

    public mutating func pack(_ process: LaunchedProcess) {
        packRecord {
            $0.pack(process.pid)
            $0.pack(process.startTicks)
            $0.pack(process.at)
        }
    }

    public mutating func pack(_ exit: ProcessExit) {
        packRecord { packer in
            switch exit.status {
            case .code(let code):
                packer.pack(UInt8(1))
                packer.pack(code)
            case .signal(let number):
                packer.pack(UInt8(2))
                packer.pack(number)
            }
            packer.pack(exit.outOfMemory)
            packer.pack(exit.usage.userMicroseconds)
            packer.pack(exit.usage.systemMicroseconds)
            packer.pack(exit.usage.maxResidentBytes)
            packer.pack(exit.at)
            if packer.recordsHaveLengths { packer.pack(exit.retryAfter) }
        }
    }

    public mutating func pack(_ end: ExternalEnd) {
        packRecord { packer in
            packer.pack(end.outcome.rawValue)
            packer.pack(end.cause)
            packer.pack(end.exit) { $0.pack($1) }
            packer.pack(end.at)
        }
    }

    public mutating func pack(_ update: OperationUpdate) {
        packRecord { packer in
            packer.pack(update.status) { $0.pack($1) }
            packer.pack(update.progressDone) { $0.pack($1) }
            packer.pack(update.progressTotal) { $0.pack($1) }
            packer.pack(update.result) { $0.pack($1) }
            packer.pack(update.finished) { $0.pack($1) }
            packer.pack(update.extendTimeout) { $0.pack($1) }
            guard packer.recordsHaveLengths else { return }
            packer.pack(update.hasOutputs)
            packer.pack(update.expectedStart) { $0.pack($1) }
        }
    }

    public mutating func pack(_ state: AttemptState) {
        switch state {
        case .running(let process):
            pack(UInt8(1))
            pack(process)
        case .exited(let exit):
            pack(UInt8(2))
            pack(exit)
        case .gone(let exit):
            pack(UInt8(3))
            pack(exit)
        case .failed(let step, let errno):
            pack(UInt8(4))
            pack(step)
            pack(errno)
        case .accepted(let job):
            pack(UInt8(5))
            pack(job)
        case .refused(let cause):
            pack(UInt8(6))
            pack(cause)
        case .ended(let end):
            pack(UInt8(7))
            pack(end)
        }
    }

    fileprivate mutating func pack(_ greeting: ExecutorGreeting) {
        pack(LaunchProtocol.magic)
        pack(greeting.version)
        pack(greeting.instance)
        pack(greeting.boot)
        pack(greeting.pid)
        pack(greeting.entries) { packer, entry in
            packer.packRecord {
                $0.pack(entry.attempt)
                $0.pack(entry.state)
            }
        }
        packRecord { packer in
            packer.pack(greeting.capabilities.hasControlGroups)
            packer.pack(greeting.capabilities.controllers.sorted()) { $0.pack($1) }
        }
        pack(greeting.release)
        pack(greeting.isEnding)
        pack(greeting.slotStarts) { packer, start in
            packer.packRecord {
                $0.pack(start.attempt)
                $0.pack(start.start)
            }
        }
        pack(greeting.stagesDependents)
    }
}

extension Unpacker {
    public mutating func clockReading() throws(ProtocolError) -> Moment {
        Moment(monotonic: try time(), wall: try time())
    }

    public mutating func slotStart() throws(ProtocolError) -> SlotStart {
        SlotStart(slot: try number(), at: try clockReading())
    }

    public mutating func launchedProcess() throws(ProtocolError) -> LaunchedProcess {
        try record { (from: inout Unpacker) throws(ProtocolError) in
            LaunchedProcess(pid: try from.number(), startTicks: try from.number(), at: try from.clockReading())
        }
    }

    public mutating func processExit() throws(ProtocolError) -> ProcessExit {
        try record { (from: inout Unpacker) throws(ProtocolError) in
            var exit = ProcessExit(
                status: try from.exitStatus(), outOfMemory: try from.flag(),
                usage: ProcessUsage(
                    userMicroseconds: try from.number(), systemMicroseconds: try from.number(),
                    maxResidentBytes: try from.number()),
                at: try from.clockReading())
            if from.recordsHaveLengths, !from.isAtEnd { exit.retryAfter = try from.time() }
            return exit
        }
    }

    private mutating func exitStatus() throws(ProtocolError) -> ProcessExit.Status {
        switch try number(UInt8.self) {
        case 1: return .code(try number())
        case 2: return .signal(try number())
        case let other: throw .badValue("exit \(other)")
        }
    }

    public mutating func externalEnd() throws(ProtocolError) -> ExternalEnd {
        try record { (from: inout Unpacker) throws(ProtocolError) in
            ExternalEnd(
                outcome: try from.choice("outcome"), cause: try from.text(),
                exit: try from.optional { (from: inout Unpacker) throws(ProtocolError) in try from.processExit() },
                at: try from.clockReading())
        }
    }

    public mutating func operationUpdate() throws(ProtocolError) -> OperationUpdate {
        func text(_ from: inout Unpacker) throws(ProtocolError) -> String { try from.text() }
        return try record { (from: inout Unpacker) throws(ProtocolError) in
            var update = OperationUpdate(
                status: try from.optional(text), progressDone: try from.optionalNumber(),
                progressTotal: try from.optionalNumber(), result: try from.optional(text),
                finished: try from.optionalNumber(), extendTimeout: try from.optionalTime())
            if from.recordsHaveLengths, !from.isAtEnd { update.hasOutputs = try from.flag() }
            if from.recordsHaveLengths, !from.isAtEnd { update.expectedStart = try from.optionalTime() }
            return update
        }
    }

    fileprivate mutating func greeting() throws(ProtocolError) -> ExecutorGreeting {
        guard try number() == LaunchProtocol.magic else { throw .wrongMagic }
        var greeting = ExecutorGreeting(
            version: try number(), instance: try text(), boot: try text(), pid: try number(),
            entries: try records { (from: inout Unpacker) throws(ProtocolError) in
                ExecutorGreeting.Entry(try from.attempt(), try from.attemptState())
            },
            capabilities: try record { (from: inout Unpacker) throws(ProtocolError) in
                ExecutorCapabilities(hasControlGroups: try from.flag(), controllers: Set(try from.texts()))
            })
        if !isAtEnd { greeting.release = try text() }
        if !isAtEnd { greeting.isEnding = try flag() }
        if isAtEnd { return greeting }
        greeting.slotStarts = try records { (from: inout Unpacker) throws(ProtocolError) in
            ExecutorGreeting.StartedAttempt(try from.attempt(), try from.slotStart())
        }
        if !isAtEnd { greeting.stagesDependents = try flag() }
        return greeting
    }

    public mutating func attemptState() throws(ProtocolError) -> AttemptState {
        switch try number(UInt8.self) {
        case 1: return .running(try launchedProcess())
        case 2: return .exited(try processExit())
        case 3: return .gone(try processExit())
        case 4: return .failed(step: try text(), errno: try number())
        case 5: return .accepted(job: try text())
        case 6: return .refused(cause: try text())
        case 7: return .ended(try externalEnd())
        case let other: throw .badValue("state \(other)")
        }
    }
}

internal import OpsCore
internal import OpsExecutor
internal import OpsSystem

// Translation between values of the launch protocol and those of the core.

extension AttemptID {
    init(_ attempt: Attempt) { self.init(OperationID(attempt.operation), attempt.number) }
}

extension Attempt {
    init(_ attempt: AttemptID) { self.init(operation: attempt.operation.rawValue, number: attempt.number) }
}

extension Process {
    init(_ process: LaunchedProcess) {
        self.init(
            pid: process.pid, startTicks: process.startTicks,
            at: process.at)
    }
}

extension Exit {
    init(_ exit: ProcessExit) {
        let status: Status =
            switch exit.status {
            case .code(let code): .code(code)
            case .signal(let signal): .signal(signal)
            }
        self.init(
            status: status, outOfMemory: exit.outOfMemory,
            usage: Usage(
                userMicroseconds: exit.userMicroseconds, systemMicroseconds: exit.systemMicroseconds,
                maxResidentBytes: exit.maxResidentBytes),
            at: exit.at, retryAfter: exit.retryAfter)
    }
}

extension OpsCore.ExternalEnd {
    init(_ end: OpsExecutor.ExternalEnd) {
        let outcome: Outcome =
            switch end.outcome {
            case .interrupted: .interrupted
            case .timedOut: .timedOut
            case .cancelled: .cancelled
            case .outOfMemory: .failed
            }
        self.init(outcome: outcome, cause: end.cause, exit: end.exit.map { Exit($0) }, at: end.at)
    }
}

extension OperationUpdate {
    init(_ update: NotifyUpdate) {
        self.init(
            status: update.status, progressDone: update.progressDone, progressTotal: update.progressTotal,
            result: update.result, finished: update.finished, extendTimeout: update.extendTimeout,
            hasOutputs: update.hasOutputs, expectedStart: update.expectedStart)
    }
}

extension SlotStart {
    init(_ slot: Int32, _ at: Moment) {
        self.init(slot: slot, at: at)
    }
}

extension Inventory {
    /// Leaves out helpers, which are attempts of no operation.
    init(_ greeting: ExecutorGreeting) {
        self.init(
            runner: greeting.instance, boot: greeting.boot, isEnding: greeting.isEnding,
            acceptsStaging: greeting.version >= LaunchProtocol.versionWithStaging,
            acceptsWaiting: greeting.stagesDependents)
        for begun in greeting.slotStarts { slotStarts[AttemptID(begun.attempt)] = SlotStart(begun.slot, begun.at) }
        for entry in greeting.entries where !entry.attempt.isHelper {
            let state: Entry =
                switch entry.state {
                case .running(let process): .running(Process(process))
                case .exited(let exit): .exited(Exit(exit))
                case .gone(let exit): .gone(Exit(exit))
                case .failed(let step, let errno): .failed(step: step, errno: errno)
                case .accepted(let job): .accepted(job: job)
                case .refused(let cause): .refused(cause)
                case .ended(let end): .ended(OpsCore.ExternalEnd(end))
                }
            entries[AttemptID(entry.attempt)] = state
        }
    }
}

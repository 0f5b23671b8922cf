internal import OpsCore
internal import OpsExecutor
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// Small processes beside the operations: tests of conditions, and observers. The runner starts them like attempts, so
/// they have the user, directory and environment of the operation, and their trees can be ended. The store knows
/// nothing of them.
final class HelperProcesses {
    private struct Helper {
        /// User of its processes; nil: it was started by an earlier opsd.
        var uid: UInt32?
        var result: HelperResult?
        /// Instant at which the helper is terminated; nil if it was terminated already.
        var deadline: MonotonicInstant?
        let end: (HelperResult) -> Void
    }

    private let loop: EventLoop
    private let log: DaemonLog
    private unowned let runner: RunnerLink
    private let wakeUp: () -> Void
    private var running: [AttemptID: Helper] = [:]
    /// Helpers of a lost runner, whose processes may still run: the next runner kills them.
    private var orphans: [AttemptID: UInt32?] = [:]
    private let socket: String
    private var lastNumber: Int32 = 0
    /// Alarm of the earliest deadline. There are few helpers: at most 8 of conditions, 4 observers and 4 checks of
    /// triggers, and those that were stopped and are still ending.
    private lazy var alarm = Alarm(loop, log) { [unowned self] in self.endOverdue() }

    init(loop: EventLoop, log: DaemonLog, runner: RunnerLink, socket: String, wakeUp: @escaping () -> Void) {
        self.loop = loop
        self.log = log
        self.runner = runner
        self.socket = socket
        self.wakeUp = wakeUp
    }

    var isIdle: Bool { running.isEmpty }

    /// Starts a helper. `end` is called once, unless the helper is stopped or this throws. Returns nil if there is no
    /// runner.
    func start(
        _ request: LaunchRequest, timeout: TimeSpan, end: @escaping (HelperResult) -> Void
    ) throws(SystemError) -> AttemptID? {
        guard runner.isConnected else { return nil }
        var request = request
        let attempt = allocateID(for: request.attempt.operation)
        request.attempt = attempt
        request.environment.append("\(AttemptID.helperVariable)=\(-attempt.number)")
        try runner.send(launch: request)
        running[attempt] = Helper(
            uid: request.user?.uid ?? Identity.uid, deadline: Clock.read().monotonic + timeout, end: end)
        setAlarm()
        return attempt
    }

    /// Allocates an id that no other helper has. After the number -Int32.max the next one is -1: processes get the
    /// number without its sign.
    private func allocateID(for operation: OperationID) -> AttemptID {
        while true {
            lastNumber = lastNumber > -Int32.max ? lastNumber - 1 : -1
            let id = AttemptID(operation, lastNumber)
            if running[id] == nil, !orphans.keys.contains(id) { return id }
        }
    }

    /// Terminates a helper, whose `end` is not called any more. Returns false if the helper has ended already.
    @discardableResult
    func stop(_ attempt: AttemptID) -> Bool {
        guard let helper = running[attempt] else { return false }
        running[attempt] = Helper(uid: helper.uid, result: helper.result, end: { _ in })
        terminate(attempt)
        return true
    }

    /// Terminates a helper. Without a connection nothing is sent; `runnerConnected` repeats it.
    private func terminate(_ attempt: AttemptID) {
        running[attempt]?.deadline = nil
        runner.send(.terminate(attempt, grace: Self.grace))
        wakeUp()
    }

    private func endOverdue() {
        let now = Clock.read().monotonic
        for (attempt, helper) in running {
            if let deadline = helper.deadline, deadline <= now { terminate(attempt) }
        }
        setAlarm()
    }

    private func setAlarm() { alarm.set(at: running.values.compactMap(\.deadline).min()) }

    /// Returns whether a helper was terminated.
    func isEnding(_ attempt: AttemptID) -> Bool { running[attempt].map { $0.deadline == nil } ?? false }

    private static let grace = TimeSpan.seconds(1)

    // MARK: Reports of the runner

    func failed(_ attempt: AttemptID, step: String, errno: Int32) {
        finish(attempt, .cannotStart(step: step, errno: errno))
    }

    func exited(_ attempt: AttemptID, _ exit: ProcessExit, treeIsGone: Bool) {
        // Read first: an assignment through `?` has exclusive access to `running` from its beginning.
        let result = result(of: attempt, exit)
        if treeIsGone { finish(attempt, result) } else { running[attempt]?.result = result }
    }

    func gone(_ attempt: AttemptID) { finish(attempt, running[attempt]?.result ?? .lost) }

    /// Returns the result of a helper whose process has exited. A helper that exits because it was terminated has none.
    private func result(of attempt: AttemptID, _ exit: ProcessExit) -> HelperResult {
        running[attempt]?.result ?? (isEnding(attempt) ? .timedOut : HelperResult(exit))
    }

    private func finish(_ attempt: AttemptID, _ result: HelperResult) {
        runner.send(.acknowledge(attempt))
        wakeUp()
        running.removeValue(forKey: attempt)?.end(result)
    }

    /// Reports the helpers that ended while the connection was down. Ends helpers that an earlier opsd left running,
    /// and does not use their numbers again.
    func runnerConnected(listing known: [ExecutorGreeting.Entry]) {
        for (attempt, uid) in orphans where !known.contains(where: { $0.attempt == attempt }) {
            runner.send(.killStaleTree(attempt, socket: socket, uid: uid))
        }
        orphans = [:]
        for attempt in running.keys where !known.contains(where: { $0.attempt == attempt }) { finish(attempt, .lost) }
        for entry in known {
            let attempt = entry.attempt
            lastNumber = min(lastNumber, attempt.number)
            if running[attempt] == nil { running[attempt] = Helper(uid: nil, end: { _ in }) }
            switch entry.state {
            case .running: if isEnding(attempt) { terminate(attempt) }
            case .exited(let exit):
                exited(attempt, exit, treeIsGone: false)
                if isEnding(attempt) { terminate(attempt) }
            case .gone(let exit): finish(attempt, result(of: attempt, exit))
            case .failed(let step, let errno): finish(attempt, .cannotStart(step: step, errno: errno))
            // Helpers are processes of the runner.
            case .accepted, .refused, .ended: finish(attempt, .lost)
            }
        }
    }

    func runnerLost() {
        let lost = running
        running = [:]
        for (attempt, helper) in lost { orphans[attempt] = helper.uid }
        for helper in lost.values { helper.end(.lost) }
    }
}

/// The result of a helper.
enum HelperResult: Equatable {
    case code(Int32)
    case signal(Int32)
    /// It was terminated because it took too long.
    case timedOut
    case cannotStart(step: String, errno: Int32)
    /// Its runner was lost before it had ended.
    case lost
}

extension HelperResult {
    init(_ exit: ProcessExit) {
        self =
            switch exit.status {
            case .code(let code): .code(code)
            case .signal(let signal): .signal(signal)
            }
    }

    /// Predicate of a sentence about the helper, such as `ended with exit status 3`.
    var text: String {
        switch self {
        case .code(let status): "ended with exit status \(status)"
        case .signal(let signal): "was killed by \(signalName(signal))"
        case .timedOut: "was killed because it did not end in time"
        case .cannotStart(let step, let errno): "cannot start: \(step): \(SystemError.text(errno))"
        case .lost: "was lost with its runner"
        }
    }
}

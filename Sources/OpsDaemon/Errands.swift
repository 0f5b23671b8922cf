internal import OpsCore
internal import OpsLinux
internal import OpsRunner

/// Small processes beside the operations: what conditions ask and observers do. The runner starts them like attempts,
/// so they have the operation's user, directory and environment, and their trees can be ended. Nothing of them is
/// stored.
final class Errands {
    /// How an errand came out.
    enum Ending: Equatable {
        case code(Int32)
        case signal(Int32)
        case cannotStart(step: String, errno: Int32)
        /// The runner went before it had ended.
        case lost
    }

    private struct Errand {
        var ending: Ending?
        var timer: TimerSource?
        let end: (Ending) -> Void
    }

    private unowned let daemon: Daemon
    private var running: [Attempt: Errand] = [:]
    private var lastNumber: Int32 = 0

    init(daemon: Daemon) { self.daemon = daemon }

    /// Starts one; `end` is called once, unless it is stopped. Nil: there is no runner.
    func start(
        _ request: LaunchRequest, timeout: Int64, end: @escaping (Ending) -> Void
    ) -> Attempt? {
        guard daemon.runner.isConnected else { return nil }
        lastNumber -= 1
        var request = request
        request.attempt.number = lastNumber
        let attempt = request.attempt
        var errand = Errand(end: end)
        do throws(SystemError) {
            let timer = try daemon.loop.timer(.monotonic) { [unowned self] in self.terminate(attempt) }
            try timer.arm(at: Clock.read().monotonic + timeout)
            errand.timer = timer
        } catch {
            daemon.diary.error("cannot set a timer: \(error)")
            return nil
        }
        running[attempt] = errand
        daemon.runner.send(.launch(request))
        return attempt
    }

    /// Ends it, process and all, and forgets whoever waited.
    func stop(_ attempt: Attempt) {
        guard let errand = running[attempt] else { return }
        errand.timer?.cancel()
        running[attempt] = Errand(ending: errand.ending, end: { _ in })
        terminate(attempt)
    }

    private func terminate(_ attempt: Attempt) {
        daemon.runner.send(.terminate(attempt, grace: Self.grace))
        daemon.wakeUp()
    }

    private static let grace: Int64 = 1_000_000_000

    // MARK: What the runner says

    func failed(_ attempt: Attempt, step: String, errno: Int32) {
        finish(attempt, .cannotStart(step: step, errno: errno))
    }

    func exited(_ attempt: Attempt, _ exit: ProcessExit, treeIsGone: Bool) {
        let ending = Ending(exit)
        if treeIsGone { finish(attempt, ending) } else { running[attempt]?.ending = ending }
    }

    func gone(_ attempt: Attempt) { finish(attempt, running[attempt]?.ending ?? .lost) }

    private func finish(_ attempt: Attempt, _ ending: Ending) {
        daemon.runner.send(.acknowledge(attempt))
        daemon.wakeUp()
        guard let errand = running.removeValue(forKey: attempt) else { return }
        errand.timer?.cancel()
        errand.end(ending)
    }

    /// What ended while the line was down is told now. What an earlier opsd left running is ended, and its numbers
    /// are not used again.
    func runnerIsHere(knowing known: [RunnerGreeting.Entry]) {
        for attempt in running.keys where !known.contains(where: { $0.attempt == attempt }) { finish(attempt, .lost) }
        for entry in known {
            let attempt = entry.attempt
            lastNumber = min(lastNumber, attempt.number)
            let isOurs = running[attempt] != nil
            if !isOurs { running[attempt] = Errand(end: { _ in }) }
            switch entry.state {
            case .running: if !isOurs { terminate(attempt) }
            case .exited(let exit):
                running[attempt]?.ending = Ending(exit)
                if !isOurs { terminate(attempt) }
            case .gone(let exit): finish(attempt, Ending(exit))
            case .failed(let step, let errno): finish(attempt, .cannotStart(step: step, errno: errno))
            }
        }
    }

    func runnerIsGone() {
        let lost = running
        running = [:]
        for (_, errand) in lost {
            errand.timer?.cancel()
            errand.end(.lost)
        }
    }
}

extension Errands.Ending {
    init(_ exit: ProcessExit) {
        self =
            switch exit.status {
            case .code(let code): .code(code)
            case .signal(let signal): .signal(signal)
            }
    }
}

extension Attempt {
    /// Attempts of operations count from 1 upwards, errands from -1 downwards.
    var isErrand: Bool { number < 0 }
}

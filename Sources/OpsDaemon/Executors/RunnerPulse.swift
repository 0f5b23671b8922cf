internal import OpsSystem
internal import OpsSystemd

/// Detects when opsd-runner stops answering, and when it answers again.
///
/// A connection that waits for its greeting counts as a question, and so does a ping. opsd sends a ping if it has
/// received nothing for a while and an operation executes, or a client asks for the status. So it does not wake an idle
/// machine.
final class RunnerPulse {
    private let loop: EventLoop
    private let log: DaemonLog
    private let isNeeded: () -> Bool
    private let ping: () -> Void
    private let giveUp: () -> Void
    private lazy var alarm = Alarm(loop, log) { [unowned self] in self.checkSilence() }
    private var lastReportAt = MonotonicInstant.zero
    /// Instant of the first question that has no answer.
    private var askedAt: MonotonicInstant?
    /// Instant of the first question that had no answer in time.
    private var silentSince: MonotonicInstant?
    private var waiting: [() -> Void] = []

    /// `isNeeded`: returns whether the runner has processes. `giveUp` is called once for each silence.
    init(
        _ loop: EventLoop, _ log: DaemonLog, isNeeded: @escaping () -> Bool, ping: @escaping () -> Void,
        giveUp: @escaping () -> Void
    ) {
        self.loop = loop
        self.log = log
        self.isNeeded = isNeeded
        self.ping = ping
        self.giveUp = giveUp
    }

    private var isSilent: Bool { silentSince != nil }

    /// Time since the first unanswered question; nil if the runner answers.
    var silence: TimeSpan? { silentSince.map { Clock.read().monotonic - $0 } }

    /// Records that the runner has to answer: a connection waits for its greeting, or a ping was sent.
    func recordQuestion() {
        let now = Clock.read().monotonic
        if askedAt == nil { askedAt = now }
        if !isSilent { alarm.set(at: (askedAt ?? now) + DaemonLimits.runnerPatience) }
    }

    /// Records that the runner has sent something.
    func recordReport() {
        lastReportAt = Clock.read().monotonic
        askedAt = nil
        if isSilent {
            silentSince = nil
            log.notice("opsd-runner answers again")
        }
        answerThoseWaiting()
        if isNeeded() { watch() } else { alarm.set(at: nil) }
    }

    /// Monitors the runner while it is needed.
    func watch() { if alarm.instant == nil, isNeeded() { alarm.set(at: lastReportAt + DaemonLimits.runnerPatience) } }

    /// Calls `answer` once it is known whether the runner answers: immediately if it has sent something lately, or is
    /// known to be silent.
    func whenKnown(_ answer: @escaping () -> Void) {
        let isFresh = Clock.read().monotonic - lastReportAt < DaemonLimits.runnerPatience
        if isSilent || isFresh { return answer() }
        waiting.append(answer)
        if askedAt == nil {
            ping()
            recordQuestion()
        }
    }

    private func checkSilence() {
        let now = Clock.read().monotonic
        if let askedAt {
            if now - askedAt >= DaemonLimits.runnerPatience { return fallSilent(since: askedAt) }
            alarm.set(at: askedAt + DaemonLimits.runnerPatience)
        } else if isNeeded() {
            guard now - lastReportAt >= DaemonLimits.runnerPatience else { return watch() }
            ping()
            recordQuestion()
        }
    }

    private func fallSilent(since instant: MonotonicInstant) {
        silentSince = instant
        log.write(
            .error, "opsd-runner does not answer: nothing starts, ends or is cancelled until it does",
            [(name: "MESSAGE_ID", value: JournalWriter.Message.runnerSilent)])
        giveUp()
        answerThoseWaiting()
    }

    private func answerThoseWaiting() {
        let answers = waiting
        waiting = []
        for answer in answers { answer() }
    }
}

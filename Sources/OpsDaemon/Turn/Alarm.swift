internal import OpsSystem
internal import OpsSystemd

/// One instant at which something is to be done. The timer is created when the alarm is first set; a failure is logged.
final class Alarm<Instant: ClockInstant> {
    private let loop: EventLoop
    private let log: DaemonLog
    private let clock: TimerClock<Instant>
    private let accuracy: UInt64
    private let work: () -> Void
    private var timer: TimerSource<Instant>?

    init(
        _ loop: EventLoop, _ log: DaemonLog, _ clock: TimerClock<Instant> = TimerClock<MonotonicInstant>.monotonic,
        accuracy: UInt64 = 1, _ work: @escaping () -> Void
    ) {
        self.loop = loop
        self.log = log
        self.clock = clock
        self.accuracy = accuracy
        self.work = work
    }

    /// Instant at which the alarm fires; nil: not set.
    var instant: Instant? { timer?.deadline }

    /// Sets the alarm, or stops it if `instant` is nil. Returns false if it will not fire.
    @discardableResult
    func set(at instant: Instant?) -> Bool {
        guard instant != nil || timer != nil else { return true }
        do throws(SystemError) {
            if timer == nil { timer = try loop.timer(clock, accuracy: accuracy, work) }
            try timer?.arm(at: instant)
            return true
        } catch {
            log.error("cannot set a timer: \(error)")
            return false
        }
    }

}

extension Alarm<MonotonicInstant> {
    @discardableResult
    func set(after delay: TimeSpan) -> Bool { set(at: Clock.read().monotonic + delay) }
}

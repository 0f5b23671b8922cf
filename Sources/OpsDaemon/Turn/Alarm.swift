internal import OpsSystem
internal import OpsSystemd

/// One instant at which something is to be done. The timer is created when the alarm is first set; a failure is logged.
final class Alarm {
    private let loop: EventLoop
    private let log: DaemonLog
    private let clock: EventLoop.TimerClock
    private let accuracy: UInt64
    private let work: () -> Void
    private var timer: TimerSource?

    init(
        _ loop: EventLoop, _ log: DaemonLog, _ clock: EventLoop.TimerClock = .monotonic, accuracy: UInt64 = 1,
        _ work: @escaping () -> Void
    ) {
        self.loop = loop
        self.log = log
        self.clock = clock
        self.accuracy = accuracy
        self.work = work
    }

    /// Instant at which the alarm fires; nil: not set.
    var instant: Int64? { timer?.deadline }

    /// Sets the alarm, or stops it if `instant` is nil. Returns false if it will not fire.
    @discardableResult
    func set(at instant: Int64?) -> Bool {
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

    @discardableResult
    func set(after nanoseconds: Int64) -> Bool { set(at: Clock.read().monotonic + nanoseconds) }
}

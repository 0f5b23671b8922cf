internal import OpsSystem
internal import OpsSystemd

/// One instant at which something is to be done. Its timer is made when it is first set; where none can be had, the log
/// tells.
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

    /// When it goes off; nil: it is not set.
    var instant: Int64? { timer?.deadline }

    /// Sets the alarm again, nil to no instant; false: it will not go off.
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

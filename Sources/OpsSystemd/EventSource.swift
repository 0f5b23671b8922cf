internal import CSystemd
internal import Glibc
public import OpsSystem

/// Source of events of an `EventLoop`. It is active until it is cancelled or released.
@safe public class EventSource {
    /// `nil` once cancelled.
    fileprivate var source: OpaquePointer?
    private let handler: (Readiness) -> Void

    fileprivate init(_ handler: @escaping (Readiness) -> Void) { self.handler = handler }

    deinit { cancel() }

    /// Ends the watch. A watched descriptor must be open until then: closing alone does not take it out of epoll
    /// while a child still holds a copy of the descriptor table.
    public func cancel() {
        guard let old = unsafe source else { return }
        unsafe source = nil
        unsafe sd_event_source_disable_unref(old)
    }

    fileprivate func happened(_ readiness: Readiness) { handler(readiness) }

    fileprivate var context: UnsafeMutableRawPointer {
        // Unretained: the source is disabled before its object goes, so no call can come later.
        unsafe Unmanaged.passUnretained(self).toOpaque()
    }

    /// Calls the handler of a source; the body of every callback of sd-event.
    fileprivate static func call(_ context: UnsafeMutableRawPointer?, _ readiness: UInt32 = 0) -> Int32 {
        if let context = unsafe context {
            unsafe Unmanaged<EventSource>.fromOpaque(context).takeUnretainedValue()
                .happened(Readiness(rawValue: readiness))
        }
        return 0
    }
}

/// Watch of a descriptor, level-triggered.
public final class ReadinessSource: EventSource {
    private(set) var interest: Readiness

    fileprivate init(_ interest: Readiness, _ handler: @escaping (Readiness) -> Void) {
        self.interest = interest
        super.init(handler)
    }

    /// Changes the events that are reported. The empty set pauses the watch (errors are still reported).
    public func setInterest(_ readiness: Readiness) throws(SystemError) {
        guard let source = unsafe source, readiness != interest else { return }
        try systemd("event mask", unsafe sd_event_source_set_io_events(source, readiness.rawValue))
        interest = readiness
    }
}

/// Watch of a signal, which stays blocked in this thread.
public final class SignalSource: EventSource {}

/// Timer that fires once when a clock reaches an instant. It is off until armed.
public final class TimerSource<Instant: ClockInstant>: EventSource {
    /// Instant that the timer is set to.
    public private(set) var deadline: Instant?

    /// Sets (or with `nil` clears) the instant. An instant in the past is due at once.
    public func arm(at instant: Instant?) throws(SystemError) {
        guard let source = unsafe source, instant != deadline else { return }
        if let instant {
            // Rounded up: a timer that fires early would find nothing due.
            let (whole, part) = max(instant.nanoseconds, 0).quotientAndRemainder(dividingBy: 1000)
            let microseconds = UInt64(whole) + (part > 0 ? 1 : 0)
            try systemd("event time", unsafe sd_event_source_set_time(source, microseconds))
        }
        let enabled = instant == nil ? SD_EVENT_OFF : SD_EVENT_ONESHOT
        try systemd("event timer", unsafe sd_event_source_set_enabled(source, Int32(enabled)))
        deadline = instant
    }

    override fileprivate func happened(_ readiness: Readiness) {
        deadline = nil
        super.happened(readiness)
    }
}

/// Clock of a timer.
public struct TimerClock<Instant: ClockInstant>: Sendable {
    fileprivate let id: clockid_t
}

extension TimerClock<MonotonicInstant> {
    public static var monotonic: TimerClock { TimerClock(id: CLOCK_BOOTTIME) }
}

extension TimerClock<WallInstant> {
    /// A timer of this clock follows every jump.
    public static var wall: TimerClock { TimerClock(id: CLOCK_REALTIME) }
}

extension EventLoop {
    /// Calls `handler` whenever the descriptor is ready. The caller owns the descriptor, and cancels before closing it.
    public func watch(
        _ descriptor: Int32, for readiness: Readiness, _ handler: @escaping (Readiness) -> Void
    ) throws(SystemError) -> ReadinessSource {
        let source = ReadinessSource(readiness, handler)
        try systemd(
            "watch descriptor",
            unsafe sd_event_add_io(
                event, &source.source, descriptor, readiness.rawValue,
                { _, _, ready, context in unsafe EventSource.call(context, ready) }, source.context))
        return source
    }

    /// Blocks the signal and calls `handler` for it; several at once may be reported as one.
    public func watchSignal(
        _ number: Int32, _ handler: @escaping () -> Void
    ) throws(SystemError) -> SignalSource {
        try Signals.block(number)
        let source = SignalSource { _ in handler() }
        try systemd(
            "watch signal \(number)",
            unsafe sd_event_add_signal(
                event, &source.source, number, { _, _, context in unsafe EventSource.call(context) }, source.context))
        return source
    }

    /// Makes a timer, not yet armed. `accuracy`: microseconds by which it may be late, to share a wake-up.
    public func timer<Instant>(
        _ clock: TimerClock<Instant>, accuracy: UInt64 = 1, _ handler: @escaping () -> Void
    ) throws(SystemError) -> TimerSource<Instant> {
        let source = TimerSource<Instant> { _ in handler() }
        try systemd(
            "timer",
            // An accuracy of 0 would mean a quarter of a second.
            unsafe sd_event_add_time(
                event, &source.source, clock.id, .max, max(accuracy, 1),
                { _, _, context in unsafe EventSource.call(context) }, source.context))
        guard let armed = unsafe source.source else { return source }
        try systemd("timer", unsafe sd_event_source_set_enabled(armed, Int32(SD_EVENT_OFF)))
        return source
    }
}

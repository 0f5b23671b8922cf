internal import CSystemd
internal import Glibc
public import OpsSystem

/// Calls a handler whenever the wall clock was set, and not while it goes on by itself.
public final class ClockWatch {
    private let timer: Descriptor
    private var source: ReadinessSource?
    private let handler: (SystemError?) -> Void

    /// Instant for which the timer waits, in the year 2200: what matters is that the kernel cancels it where the clock jumps.
    private static let never = 7_258_118_400

    /// - Parameter handler: Gets an error if this change is the last one that is noticed.
    public init(_ loop: EventLoop, _ handler: @escaping (SystemError?) -> Void) throws(SystemError) {
        self.handler = handler
        let flags = Int32(TFD_NONBLOCK) | Int32(TFD_CLOEXEC)
        let number = try retrying("timerfd_create") { timerfd_create(CLOCK_REALTIME, flags) }
        timer = Descriptor(owning: number)
        try arm()
        source = try loop.watch(number, for: .readable) { [unowned self] _ in self.wasSet() }
    }

    deinit { source?.cancel() }

    private func arm() throws(SystemError) {
        let flags = Int32(TFD_TIMER_ABSTIME) | Int32(TFD_TIMER_CANCEL_ON_SET)
        let number = timer.rawValue
        var value = itimerspec()
        value.it_value.tv_sec = Self.never
        do throws(SystemError) {
            try retrying("timerfd_settime") { unsafe timerfd_settime(number, flags, &value, nil) }
        } catch {
            // The clock was set once more since the read: the timer is armed, and the handler is still to be called.
            guard error.errno == ECANCELED else { throw error }
        }
    }

    private func wasSet() {
        var bytes: [UInt8] = []
        // The read fails with ECANCELED, which reports the change. Setting the timer again clears that.
        _ = try? timer.read(atMost: 8, onto: &bytes)
        var failure: SystemError?
        do throws(SystemError) {
            try arm()
        } catch {
            source?.cancel()
            source = nil
            failure = error
        }
        handler(failure)
    }
}

internal import CSystemd
internal import Glibc
public import OpsSystem

/// The one loop of a program: it sleeps until something is ready, hands all that is ready to the closures that
/// watch it, then lets the program finish its turn.
///
/// Not `Sendable` on purpose: loop, sources and what they own live on the thread that made them.
@safe public final class EventLoop {
    /// Events handled in one turn before `endTurn` is called although more is ready: load makes turns longer, not endless.
    public static let eventsPerTurn = 256

    let event: OpaquePointer
    private var isStopped = false
    /// Events handled in this turn.
    private var handled = 0

    /// Called once per wake-up, when everything that was ready has been handled and before sleeping.
    public var endTurn: () -> Void = {}

    public init() throws(SystemError) {
        var event: OpaquePointer?
        try systemd("sd_event_new", unsafe sd_event_new(&event))
        guard let event = unsafe event else { throw SystemError("sd_event_new", errno: ENOMEM) }
        unsafe self.event = unsafe event
    }

    deinit { unsafe sd_event_unref(event) }

    /// Turns until `stop`.
    public func run() throws(SystemError) {
        while !isStopped { try turn() }
    }

    /// Makes `run` return once the current turn has ended.
    public func stop() { isStopped = true }

    /// One turn: waits for an event (at most `timeout` microseconds), handles all that are ready, calls `endTurn`.
    /// `false`: the time passed and nothing happened (`endTurn` is called all the same).
    @discardableResult
    public func turn(timeout: UInt64 = .max) throws(SystemError) -> Bool {
        // sd-event hands out one event an iteration.
        var dispatched = try iterate(timeout)
        let happened = dispatched
        handled += 1
        while dispatched && handled < EventLoop.eventsPerTurn {
            dispatched = try iterate(0)
            handled += 1
        }
        handled = 0
        endTurn()
        return happened
    }

    /// One handler dealt with so many events more than the one it was called for.
    func count(_ more: Int) { handled += more }

    private func iterate(_ timeout: UInt64) throws(SystemError) -> Bool {
        while true {
            let result = unsafe sd_event_run(event, timeout)
            if result == -EINTR { continue }
            return try systemd("sd_event_run", result) > 0
        }
    }

    /// From now on systemd's watchdog hears that the loop turns, where systemd asked for that.
    public func feedWatchdog() throws(SystemError) {
        try systemd("sd_event_set_watchdog", unsafe sd_event_set_watchdog(event, 1))
    }
}

internal import CSystemd
internal import Glibc
public import OpsSystem

/// Event loop of a program. It sleeps until an event is ready, calls the handlers of all ready events, then the deferred
/// work, and then `endTurn`.
///
/// Not `Sendable` on purpose: loop, sources and everything that they own belong to the thread that made them.
@safe public final class EventLoop {
    /// Most events of one turn. Then `endTurn` is called although more are ready: load makes turns longer, not endless.
    public static let eventsPerTurn = 256
    /// Time after which a turn handles no further event.
    public static let longestTurn = TimeSpan.milliseconds(10)

    let event: OpaquePointer
    private var isStopped = false
    /// Events handled in this turn.
    private var handled = 0
    /// Work for the end of the events of this turn, or for the next turn. Weak: released work is not done.
    private var deferred: [WeakWork] = []

    private struct WeakWork {
        weak var work: DeferredWork?
    }

    /// Handler for the end of a turn, called once per wake-up after all ready events were handled.
    public var endTurn: () -> Void = {}

    public init() throws(SystemError) {
        var event: OpaquePointer?
        try systemd("sd_event_new", unsafe sd_event_new(&event))
        guard let event = unsafe event else { throw SystemError("sd_event_new", errno: ENOMEM) }
        unsafe self.event = unsafe event
    }

    deinit { unsafe sd_event_unref(event) }

    /// Runs turns until `stop`.
    public func run() throws(SystemError) {
        while !isStopped { try turn() }
    }

    /// Makes `run` return once the current turn has ended.
    public func stop() { isStopped = true }

    /// Runs one turn: waits for an event (at most `timeout` microseconds; not at all if work is deferred), handles all that
    /// are ready, does the deferred work, calls `endTurn`. Returns `false` if the time passed without either.
    @discardableResult
    public func turn(timeout: UInt64 = .max) throws(SystemError) -> Bool {
        // sd-event handles one event in each iteration.
        var dispatched = try iterate(deferred.isEmpty ? timeout : 0)
        var happened = dispatched
        handled += 1
        let end = Clock.read().monotonic + EventLoop.longestTurn
        while dispatched && handled < EventLoop.eventsPerTurn && Clock.read().monotonic < end {
            dispatched = try iterate(0)
            handled += 1
        }
        handled = 0
        if doDeferredWork() { happened = true }
        endTurn()
        return happened
    }

    /// Does what was deferred until now, each work once. Work that is deferred meanwhile waits for the next turn, so that
    /// long work in slices and events take turns. (A deferred source of sd-event would precede every event.)
    private func doDeferredWork() -> Bool {
        let due = deferred.compactMap(\.work)
        deferred.removeAll(keepingCapacity: true)
        for work in due { work.perform() }
        return !due.isEmpty
    }

    func add(_ work: DeferredWork) { deferred.append(WeakWork(work: work)) }

    /// Counts events that a handler has dealt with beside the one it was called for.
    func count(_ more: Int) { handled += more }

    private func iterate(_ timeout: UInt64) throws(SystemError) -> Bool {
        while true {
            let result = unsafe sd_event_run(event, timeout)
            if result == -EINTR { continue }
            return try systemd("sd_event_run", result) > 0
        }
    }

    /// Keeps the watchdog of systemd informed that the loop runs, if systemd requested that.
    public func feedWatchdog() throws(SystemError) {
        try systemd("sd_event_set_watchdog", unsafe sd_event_set_watchdog(event, 1))
    }
}

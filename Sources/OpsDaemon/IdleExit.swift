internal import OpsCore
internal import OpsSystemd

/// Ends the daemon when it has been idle for a while, if the configuration says so and the service manager keeps the
/// socket: the next call starts it again.
final class IdleExit {
    private let loop: EventLoop
    private let log: DaemonLog
    private let isIdle: () -> Bool
    private let stop: () -> Void
    private lazy var alarm = Alarm(loop, log) { [unowned self] in self.hasPassed = true }
    private var hasPassed = false

    init(loop: EventLoop, log: DaemonLog, isIdle: @escaping () -> Bool, stop: @escaping () -> Void) {
        self.loop = loop
        self.log = log
        self.isIdle = isIdle
        self.stop = stop
    }

    /// Decides at the end of a turn whether opsd exits, after this time without work. No client is
    /// accepted after this, so a client that calls from now on waits in the socket.
    func turnEnded(after limit: TimeSpan) {
        if !isIdle() {
            hasPassed = false
            alarm.set(at: nil)
        } else if hasPassed {
            log.notice("idle: exiting until the next client connects")
            stop()
        } else if alarm.instant == nil {
            alarm.set(after: limit)
        }
    }
}

extension Daemon {
    /// True if the daemon is idle: no client, nothing unfinished, no schedule, no work of its own.
    var isIdle: Bool {
        guard let counts = turns.core?.counts, turns.outage == nil, turns.longTurn == nil, !turns.turn.isAheadOfStore
        else { return false }
        return counts.pending + counts.ready + counts.executing == 0 && server?.connectionCount == 0
            && observers.isIdle && !retention.isPruning && schedules.isEmpty
    }
}

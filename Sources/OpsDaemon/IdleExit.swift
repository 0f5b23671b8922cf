internal import OpsCore

/// Ends the daemon when nobody has needed it for a while, where the configuration says so and the service manager keeps
/// the socket: the next call starts it again.
final class IdleExit {
    private unowned let daemon: Daemon
    private lazy var alarm = Alarm(daemon) { [unowned self] in self.hasPassed = true }
    private var hasPassed = false

    init(daemon: Daemon) { self.daemon = daemon }

    /// Decides where a turn ends: nobody is let in after it, so a client that calls from now on waits in the socket.
    func turnEnded() {
        guard daemon.isActivated, let limit = daemon.configuration.exitWhenIdle else { return }
        if !daemon.isIdle {
            hasPassed = false
            alarm.set(at: nil)
        } else if hasPassed {
            daemon.log.notice("nobody has needed opsd for a while: ending until somebody calls")
            daemon.stop(.keep)
        } else if alarm.instant == nil {
            alarm.set(after: limit)
        }
    }
}

extension Daemon {
    /// True if the daemon is idle: no client, nothing unfinished, no work of its own.
    var isIdle: Bool {
        guard let counts = core?.counts, outage == nil, longTurn == nil, !turn.isAheadOfStore else { return false }
        return counts.pending + counts.ready + counts.executing == 0 && server?.connectionCount == 0
            && observers.isIdle && !retention.isPruning
    }
}

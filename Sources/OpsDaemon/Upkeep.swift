internal import OpsLinux
internal import OpsStore

/// Gives back what a busy time has left on the disk: a little at a time, when nobody has needed the disk for a while.
/// Its timer is set only while there is something left to do, so an idle daemon sleeps.
final class Upkeep {
    private unowned let daemon: Daemon
    private var timer: TimerSource?
    /// How many commits there were when the timer was set.
    private var commits = 0

    /// Nanoseconds without a commit.
    private static let quiet: Int64 = 100_000_000

    init(daemon: Daemon) { self.daemon = daemon }

    /// At the end of each turn.
    func turnEnded() {
        guard daemon.longTurn == nil, daemon.store.wantsTidying, timer?.deadline == nil, daemon.outage == nil else {
            return
        }
        goOn(after: Self.quiet)
    }

    private func goOn(after pause: Int64) {
        commits = daemon.store.commits
        do throws(SystemError) {
            if timer == nil { timer = try daemon.loop.timer(.monotonic) { [unowned self] in self.tidy() } }
            try timer?.arm(at: Clock.read().monotonic + pause)
        } catch {
            daemon.diary.error("cannot set a timer: \(error)")
        }
    }

    private func tidy() {
        // The end of this turn sets the timer anew.
        guard daemon.outage == nil, daemon.longTurn == nil, commits == daemon.store.commits,
            !daemon.turn.isAheadOfStore
        else { return }
        do throws(StoreError) {
            if try daemon.store.tidy() { goOn(after: 0) }
        } catch {
            // The next commit tells whether the disk is well.
            daemon.diary.warning("unused room not given back: \(error)")
        }
    }
}

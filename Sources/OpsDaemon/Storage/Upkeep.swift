internal import OpsStore
internal import OpsSystem

/// Releases unused disk space and memory after a busy time, in small steps, when the disk has been idle for a while.
/// Its alarm is set only while there is something left to do, so an idle daemon sleeps.
final class Upkeep {
    private unowned let daemon: Daemon
    private lazy var alarm = Alarm(daemon) { [unowned self] in self.tidy() }
    /// Number of commits when the alarm was set.
    private var commits = 0
    /// True while the write-ahead log is copied into the database outside the loop.
    private(set) var isMovingLog = false
    /// True if a large request has left unused memory blocks, which glibc keeps until it is asked to return them.
    private(set) var hasFreeMemory = false
    /// True while those blocks are being returned outside the loop.
    private(set) var isReturningMemory = false

    /// Nanoseconds without a commit.
    private static let quiet: Int64 = 100_000_000

    init(daemon: Daemon) { self.daemon = daemon }

    /// At the end of each turn.
    func turnEnded() {
        guard daemon.longTurn == nil, !isMovingLog, hasFreeMemory || daemon.store.wantsTidying,
            alarm.instant == nil, daemon.outage == nil
        else { return }
        goOn(after: Self.quiet)
    }

    /// So much was read or decided at once that what it needed is worth giving back.
    func muchWasFreed() { hasFreeMemory = true }

    /// After a large request: its own commit could not move the log past those who were not to see it yet, and the
    /// next one would do it in the loop, half a second after a million operations.
    func longTurnEnded() {
        muchWasFreed()
        guard !isMovingLog, daemon.store.hasLongLog else { return }
        isMovingLog = true
        daemon.store.isLogBeingMoved = true
        let path = daemon.store.path
        daemon.writing.run(
            { () -> StoreError? in
                do throws(StoreError) { try Store.moveLog(ofDatabaseAt: path) } catch { return error }
                return nil
            },
            then: { [unowned self] error in
                isMovingLog = false
                let moved = { [unowned self] in daemon.store.isLogBeingMoved = false }
                // The store may be lent to the next large request.
                if !daemon.putOff(moved) { moved() }
                // A later commit does it, and tells whether the disk is well.
                if let error { daemon.log.warning("the write-ahead log was not moved into the database: \(error)") }
            })
    }

    private func goOn(after pause: Int64) {
        commits = daemon.store.commits
        alarm.set(after: pause)
    }

    private func tidy() {
        // The end of this turn sets the timer again.
        guard daemon.outage == nil, daemon.longTurn == nil, !isMovingLog, commits == daemon.store.commits,
            !daemon.turn.isAheadOfStore
        else { return }
        do throws(StoreError) {
            if hasFreeMemory {
                // Only now: the answer and the events of a large request were the last to be freed.
                hasFreeMemory = false
                try daemon.store.forgetPages()
                isReturningMemory = true
                daemon.writing.run(
                    { Program.returnFreeMemory() }, then: { [unowned self] in isReturningMemory = false })
            }
            if try daemon.store.tidy() { goOn(after: 0) }
        } catch {
            // The next commit tells whether the disk is well.
            daemon.log.warning("unused room not given back: \(error)")
        }
    }
}

internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// Releases unused disk space and memory after a busy time, in small steps, when the disk has been idle for a while.
/// Its alarm is set only while there is something left to do, so an idle daemon sleeps.
final class Upkeep {
    private let turns: Turns
    private let store: Store
    private let loop: EventLoop
    private let log: DaemonLog
    private lazy var alarm = Alarm(loop, log) { [unowned self] in self.tidy() }
    /// Number of commits when the alarm was set.
    private var commits = 0
    /// True while the write-ahead log is copied into the database outside the loop.
    private(set) var isMovingLog = false
    /// True if a large request has left unused memory blocks, which glibc keeps until it is asked to return them.
    private(set) var hasFreeMemory = false
    /// True while those blocks are being returned outside the loop.
    private(set) var isReturningMemory = false

    /// Time without a commit.
    private static let quiet = TimeSpan.milliseconds(100)

    init(turns: Turns, store: Store, loop: EventLoop, log: DaemonLog) {
        self.turns = turns
        self.store = store
        self.loop = loop
        self.log = log
    }

    /// Sets the alarm at the end of a turn, if there is something to do.
    func turnEnded() {
        guard turns.longTurn == nil, !isMovingLog, hasFreeMemory || store.wantsTidying,
            alarm.instant == nil, turns.outage == nil
        else { return }
        goOn(after: Self.quiet)
    }

    /// Notes that a large request has freed so much memory that it should be returned to the kernel.
    func muchWasFreed() { hasFreeMemory = true }

    /// Moves the write-ahead log into the database after a large request. The commit of the request could not do that,
    /// because a reader was pinned to the state before it; the next commit would do it in the loop, and take half a
    /// second after a million operations.
    func longTurnEnded() {
        muchWasFreed()
        moveLongLog()
    }

    private func moveLongLog() {
        guard !isMovingLog, store.hasLongLog else { return }
        isMovingLog = true
        store.isLogBeingMoved = true
        let path = store.path
        turns.writing.run(
            { () -> Result<Int?, StoreError> in
                do throws(StoreError) { return .success(try Store.moveLog(ofDatabaseAt: path)) } catch {
                    return .failure(error)
                }
            },
            then: { [unowned self] result in
                switch result {
                case .success(let frames): endMove(of: frames)
                case .failure(let error):
                    // A later commit moves it, and shows if the disk works.
                    log.warning("cannot copy the write-ahead log into the database: \(error)")
                    endMove(of: nil)
                }
            })
    }

    /// Permits the next move and checkpoints, at the end of the next large request if that uses the store now. The log of
    /// such a request could not be moved when it ended, so its move begins here.
    private func endMove(of frames: Int?, wasPutOff: Bool = false) {
        if turns.putOff({ [unowned self] in endMove(of: frames, wasPutOff: true) }) { return }
        isMovingLog = false
        store.endMove(of: frames)
        if wasPutOff { moveLongLog() }
    }

    private func goOn(after pause: TimeSpan) {
        commits = store.commits
        alarm.set(after: pause)
    }

    private func tidy() {
        // The end of this turn sets the alarm again.
        guard turns.outage == nil, turns.longTurn == nil, !isMovingLog, commits == store.commits,
            !turns.turn.isAheadOfStore
        else { return }
        do throws(StoreError) {
            if hasFreeMemory {
                // Memory is returned only now: the answer and the events of a large request are freed last.
                hasFreeMemory = false
                try store.forgetPages()
                isReturningMemory = true
                turns.writing.run(
                    { Program.returnFreeMemory() }, then: { [unowned self] in isReturningMemory = false })
            }
            if try store.tidy() { goOn(after: .zero) }
        } catch {
            // The next commit shows if the disk works.
            log.warning("cannot release unused space: \(error)")
        }
    }
}

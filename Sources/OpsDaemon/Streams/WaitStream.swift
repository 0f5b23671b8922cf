internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// One `Wait`: answers when what it is about is finished, and with `more` tells each end as it comes.
final class WaitStream: ReplyStream, Follower {
    private unowned let daemon: Daemon
    private let exchange: Exchange
    private var scope: WaitScope
    private let waitsForAny: Bool
    private var timer: TimerSource?
    /// Of ends that are told together.
    private lazy var pace = Alarm(daemon) { [unowned self] in self.resume() }
    /// Ends not told yet, in the order in which they came; each operation once, though it be brought back.
    private var ended: Backlog<OperationID>
    private var untold: Set<OperationID>
    /// What has ended last in any other way than well.
    private var unsuccessful: Set<OperationID>
    private var hasAnyEnded: Bool
    private var isOver = false

    /// `alreadyEnded`: what was finished when the call came.
    init(
        _ exchange: Exchange, scope: WaitScope, alreadyEnded: [OperationID], unsuccessful: Set<OperationID>, any: Bool,
        daemon: Daemon
    ) {
        self.exchange = exchange
        self.scope = scope
        self.daemon = daemon
        waitsForAny = any
        ended = Backlog(alreadyEnded)
        untold = Set(alreadyEnded)
        hasAnyEnded = !alreadyEnded.isEmpty
        self.unsuccessful = unsuccessful
    }

    /// Starts counting the time-out, in nanoseconds.
    func setTimeout(_ timeout: Int64) throws(SystemError) {
        timer = try daemon.loop.timer(.monotonic) { [unowned self] in self.timeOut() }
        try timer?.arm(at: Clock.read().monotonic + timeout)
    }

    private var isDone: Bool { scope.remaining == 0 || waitsForAny && hasAnyEnded }

    func take(_ reports: [Report]) {
        guard !isOver else { return }
        do throws(StoreError) {
            for report in reports where try scope.take(report, isIn: daemon.isOperation) { countEnd(report) }
        } catch {
            return giveUp(error)
        }
        if isDone || ended.count >= DaemonLimits.rowsInABatch { resume() } else if wantsRoom { resumeSoon() }
    }

    private func countEnd(_ report: Report) {
        guard let operation = report.operation, !hasAnyEnded || !waitsForAny else { return }
        hasAnyEnded = true
        if untold.insert(operation).inserted { ended.append(operation) }
        if report.outcome == .succeeded { unsuccessful.remove(operation) } else { unsuccessful.insert(operation) }
    }

    /// Ends that are not the last are told together: each alone would cost more than the operation did.
    private func resumeSoon() {
        if pace.instant == nil, !pace.set(after: DaemonLimits.patience) { resume() }
    }

    var wantsRoom: Bool { !ended.isEmpty && exchange.call.more }

    func resume() {
        guard !isOver, !exchange.isAbandoned else { return }
        do {
            while exchange.call.more, !ended.isEmpty, exchange.hasRoom {
                // The last batch goes with the last reply.
                if isDone && ended.count <= DaemonLimits.rowsInABatch { break }
                exchange.replyAndGoOn(try reply(atMost: DaemonLimits.rowsInABatch))
            }
            guard isDone, exchange.hasRoom || !exchange.call.more else { return }
            try finish()
        } catch {
            giveUp(error)
        }
    }

    private func finish() throws {
        let last = try reply(atMost: Self.rowsInTheLastReply)
        leave()
        exchange.reply(last)
    }

    private func giveUp(_ error: any Error) {
        leave()
        exchange.fail(ControlError.storageUnavailable("\(error)"))
    }

    /// Without `more` all ends come in one reply: as many as a reader can be expected to take.
    private static let rowsInTheLastReply = 100_000

    private func reply(atMost limit: Int) throws -> WaitReply {
        let batch = ended.removeFirst(atMost: limit)
        untold.subtract(batch)
        var reply = WaitReply()
        reply.ended = try daemon.endedRows(Array(batch))
        reply.remaining = scope.remaining
        reply.succeeded = unsuccessful.isEmpty
        return reply
    }

    private func timeOut() {
        guard !isOver else { return }
        leave()
        exchange.fail(ControlError.timedOut(remaining: scope.remaining))
    }

    private func leave() {
        isOver = true
        timer?.cancel()
        timer = nil
        pace.set(at: nil)
        daemon.publisher.remove(self)
    }

    func readerLeft() { leave() }
}

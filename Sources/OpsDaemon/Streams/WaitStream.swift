internal import OpsCore
internal import OpsLinux
internal import OpsWire

/// One `Wait`: answers when what it is about is finished, and with `more` tells each end as it comes.
final class WaitStream: ReplyStream, Follower {
    private unowned let daemon: Daemon
    private let exchange: Exchange
    private var scope: WaitScope
    private let waitsForAny: Bool
    private var timer: TimerSource?
    /// Of ends that are told together.
    private var pace: TimerSource?
    /// Ends not told yet, in the order in which they came.
    private var ended: [OperationID]
    private var haveAllSucceeded: Bool
    private var hasAnyEnded: Bool
    private var isOver = false

    /// `alreadyEnded`: what was finished when the call came.
    init(
        _ exchange: Exchange, scope: WaitScope, alreadyEnded: [OperationID], haveAllSucceeded: Bool, any: Bool,
        daemon: Daemon
    ) {
        self.exchange = exchange
        self.scope = scope
        self.daemon = daemon
        waitsForAny = any
        ended = alreadyEnded
        hasAnyEnded = !alreadyEnded.isEmpty
        self.haveAllSucceeded = haveAllSucceeded
    }

    /// Starts counting the time-out, in nanoseconds.
    func setTimeout(_ timeout: Int64) throws(SystemError) {
        timer = try daemon.loop.timer(.monotonic) { [unowned self] in self.timeOut() }
        try timer?.arm(at: Clock.read().monotonic + timeout)
    }

    private var isDone: Bool { scope.remaining == 0 || waitsForAny && hasAnyEnded }

    func take(_ reports: [Report]) {
        guard !isOver else { return }
        for report in reports {
            guard scope.take(report, isIn: daemon.isOperation) else { continue }
            guard let operation = report.operation else { continue }
            if !hasAnyEnded || !waitsForAny {
                ended.append(operation)
                haveAllSucceeded = haveAllSucceeded && report.outcome == .succeeded
            }
            hasAnyEnded = true
        }
        if isDone || ended.count >= DaemonLimits.rowsInABatch { resume() } else if wantsRoom { resumeSoon() }
    }

    /// Ends that are not the last are told together: each alone would cost more than the operation did.
    private func resumeSoon() {
        do throws(SystemError) {
            if pace == nil { pace = try daemon.loop.timer(.monotonic) { [unowned self] in self.resume() } }
            guard let pace, pace.deadline == nil else { return }
            try pace.arm(at: Clock.read().monotonic + DaemonLimits.patience)
        } catch {
            daemon.diary.error("cannot set a timer: \(error)")
            resume()
        }
    }

    var wantsRoom: Bool { !ended.isEmpty && exchange.call.more }

    func resume() {
        guard !isOver, !exchange.isAbandoned else { return }
        do {
            while exchange.call.more, !ended.isEmpty, exchange.hasRoom {
                // The last batch goes with the last reply.
                if isDone && ended.count <= DaemonLimits.rowsInABatch { break }
                let batch = Array(ended.prefix(DaemonLimits.rowsInABatch))
                ended.removeFirst(batch.count)
                exchange.replyAndGoOn(try reply(batch))
            }
            guard isDone, exchange.hasRoom || !exchange.call.more else { return }
            try finish()
        } catch {
            leave()
            exchange.fail(ControlError.storageUnavailable("\(error)"))
        }
    }

    private func finish() throws {
        let last = try reply(Array(ended.prefix(Self.rowsInTheLastReply)))
        leave()
        exchange.reply(last)
    }

    /// Without `more` all ends come in one reply: as many as a reader can be expected to take.
    private static let rowsInTheLastReply = 100_000

    private func reply(_ batch: [OperationID]) throws -> WaitReply {
        var reply = WaitReply()
        reply.ended = try daemon.rows.ended(batch)
        reply.remaining = scope.remaining
        reply.succeeded = haveAllSucceeded
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
        pace?.cancel()
        pace = nil
        daemon.publisher.remove(self)
    }

    func readerLeft() { leave() }
}

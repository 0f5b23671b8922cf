internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Answers a `Wait` when its operations have finished, and with `more` reports each finish before.
final class WaitStream: ReplyStream, Follower {
    private let turns: Turns
    private let history: History
    private let queries: QueryQueue
    private unowned let publisher: Publisher
    private let loop: EventLoop
    private let log: DaemonLog
    private let exchange: Exchange
    private var scope: WaitScope
    private let waitsForAny: Bool
    private var timer: TimerSource<MonotonicInstant>?
    /// Alarm that gathers ends, so that they are reported together.
    private lazy var pace = Alarm(loop, log) { [unowned self] in self.resume() }
    /// Finishes that are not reported yet, in order; each operation once, even if it was retried.
    private var ended: Backlog<OperationID>
    private var unreported: Set<OperationID>
    /// Operations whose last outcome was not a success.
    private var unsuccessful: Set<OperationID>
    private var hasAnyEnded: Bool
    /// The last event that the start of the wait has counted.
    private let seen: Int64
    private var isOver = false

    init(
        _ exchange: Exchange, _ start: WaitStart, turns: Turns, history: History, queries: QueryQueue,
        publisher: Publisher, loop: EventLoop, log: DaemonLog
    ) {
        self.exchange = exchange
        scope = start.scope
        self.turns = turns
        self.history = history
        self.queries = queries
        self.publisher = publisher
        self.loop = loop
        self.log = log
        waitsForAny = start.waitsForAny
        ended = Backlog(start.ended)
        unreported = start.unreported
        hasAnyEnded = !start.ended.isEmpty
        unsuccessful = start.unsuccessful
        seen = start.sequence
    }

    /// Starts counting the time-out.
    func setTimeout(_ timeout: TimeSpan) throws(SystemError) {
        timer = try loop.timer(.monotonic) { [unowned self] in self.timeOut() }
        try timer?.arm(at: Clock.read().monotonic + timeout)
    }

    private var isDone: Bool { scope.remaining == 0 || waitsForAny && hasAnyEnded }

    func receive(_ reports: [Report]) {
        guard !isOver else { return }
        do throws(StoreError) {
            for report in reports where report.sequence > seen {
                if try scope.apply(report, isIn: turns.isOperation) { countEnd(report) }
            }
        } catch {
            return giveUp(error)
        }
        if isDone || ended.count >= DaemonLimits.rowsInABatch { resume() } else if wantsRoom { resumeSoon() }
    }

    private func countEnd(_ report: Report) {
        guard let operation = report.operation, !hasAnyEnded || !waitsForAny else { return }
        hasAnyEnded = true
        if unreported.insert(operation).inserted { ended.append(operation) }
        if report.outcome?.isUnsuccessful == false {
            unsuccessful.remove(operation)
        } else {
            unsuccessful.insert(operation)
        }
    }

    /// Reports finishes a little later, together: one reply for each would cost more than the operation did.
    private func resumeSoon() {
        if pace.instant == nil, !pace.set(after: DaemonLimits.patience) { resume() }
    }

    var wantsRoom: Bool { !ended.isEmpty && exchange.call.more }

    func resume() {
        guard !isOver, !exchange.isAbandoned else { return }
        do {
            while exchange.call.more, !ended.isEmpty, exchange.hasRoom {
                // The last reply contains the last batch.
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
        guard ended.count > DaemonLimits.rowsInABatch else {
            let last = try reply(atMost: DaemonLimits.rowsInABatch)
            leave()
            return exchange.reply(last)
        }
        let ids = Array(ended.removeFirst(atMost: Self.rowsInTheLastReply))
        leave()
        let (remaining, succeeded) = (scope.remaining, unsuccessful.isEmpty)
        queries.ask(exchange, EndedQuery(ids)) { [exchange, queries] rows in
            let make: @Sendable () -> [UInt8] = {
                var reply = WaitReply()
                reply.ended = rows
                reply.remaining = remaining
                reply.succeeded = succeeded
                return Reply.frame(reply)
            }
            queries.encode(exchange, make) { exchange.reply(frame: $0) }
        }
    }

    private func giveUp(_ error: any Error) {
        leave()
        exchange.fail(ControlError.storageUnavailable("\(error)"))
    }

    /// Maximum number of finishes in the last reply, which without `more` contains all of them.
    private static let rowsInTheLastReply = 100_000

    private func reply(atMost limit: Int) throws -> WaitReply {
        let batch = ended.removeFirst(atMost: limit)
        unreported.subtract(batch)
        var reply = WaitReply()
        reply.ended = try history.ends(of: Array(batch)).map { EndedRow($0) }
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
        publisher.remove(self)
    }

    func readerLeft() { leave() }
}

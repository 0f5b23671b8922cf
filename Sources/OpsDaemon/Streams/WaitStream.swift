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
    private var finishes: CountedFinishes
    private var timer: TimerSource<MonotonicInstant>?
    /// Alarm that gathers ends, so that they are reported together.
    private lazy var pace = Alarm(loop, log) { [unowned self] in self.resume() }
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
        finishes = start.finishes
        seen = start.sequence
    }

    /// Starts counting the time-out.
    func setTimeout(_ timeout: TimeSpan) throws(SystemError) {
        timer = try loop.timer(.monotonic) { [unowned self] in self.timeOut() }
        try timer?.arm(at: Clock.read().monotonic + timeout)
    }

    private var isDone: Bool { scope.remaining == 0 || finishes.isEnough }

    func receive(_ reports: [Report]) {
        guard !isOver else { return }
        do throws(StoreError) {
            for report in reports where report.sequence > seen {
                if try scope.apply(report, isIn: turns.isOperation) { finishes.add(report) }
            }
        } catch {
            return giveUp(error)
        }
        if isDone || finishes.ended.count >= DaemonLimits.rowsInABatch { resume() } else if wantsRoom { resumeSoon() }
    }

    /// Reports finishes a little later, together: one reply for each would cost more than the operation did.
    private func resumeSoon() {
        if pace.instant == nil, !pace.set(after: DaemonLimits.patience) { resume() }
    }

    var wantsRoom: Bool { !finishes.ended.isEmpty && exchange.call.more }

    func resume() {
        guard !isOver, !exchange.isAbandoned else { return }
        do {
            while exchange.call.more, !finishes.ended.isEmpty, exchange.hasRoom {
                // The last reply contains the last batch.
                if isDone && finishes.ended.count <= DaemonLimits.rowsInABatch { break }
                exchange.replyAndGoOn(try reply(atMost: DaemonLimits.rowsInABatch))
            }
            guard isDone, exchange.hasRoom || !exchange.call.more else { return }
            try finish()
        } catch {
            giveUp(error)
        }
    }

    private func finish() throws {
        guard finishes.ended.count > DaemonLimits.rowsInABatch else {
            let last = try reply(atMost: DaemonLimits.rowsInABatch)
            leave()
            return exchange.reply(last)
        }
        let ids = Array(finishes.ended.removeFirst(atMost: Self.rowsInTheLastReply))
        leave()
        let (remaining, succeeded) = (scope.remaining, finishes.unsuccessful.isEmpty)
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
        let batch = finishes.popNext(atMost: limit)
        var reply = WaitReply()
        reply.ended = try history.ends(of: Array(batch)).map { EndedRow($0) }
        reply.remaining = scope.remaining
        reply.succeeded = finishes.unsuccessful.isEmpty
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

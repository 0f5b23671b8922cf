internal import OpsCore
internal import OpsSystem
internal import OpsSystemd

/// Answers questions to the scheduler. Questions to a large one take long: they are answered one after the other, in
/// each turn of the loop as many as a few milliseconds allow. Users take turns.
final class SchedulerQueries {
    private let turns: Turns
    private let loop: EventLoop
    private let fail: (Exchange, any Error) -> Void
    /// Waiting questions. The only slot is held by a question that is answered from a copy of the scheduler, so there
    /// is one copy at a time.
    private var waiting = FairBacklog<Question>(slots: 1)
    private let thread: SideWork
    /// Continues with the waiting questions in the next turn.
    private lazy var work = DeferredWork(loop) { [unowned self] in self.proceed() }
    private var isAnswering = false
    /// Time that questions have taken in this turn.
    private var spent = TimeSpan.zero

    private struct Question {
        let exchange: Exchange
        /// Answers the question, and calls `done` when the slot is no longer needed.
        let answer: (_ done: @escaping () -> Void) -> Void
    }

    /// Time of a turn in which questions are answered after the first one.
    private let inATurn: TimeSpan

    init(
        turns: Turns, loop: EventLoop, log: DaemonLog, inATurn: TimeSpan = .milliseconds(4),
        fail: @escaping (Exchange, any Error) -> Void
    ) {
        self.turns = turns
        self.loop = loop
        self.fail = fail
        thread = SideWork(loop: loop, log: log)
        self.inATurn = inATurn
    }

    /// Answers a question in the loop.
    func ask(_ exchange: Exchange, _ answer: @escaping () throws -> Void) {
        add(exchange) { [unowned self] done in
            do { try answer() } catch { self.fail(exchange, error) }
            done()
        }
    }

    /// Queries a copy of the scheduler, outside the loop if it is large, then answers in the loop.
    func askCopy<Value: Sendable>(
        _ exchange: Exchange, _ question: @escaping @Sendable (consuming Scheduler) throws -> Value,
        then answer: @escaping (Value) throws -> Void
    ) {
        let finish = { [unowned self] (result: Result<Value, any Error>) in
            if exchange.isAbandoned { return }
            do { try answer(result.get()) } catch { self.fail(exchange, error) }
        }
        add(exchange) { [unowned self] done in
            guard let core = turns.core else {
                self.fail(exchange, turns.unavailable)
                return done()
            }
            let copy = Transferred(core)
            let ask = { @Sendable in Result { try question(copy.consume()) } }
            guard self.isLarge else {
                finish(ask())
                return done()
            }
            self.thread.run(ask) { result in
                finish(result)
                done()
            }
        }
    }

    /// Lets the next turn answer questions again.
    func turnEnded() {
        spent = .zero
        guard !waiting.isEmpty, waiting.running == 0 else { return }
        work.schedule()
    }

    /// Continues with the waiting queries.
    private func proceed() {
        guard !isAnswering else { return }
        isAnswering = true
        defer { isAnswering = false }
        while spent < inATurn, let (question, user) = waiting.start() {
            let end = { [unowned self] in
                self.waiting.end(of: user)
                self.proceed()
            }
            guard !question.exchange.isAbandoned else {
                end()
                continue
            }
            let start = Clock.read().monotonic
            question.answer(end)
            spent += Clock.read().monotonic - start
        }
    }

    /// True if a single question may take long.
    private var isLarge: Bool { turns.ask { $0.counts.isMoreThanTheLoopTakes } ?? false }

    private func add(_ exchange: Exchange, _ answer: @escaping (_ done: @escaping () -> Void) -> Void) {
        exchange.pauseReading()
        waiting.append(Question(exchange: exchange, answer: answer), of: exchange.caller.user)
        proceed()
    }
}

internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// Answers queries. Short ones are read in the loop, all others outside it. There users take turns, slice by slice, and
/// so do the queries of one user: a user with a short query waits for at most one slice of each other user.
final class QueryQueue {
    private let history: History
    /// Path of the database.
    private let path: String
    private let fail: (Exchange, any Error) -> Void
    private let limits: QueryLimits
    private let thread: SideWork
    private let reader: QueryReader
    private var waiting = FairBacklog<Entry>(slots: 1)
    private var users: [UInt32: Int] = [:]
    private var isStarting = false
    /// Time that queries have taken in this turn of the loop.
    private var spent = TimeSpan.zero

    private struct Entry {
        let exchange: Exchange
        /// Reads a slice outside the loop.
        let start: () -> Void
    }

    init(
        loop: EventLoop, log: DaemonLog, history: History, path: String, limits: QueryLimits = QueryLimits(),
        fail: @escaping (Exchange, any Error) -> Void
    ) {
        self.history = history
        self.path = path
        self.fail = fail
        thread = SideWork(loop: loop, log: log)
        self.limits = limits
        reader = QueryReader(limits)
    }

    /// Lets the next turn answer queries again.
    func turnEnded() { spent = .zero }

    /// Answers a query now or later. The next call of the client waits for it.
    func ask<Q: Query>(
        _ query: Q, of exchange: Exchange, then answer: @escaping (Result<Q.Answer, any Error>) -> Void
    ) {
        var query = query
        let start = Clock.read().monotonic
        let before = spent
        // An answer may make further queries: their time is part of this.
        defer { spent = before + (Clock.read().monotonic - start) }
        if let result = answerInLoop(&query, exchange.caller.user, from: start) { return answer(result) }
        begin(query, of: exchange, then: answer)
    }

    /// Answers a query in the same way. An error of the query or of `answer` becomes the reply.
    func ask<Q: Query>(_ exchange: Exchange, _ query: Q, then answer: @escaping (Q.Answer) throws -> Void) {
        ask(query, of: exchange) { [fail] result in
            do { try answer(result.get()) } catch { fail(exchange, error) }
        }
    }

    /// Encodes a long answer outside the loop, in the turn of its user.
    func encode(
        _ exchange: Exchange, _ make: @escaping @Sendable () -> [UInt8], then send: @escaping ([UInt8]) -> Void
    ) {
        begin(SingleStep { _ in make() }, of: exchange) { result in
            // Nothing is read, so only the opening of the database can fail.
            switch result {
            case .success(let bytes): send(bytes)
            case .failure(let error): self.fail(exchange, error)
            }
        }
    }

    private func begin<Q: Query>(
        _ query: Q, of exchange: Exchange, then answer: @escaping (Result<Q.Answer, any Error>) -> Void
    ) {
        exchange.pauseReading()
        users[exchange.caller.user, default: 0] += 1
        add(Transferred(query), used: .zero, charged: exchange.share.bytes, exchange, answer)
    }

    /// Returns nil if the query takes longer than this turn has time for. `query` keeps its progress.
    private func answerInLoop<Q: Query>(
        _ query: inout Q, _ user: UInt32, from start: MonotonicInstant
    ) -> Result<Q.Answer, any Error>? {
        // Queries of one user are answered roughly in order.
        guard spent < limits.inLoop, users[user] == nil else { return nil }
        let end = start + limits.inLoop - spent
        repeat {
            let before = query
            do {
                let isLate = { Clock.read().monotonic >= end }
                let answer = try history.reading(until: isLate) {
                    try query.proceed(history)
                }
                if let answer { return .success(answer) }
            } catch let error as StoreError where error.kind == .interrupted {
                query = before
                return nil
            } catch {
                return .failure(error)
            }
        } while Clock.read().monotonic < end
        return nil
    }

    // MARK: Beside the loop

    /// `charged`: bytes that the user's budget is charged with for the call itself.
    private func add<Q: Query>(
        _ query: Transferred<Q>, used: TimeSpan, charged: Int, _ exchange: Exchange,
        _ answer: @escaping (Result<Q.Answer, any Error>) -> Void
    ) {
        let entry = Entry(
            exchange: exchange,
            start: { [unowned self] in
                self.thread.run(
                    { [reader, path] in reader.readSlice(of: query, used: used, path) },
                    then: { [unowned self] slice in
                        self.waiting.end(of: exchange.caller.user)
                        switch slice {
                        case .more(let query, let used, let held):
                            if exchange.isAbandoned || exchange.share.resize(to: charged + held) {
                                self.add(query, used: used, charged: charged, exchange, answer)
                            } else {
                                self.end(exchange, charged, .failure(exchange.connection.user.budget.refusal), answer)
                            }
                        case .over(let result): self.end(exchange, charged, result, answer)
                        }
                        self.startNext()
                    })
            })
        waiting.append(entry, of: exchange.caller.user)
        startNext()
    }

    private func end<Answer>(
        _ exchange: Exchange, _ charged: Int, _ result: Result<Answer, any Error>,
        _ answer: (Result<Answer, any Error>) -> Void
    ) {
        leave(exchange)
        if exchange.isAbandoned { return }
        exchange.share.set(charged)
        answer(result)
    }

    private func leave(_ exchange: Exchange) {
        let user = exchange.caller.user
        let left = (users[user] ?? 1) - 1
        users[user] = left > 0 ? left : nil
    }

    private func startNext() {
        // Without a side thread, the end of one slice starts the next.
        guard !isStarting else { return }
        isStarting = true
        defer { isStarting = false }
        while let (entry, user) = waiting.start() {
            guard entry.exchange.isAbandoned else {
                entry.start()
                continue
            }
            waiting.end(of: user)
            leave(entry.exchange)
        }
        // A reader that stays open would prevent the log from being shortened, and the store from being the last to
        // close the database.
        if waiting.running == 0 { thread.run({ [reader] in reader.close() }, then: {}) }
    }
}

/// The reader of the queue. It has its own connection to the database while there is something to read.
///
/// Unchecked: only the jobs of one thread use it, one after the other.
private final class QueryReader: @unchecked Sendable {
    private let limits: QueryLimits
    private var history: History?

    init(_ limits: QueryLimits) { self.limits = limits }

    enum Slice<Q: Query>: Sendable {
        case more(Transferred<Q>, used: TimeSpan, held: Int)
        case over(Result<Q.Answer, any Error>)
    }

    func readSlice<Q: Query>(of moved: Transferred<Q>, used: TimeSpan, _ path: String) -> Slice<Q> {
        var query = moved.consume()
        let start = Clock.read().monotonic
        func elapsed() -> TimeSpan { Clock.read().monotonic - start }
        do {
            let history = try history ?? History.open(path: path)
            self.history = history
            let left = limits.total - used
            let isLate = { elapsed() >= left }
            let answer = try history.reading(until: isLate) {
                repeat {
                    if let answer = try query.proceed(history) { return Optional.some(answer) }
                } while elapsed() < limits.slice
                return nil
            }
            if let answer { return .over(.success(answer)) }
            let used = used + elapsed()
            let held = query.heldBytes
            return used < limits.total
                ? .more(Transferred(query), used: used, held: held) : .over(.failure(QueryTooLong(limit: limits.total)))
        } catch let error as StoreError where error.kind == .interrupted {
            return .over(.failure(QueryTooLong(limit: limits.total)))
        } catch {
            // After an error of the store a connection may continue to fail.
            if error is StoreError { close() }
            return .over(.failure(error))
        }
    }

    func close() { history = nil }
}

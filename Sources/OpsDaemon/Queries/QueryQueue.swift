internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd

/// Answers queries. What takes a moment is read in the loop; everything else beside it, where users take turns, slice by
/// slice, and so do the queries of one user: who asks little waits for one slice of each who asks much.
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
    /// Nanoseconds of this turn in which queries were answered in the loop.
    private var spent: Int64 = 0

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

    /// The next turn has time for queries again.
    func turnEnded() { spent = 0 }

    /// Answers a query now, or later: the client's next call waits for it.
    func ask<Q: Query>(
        _ query: Q, of exchange: Exchange, then answer: @escaping (Result<Q.Answer, any Error>) -> Void
    ) {
        var query = query
        let start = Clock.read().monotonic
        let before = spent
        // An answer may ask on: its time is part of this.
        defer { spent = before + Clock.read().monotonic - start }
        if let result = answerInLoop(&query, exchange.caller.user, from: start) { return answer(result) }
        begin(query, of: exchange, then: answer)
    }

    /// Answers a query like the other function; a failure, of the query or of `answer`, is the reply.
    func ask<Q: Query>(_ exchange: Exchange, _ query: Q, then answer: @escaping (Q.Answer) throws -> Void) {
        ask(query, of: exchange) { [fail] result in
            do { try answer(result.get()) } catch { fail(exchange, error) }
        }
    }

    /// Encodes a long answer outside the loop, when it is its user's turn.
    func encode(
        _ exchange: Exchange, _ make: @escaping @Sendable () -> [UInt8], then send: @escaping ([UInt8]) -> Void
    ) {
        begin(SingleStep { _ in make() }, of: exchange) { result in
            // Nothing is read, so nothing fails but to open the database.
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
        add(Transferred(query), used: 0, charged: exchange.share.bytes, exchange, answer)
    }

    /// Nil: it takes longer than this turn has time for. `query` has got as far as it did.
    private func answerInLoop<Q: Query>(
        _ query: inout Q, _ user: UInt32, from start: Int64
    ) -> Result<Q.Answer, any Error>? {
        // Queries of one user are answered in about their order.
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
        _ query: Transferred<Q>, used: Int64, charged: Int, _ exchange: Exchange,
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
        // Without a thread, the end of one slice starts the next.
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
        // A reader that stays would keep the log from being cut, and the last to close the database from being the store.
        if waiting.running == 0 { thread.run({ [reader] in reader.close() }, then: {}) }
    }
}

/// The reading end of the queue: a connection of its own, for as long as there is something to read.
///
/// Unchecked: it is used by the jobs of one thread alone, which come one after the other.
private final class QueryReader: @unchecked Sendable {
    private let limits: QueryLimits
    private var history: History?

    init(_ limits: QueryLimits) { self.limits = limits }

    enum Slice<Q: Query>: Sendable {
        case more(Transferred<Q>, used: Int64, held: Int)
        case over(Result<Q.Answer, any Error>)
    }

    func readSlice<Q: Query>(of moved: Transferred<Q>, used: Int64, _ path: String) -> Slice<Q> {
        var query = moved.consume()
        let start = Clock.read().monotonic
        func elapsed() -> Int64 { Clock.read().monotonic - start }
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
            // A connection may keep failing after one error of the store.
            if error is StoreError { close() }
            return .over(.failure(error))
        }
    }

    func close() { history = nil }
}

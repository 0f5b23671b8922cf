internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsWire

/// Numbers for monitoring.
extension Requests {
    /// Updates the counters a little in each turn, and answers with them once they are stored, so that a reported
    /// number never decreases. During an outage the last stored numbers are the answer.
    func metrics(_ exchange: Exchange) throws {
        if untilSchedulesAreLoaded(exchange, { [unowned self] in try metrics(exchange) }) { return }
        guard turns.outage == nil else { return storedMetrics(exchange) }
        try change(exchange) { [unowned self] in
            let counting = store.count()
            exchange.goOn(
                with: SteppedWork(exchange, self, usingStoreOf: turns) { [unowned self] in
                    guard turns.outage == nil else {
                        storedMetrics(exchange)
                        return true
                    }
                    guard try counting.step() != nil else { return false }
                    storedMetrics(exchange)
                    return true
                })
        }
    }

    /// Maximum number of schedules in the answer, in the order of names. With more, `MetricsText` could have more than
    /// 1,000 series.
    private static let mostSchedules = 70

    private func storedMetrics(_ exchange: Exchange) {
        let now = Clock.read().wall
        let schedules = schedules.all.prefix(Self.mostSchedules).map(\.stored)
        ask(exchange, MetricsQuery(schedules: schedules, now: now)) { [unowned self] stored in
            self.schedulerQueries.ask(exchange) { [unowned self] in
                let standings = turns.ask { $0.queueStandings } ?? []
                let loads = turns.ask { $0.categoryLoads } ?? []
                exchange.reply(stored.reply(standings, loads))
            }
        }
    }
}

/// Reads the part of the answer that is in the database, one schedule at a time.
private struct MetricsQuery: Query {
    let schedules: [StoredSchedule]
    let now: WallInstant
    var rows: [ScheduleMetricsRow] = []

    mutating func proceed(_ history: History) throws -> StoredMetrics? {
        guard rows.count < schedules.count else { return try StoredMetrics(history, rows, now: now) }
        let schedule = schedules[rows.count]
        let numbers = try history.numbers(of: schedule.id)
        rows.append(
            .with {
                $0.name = schedule.name
                $0.user = schedule.user
                $0.lastSuccess = numbers.lastSuccess.map(InstantText.format)
                $0.missed = numbers.missed
            })
        return nil
    }
}

/// The part of the answer that is in the database.
private struct StoredMetrics: Sendable {
    private let counters: Counters
    private let queues: [(row: Int64, name: String, isRemoved: Bool)]
    private let readySince: [Int64: WallInstant]
    private let size: Int64
    private let schedules: [ScheduleMetricsRow]

    init(_ history: History, _ schedules: [ScheduleMetricsRow], now: WallInstant) throws {
        self.schedules = schedules
        counters = try history.counters()
        queues = try history.queuesEver()
        readySince = try history.readySince(now: now)
        size = try history.size()
    }

    func reply(_ standings: [Scheduler.QueueStanding], _ loads: [Scheduler.CategoryLoad]) -> MetricsReply {
        let standings = Dictionary(standings.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var reply = MetricsReply()
        reply.queues = queues.map { queue in
            let counters = counters.of(queue: queue.row)
            let standing = standings[queue.name]
            return .with { row in
                row.name = queue.name
                row.removed = queue.isRemoved
                row.limit = standing?.limit.map(Int.init)
                row.suspended = standing?.isSuspended ?? false
                row.pending = standing.map { $0.pending - $0.setApart.heldPending } ?? 0
                row.ready = standing.map { $0.ready - $0.setApart.heldReady - $0.setApart.scheduled } ?? 0
                row.executing = standing?.executing ?? 0
                row.readySince = readySince[queue.row].map(InstantText.format)
                row.finished = OutcomeCountsRow(counters)
                row.waiting = HistogramRow(counters.waiting)
                row.running = HistogramRow(counters.running)
            }
        }
        reply.schedules = schedules
        reply.categories = loads.map { CategoryMetricsRow($0) }
        reply.commits = HistogramRow(counters.commits)
        reply.turns = HistogramRow(counters.turns)
        reply.databaseBytes = size
        return reply
    }
}

extension CategoryMetricsRow {
    fileprivate init(_ load: Scheduler.CategoryLoad) {
        self.init()
        name = load.name
        capacity = load.capacity == Limits.noCapacity ? nil : Int(load.capacity)
        // An exclusive operation uses all units. Without a capacity it counts as one.
        used = load.used == Limits.noCapacity ? 1 : Int(load.used)
        waiting = load.waiting
    }
}

extension HistogramRow {
    fileprivate init(_ histogram: Histogram) {
        self.init()
        bounds = histogram.bounds.map { Double($0) / 1e9 }
        counts = histogram.counts
        sum = Double(histogram.sum) / 1e9
    }
}

extension OutcomeCountsRow {
    fileprivate init(_ counters: Counters.OfQueue) {
        self.init()
        succeeded = counters[.succeeded]
        failed = counters[.failed]
        timedOut = counters[.timedOut]
        cancelled = counters[.cancelled]
        skipped = counters[.skipped] + counters[.notNeeded]
        interrupted = counters[.interrupted]
    }
}

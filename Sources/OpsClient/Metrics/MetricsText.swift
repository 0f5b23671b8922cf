internal import OpsSystem
public import OpsWire

extension Connection {
    /// Returns the figures of the daemon for monitoring, as OpenMetrics text.
    public func metricsText() throws(ClientError) -> String {
        let status = try call(StatusRequest())
        let executors = try call(ListExecutorsRequest()).executors
        let metrics = try call(MetricsRequest())
        return MetricsText(status, metrics, executors, now: Clock.read().wall).text
    }
}

/// The figures of a daemon as OpenMetrics text, with at most 1,000 series.
public struct MetricsText {
    /// Media type of the text, for HTTP.
    public static let mediaType = "application/openmetrics-text; version=1.0.0; charset=utf-8"

    /// Number of queues with series of their own; later queues are added up.
    private static let namedQueues = 16
    /// Number of categories with series of their own, in the order of names; the others are added up.
    private static let namedCategories = 60
    /// Number of executors with series of their own, in the order of the configuration; the others are added up.
    private static let namedExecutors = 16
    /// Label of the sums. No queue, category or executor can have this name.
    private static let others = "(others)"

    private var writer = OpenMetricsWriter()

    public var text: String { writer.finished }

    /// - Parameter executors: executors other than this machine.
    public init(_ status: StatusReply, _ metrics: MetricsReply, _ executors: [ExecutorRow], now: WallInstant) {
        let queues = Self.bounded(metrics.queues)
        addDaemon(status, metrics)
        addOperations(status, metrics.queues, now: now)
        addQueues(queues, now: now)
        addCategories(Self.bounded(metrics.categories))
        addSchedules(metrics.schedules)
        addExecutors([Self.local(status)] + Self.bounded(executors))
    }

    private mutating func addDaemon(_ status: StatusReply, _ metrics: MetricsReply) {
        writer.family("opsd_build_info", .gauge, "Version of the daemon.") {
            $0.sample(1, ["version": status.version])
        }
        if let start = InstantText.parse(status.startedAt) {
            writer.family("opsd_start_time_seconds", .gauge, unit: "seconds", "Start of the daemon, as a Unix time.") {
                $0.sample((start - .zero).inSeconds)
            }
        }
        writer.family("opsd_state", .gauge, "State of the daemon: 1 for the current state.") {
            for state in [DaemonState.running, .draining, .storageUnavailable] {
                $0.sample(status.state == state ? 1 : 0, ["state": state.rawValue])
            }
        }
        writer.family("opsd_suspended", .gauge, "Whether the daemon is suspended.") {
            $0.sample(status.suspended ? 1 : 0)
        }
        writer.family("opsd_storage_available", .gauge, "Whether the database accepts writes.") {
            $0.sample(status.state == .storageUnavailable ? 0 : 1)
        }
        writer.family("opsd_database_size_bytes", .gauge, unit: "bytes", "Size of the database.") {
            $0.sample(Double(metrics.databaseBytes))
        }
        writer.family("opsd_events", .counter, "Events of all operations so far.") { $0.sample(Double(status.lastSeq)) }
        writer.histogram("opsd_commit_duration_seconds", "Durations of commits.", [([:], metrics.commits)])
        writer.histogram(
            "opsd_turn_duration_seconds", "Durations of turns: decision, commit, replies and commands.",
            [([:], metrics.turns)])
        writer.family("opsd_runner_connected", .gauge, "Whether opsd-runner is connected.") {
            $0.sample(status.runnerPid == nil ? 0 : 1)
        }
        writer.family("opsd_runner_answers", .gauge, "Whether opsd-runner answers.") {
            $0.sample(status.runnerAnswers ? 1 : 0)
        }
        writer.family("opsd_workers", .gauge, "Number of processes that may run at once.") {
            $0.sample(Double(status.workers))
        }
    }

    private mutating func addOperations(_ status: StatusReply, _ queues: [QueueMetricsRow], now: WallInstant) {
        let counts = status.counts
        writer.family("opsd_operations", .gauge, "Stored operations by state.") {
            let states = [
                ("pending", counts.pending), ("ready", counts.ready), ("scheduled", counts.scheduled),
                ("held", counts.held), ("executing", counts.executing), ("finished", counts.finished),
            ]
            for (state, count) in states { $0.sample(Double(count), ["state": state]) }
        }
        writer.family(
            "opsd_ready_age_seconds", .gauge, unit: "seconds",
            "Time for which the oldest ready operation has been ready."
        ) { $0.sample(queues.map { $0.readyAge(now: now) }.max() ?? 0) }
    }

    private mutating func addQueues(_ queues: [QueueMetricsRow], now: WallInstant) {
        writer.family("opsd_operations_finished", .counter, "Finished operations by queue and outcome.") {
            for queue in queues {
                for (outcome, count) in queue.finished.byName {
                    $0.sample(Double(count), ["queue": queue.name, "outcome": outcome])
                }
            }
        }
        writer.histogram(
            "opsd_operation_waiting_seconds", "Times from ready to the last start of operations that have finished.",
            queues.map { (["queue": $0.name], $0.waiting) })
        writer.histogram(
            "opsd_operation_running_seconds", "Running times of operations that have finished.",
            queues.map { (["queue": $0.name], $0.running) })
        let present = queues.filter { !$0.removed }
        writer.family("opsd_queue_operations", .gauge, "Unfinished operations by queue and state.") {
            for queue in present {
                let states = [("pending", queue.pending), ("ready", queue.ready), ("executing", queue.executing)]
                for (state, count) in states { $0.sample(Double(count), ["queue": queue.name, "state": state]) }
            }
        }
        writer.family(
            "opsd_queue_limit", .gauge, "Maximum number of operations of a queue that execute at once."
        ) {
            for queue in present { if let limit = queue.limit { $0.sample(Double(limit), ["queue": queue.name]) } }
        }
        writer.family("opsd_queue_suspended", .gauge, "Whether a queue is suspended.") {
            for queue in present { $0.sample(queue.suspended ? 1 : 0, ["queue": queue.name]) }
        }
        writer.family(
            "opsd_queue_ready_age_seconds", .gauge, unit: "seconds",
            "Time for which the oldest ready operation of a queue has been ready."
        ) { for queue in present { $0.sample(queue.readyAge(now: now), ["queue": queue.name]) } }
    }

    private mutating func addCategories(_ categories: [CategoryMetricsRow]) {
        let families: [(String, String, (CategoryMetricsRow) -> Int?)] = [
            ("opsd_category_capacity", "Capacity of a category.", { $0.capacity }),
            ("opsd_category_used", "Units of a category in use.", { $0.used }),
            ("opsd_category_waiting", "Ready operations that wait for a category.", { $0.waiting }),
        ]
        for (name, help, value) in families {
            writer.family(name, .gauge, help) {
                for category in categories {
                    if let figure = value(category) { $0.sample(Double(figure), ["category": category.name]) }
                }
            }
        }
    }

    private mutating func addSchedules(_ schedules: [ScheduleMetricsRow]) {
        writer.family(
            "opsd_schedule_last_success_timestamp_seconds", .gauge, unit: "seconds",
            "Start of the last run of a schedule that succeeded, as a Unix time."
        ) {
            for schedule in schedules {
                guard let instant = schedule.lastSuccess.flatMap({ InstantText.parse($0) }) else { continue }
                $0.sample(
                    (instant - .zero).inSeconds, ["schedule": schedule.name, "user": schedule.user])
            }
        }
        writer.family("opsd_schedule_missed", .gauge, "Instants of a schedule that were missed, as far as recorded.") {
            for schedule in schedules {
                $0.sample(Double(schedule.missed), ["schedule": schedule.name, "user": schedule.user])
            }
        }
    }

    private mutating func addExecutors(_ executors: [ExecutorRow]) {
        let families: [(String, String, (ExecutorRow) -> Int)] = [
            ("opsd_executor_connected", "Whether an executor is connected.", { $0.state == .connected ? 1 : 0 }),
            ("opsd_executor_window", "Maximum number of attempts that an executor has at once.", { $0.window }),
            ("opsd_executor_in_flight", "Attempts that an executor has; for local, slots in use.", { $0.inFlight }),
        ]
        for (name, help, value) in families {
            writer.family(name, .gauge, help) {
                for executor in executors { $0.sample(Double(value(executor)), ["executor": executor.name]) }
            }
        }
    }

    /// Returns the row of this machine.
    private static func local(_ status: StatusReply) -> ExecutorRow {
        .with {
            $0.name = "local"
            $0.state = status.runnerPid == nil ? .disconnected : .connected
            $0.window = status.workers
            $0.inFlight = status.slotsUsed
        }
    }

    // MARK: Limits

    private static func bounded(_ queues: [QueueMetricsRow]) -> [QueueMetricsRow] {
        let rest = queues.dropFirst(namedQueues)
        guard var sum = rest.first else { return queues }
        sum.name = others
        (sum.removed, sum.limit, sum.suspended) = (rest.allSatisfy(\.removed), nil, rest.allSatisfy(\.suspended))
        for queue in rest.dropFirst() { sum.add(queue) }
        return queues.prefix(namedQueues) + [sum]
    }

    private static func bounded(_ categories: [CategoryMetricsRow]) -> [CategoryMetricsRow] {
        let rest = categories.dropFirst(namedCategories)
        guard var sum = rest.first else { return categories }
        sum.name = others
        for category in rest.dropFirst() {
            // A category without a capacity adds nothing to the sum.
            if let capacity = category.capacity { sum.capacity = (sum.capacity ?? 0) + capacity }
            sum.used += category.used
            sum.waiting += category.waiting
        }
        return categories.prefix(namedCategories) + [sum]
    }

    /// The sum of executors counts as connected if all of them are.
    private static func bounded(_ executors: [ExecutorRow]) -> [ExecutorRow] {
        let rest = executors.dropFirst(namedExecutors)
        guard var sum = rest.first else { return executors }
        sum.name = others
        sum.state = rest.allSatisfy { $0.state == .connected } ? .connected : .disconnected
        for executor in rest.dropFirst() {
            sum.window += executor.window
            sum.inFlight += executor.inFlight
        }
        return executors.prefix(namedExecutors) + [sum]
    }
}

extension QueueMetricsRow {
    fileprivate func readyAge(now: WallInstant) -> Double {
        readySince.flatMap { InstantText.parse($0) }.map { max(.zero, now - $0).inSeconds } ?? 0
    }

    fileprivate mutating func add(_ other: QueueMetricsRow) {
        pending += other.pending
        ready += other.ready
        executing += other.executing
        // All instants have the same format, so the earlier text is the earlier instant.
        readySince = [readySince, other.readySince].compactMap { $0 }.min()
        finished.add(other.finished)
        waiting.add(other.waiting)
        running.add(other.running)
    }
}

extension HistogramRow {
    fileprivate mutating func add(_ other: HistogramRow) {
        guard bounds == other.bounds else { return }
        for index in counts.indices { counts[index] += other.counts[index] }
        sum += other.sum
    }
}

extension OutcomeCountsRow {
    fileprivate var byName: [(String, Int64)] {
        [
            ("succeeded", succeeded), ("failed", failed), ("timedOut", timedOut), ("cancelled", cancelled),
            ("skipped", skipped), ("interrupted", interrupted),
        ]
    }

    fileprivate mutating func add(_ other: OutcomeCountsRow) {
        succeeded += other.succeeded
        failed += other.failed
        timedOut += other.timedOut
        cancelled += other.cancelled
        skipped += other.skipped
        interrupted += other.interrupted
    }
}

extension TimeSpan {
    /// Seconds, in full milliseconds.
    fileprivate var inSeconds: Double { Double(milliseconds) / 1000 }
}

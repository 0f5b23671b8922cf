internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsWire

/// Translates stored records to rows of the interface. `Turns.addLiveValues` adds the values that only the scheduler
/// knows.
struct OperationRows: Sendable {
    let authorization: Authorization
    /// The client that reads the rows: results of others are left out.
    let reader: Caller
    /// Directory of all output directories.
    let outputs: String

    /// `details`: those of the record. `isListed`: the row has only the beginning of a long command.
    func row(_ record: OperationRecord, _ details: Details, isListed: Bool = false) -> OperationRow {
        .with { row in
            identify(record, &row)
            row.command = record.command.flatMap { command($0, isListed: isListed) }
            setState(record, &row)
            setRelations(record, &row)
            row.labels = details.labels
            row.directory = record.isGroup ? nil : details.directory
            row.completion = record.policy.completion == .notify ? "notify" : "exit"
            row.timeout = record.policy.timeout.map(DurationText.format)
            row.deadline = record.policy.deadline.map(InstantText.format)
            let isWaiting = record.state == .pending || record.state == .ready
            row.notBefore = ((isWaiting ? record.notBefore : nil) ?? record.policy.notBefore).map(InstantText.format)
            row.submittedAt = InstantText.format(record.submittedAt)
            row.readyAt = record.readyAt.map(InstantText.format)
            row.startedAt = record.startedAt.map(InstantText.format)
            row.finishedAt = record.finishedAt.map(InstantText.format)
            row.usage = record.usage.flatMap(usage)
        }
    }

    private func command(_ text: String, isListed: Bool) -> [String]? {
        // The stored text was an array of strings when it was written.
        isListed ? try? OperationRow.beginning(ofCommand: text) : try? stringArray(text)
    }

    private func identify(_ record: OperationRecord, _ row: inout OperationRow) {
        row.id = record.id.rawValue
        row.name = record.name
        row.graph = record.graph.reference
        row.graphName = record.graphName
        row.queue = record.queue
        row.user = record.user
        row.key = record.key
        row.note = record.note
        row.barrier = record.isBarrier
        row.isGroup = record.isGroup
    }

    private func setState(_ record: OperationRecord, _ row: inout OperationRow) {
        row.state = StateName(record.state)
        row.outcome = record.outcome.map { OutcomeName($0) }
        row.notNeeded = record.outcome == .notNeeded
        row.cause = record.cause
        row.priority = Int(record.priority)
        row.effectivePriority = Int(record.priority)
        row.attempt = Int(record.attempt)
        row.run = Int(record.run)
        row.exitCode = record.exitCode.map(Int.init)
        row.signal = record.signal.map(Int.init)
        row.cancelling = record.state == .executing && record.isCancelling
        row.frozen = record.isFrozen
        row.held = record.isHeld && record.state != .finished
        // An empty text removes an earlier one.
        row.statusText = record.statusText == "" ? nil : record.statusText
        row.result = authorization.mayRead(reader, ownedBy: record.uid) ? record.result : nil
        row.progress = record.progressDone.map { done in
            .with {
                $0.done = done
                $0.total = record.progressTotal
            }
        }
    }

    private func setRelations(_ record: OperationRecord, _ row: inout OperationRow) {
        row.producedBy = record.producer?.rawValue
        row.group = record.group?.rawValue
        row.dependencies = record.dependencies.map { dependency in
            .with {
                $0.id = dependency.id.rawValue
                $0.when = dependency.when
                $0.satisfied = dependency.isSatisfied
            }
        }
        row.categories = record.categories.map { use in
            .with {
                $0.name = use.name
                $0.mode = use.mode
                $0.units = Int(use.units)
                $0.assigned = record.assigned.first { $0.category == use.name }?.distinct ?? []
            }
        }
    }

    /// Returns nil if the executor reported no usage: every process uses some memory.
    private func usage(_ usage: ProcessUsage) -> UsageRow? {
        guard usage != ProcessUsage() else { return nil }
        return UsageRow.with {
            $0.userSeconds = Double(usage.userMicroseconds) / 1e6
            $0.systemSeconds = Double(usage.systemMicroseconds) / 1e6
            $0.maxResidentBytes = usage.maxResidentBytes
        }
    }

    /// Returns the rows of a list.
    func rows(_ ids: [OperationID], _ history: History) throws -> [OperationRow] {
        // Consecutive operations often have the same details.
        var latest = (text: "{}", details: try Details("{}"))
        return try history.records(of: ids).map { record in
            if record.details != latest.text { latest = (record.details, try Details(record.details)) }
            return row(record, latest.details, isListed: true)
        }
    }

    /// `details`: those of the record.
    func attempts(of record: OperationRecord, _ details: Details, _ history: History) throws -> [AttemptRow] {
        let scale = record.policy.retry?.scale
        var attemptsOfRun: [Int32: Int32] = [:]
        return try history.attempts(of: record.id).map { attempt in
            attemptsOfRun[attempt.run, default: 0] += 1
            let count = attemptsOfRun[attempt.run] ?? 1
            return .with { row in
                row.attempt = Int(attempt.number)
                row.run = Int(attempt.run)
                row.outcome = attempt.outcome.map { OutcomeName($0) }
                row.cause = attempt.cause
                row.exitCode = attempt.exitCode.map(Int.init)
                row.signal = attempt.signal.map(Int.init)
                row.startedAt = InstantText.format(attempt.startedAt)
                row.finishedAt = attempt.finishedAt.map(InstantText.format)
                row.usage = attempt.usage.flatMap(usage)
                if let scale { row.scaled = scaled(record.policy, details.own.limits, by: scale, count) }
                if attempt.hasOutputs || record.policy.executor == nil && attempt.finishedAt == nil {
                    row.outputs = Logs.outputDirectory(of: AttemptID(record.id, attempt.number), in: outputs)
                }
            }
        }
    }

    /// Returns the values that grow, as the `count`th attempt of a run has them.
    private func scaled(
        _ policy: Policy, _ limits: OperationDetails.ResourceLimits, by scale: RetryScale, _ count: Int32
    ) -> JSONObject {
        JSONObject(
            scale.entries.compactMap { entry in
                let key = entry.key
                if key == .timeout {
                    return policy.timeout(inAttempt: count).map {
                        .init(key.rawValue, .string(DurationText.format($0)))
                    }
                }
                return limits.value(of: key).map {
                    .init(key.rawValue, .integer(scale.value($0, of: key, inAttempt: count)))
                }
            })
    }
}

extension Turns {
    /// Adds the present values that only the scheduler knows.
    func addLiveValues(to row: inout OperationRow) {
        guard row.state != .finished else { return }
        let id = OperationID(row.id)
        if let priority = core?.effectivePriority(of: id) { row.effectivePriority = priority }
        if row.state == .executing, let isCancelling = core?.isCancelling(id) { row.cancelling = isCancelling }
    }
}

extension EndedRow {
    init(_ end: OperationEnd) {
        self.init()
        id = end.id.rawValue
        name = end.name
        outcome = OutcomeName(end.outcome)
        notNeeded = end.outcome == .notNeeded
        cause = end.cause
        exitCode = end.exitCode.map(Int.init)
        signal = end.signal.map(Int.init)
    }
}

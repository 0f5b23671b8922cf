internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsWire

// State of the daemon, its queues and its categories, as rows of the interface.

extension CategoryRow {
    init(_ standing: Scheduler.CategoryStanding) {
        self.init()
        name = standing.name
        capacity = standing.capacity == Limits.noCapacity ? nil : Int(standing.capacity)
        holders = standing.holders.map(\.rawValue)
        waiting = standing.waiting.map(\.rawValue)
        units = standing.units.map { unit in
            .with { ($0.name, $0.holders, $0.draining) = (unit.name, unit.holders.map(\.rawValue), unit.isDraining) }
        }
        share = Int(standing.settings.share)
        export = standing.settings.export
        rate = standing.settings.rate.map(RateText.format)
    }
}

extension Turns {
    func hasQueue(_ name: String) -> Bool { ask { $0.hasQueue(name) } ?? false }

    var queueNames: [String] { core?.queueNames ?? [] }

    func order(ofQueue name: String) -> QueueOrder? { ask { $0.order(ofQueue: name) } ?? nil }

    /// Returns whether operations of a submission start in the order of their longest paths.
    func wantsEstimates(_ input: GraphInput, _ options: SubmissionOptions) -> Bool {
        options.order == .longestPath || self.order(ofQueue: "default") == .longestPath
            || (0..<Int32(input.queues.count)).contains { self.order(ofQueue: input.queues[$0]) == .longestPath }
    }

    func queueRows() -> [QueueRow] {
        (core?.queueStandings ?? []).map { standing in
            .with { row in
                row.name = standing.name
                row.limit = standing.limit.map(Int.init)
                row.suspended = standing.isSuspended
                row.aging = standing.aging.map(DurationText.format)
                row.order = standing.order.text
                row.pending = standing.pending - standing.setApart.heldPending
                row.ready = standing.ready - standing.setApart.heldReady - standing.setApart.scheduled
                row.scheduled = standing.setApart.scheduled
                row.held = standing.setApart.held
                row.executing = standing.executing
                row.executor = standing.executor
                row.fair = standing.isFair ? "user" : nil
            }
        }
    }
}

extension RunnerLink {
    /// Time for which the runner has not answered, in words; `nil`: it answers.
    var silence: String? {
        pulse.silence.map { DurationText.format(.seconds($0.seconds)) }
    }

    fileprivate func silenceText(_ duration: String) -> String {
        let runner = lastPid.map { "opsd-runner, pid \($0)," } ?? "opsd-runner"
        return "\(runner) has not answered for \(duration): nothing starts, ends or is cancelled until it does"
    }
}

extension CountsRow {
    /// Counts unfinished operations. Held and scheduled ones are counted apart.
    init(_ counts: Scheduler.Counts) {
        self.init()
        pending = counts.pending - counts.setApart.heldPending
        ready = counts.ready - counts.setApart.heldReady - counts.setApart.scheduled
        scheduled = counts.setApart.scheduled
        held = counts.setApart.held
        executing = counts.executing
    }
}

extension Daemon {
    /// Throws while the database cannot be read. A reply would have a wrong number of the last event, and a client that
    /// follows the events would conclude that this is another database.
    func statusReply() throws(StoreError) -> StatusReply {
        if turns.core == nil, let outage = turns.outage { throw outage.error }
        var reply = StatusReply()
        reply.version = Release.current.text
        reply.pid = Int(Identity.pid)
        let silence = runner.silence
        reply.runnerPid = (runner.pid ?? (silence == nil ? nil : runner.lastPid)).map(Int.init)
        reply.runnerAnswers = silence == nil
        reply.state = turns.outage != nil ? .storageUnavailable : isDraining ? .draining : .running
        reply.detail =
            turns.outage.map { "\($0.error)" } ?? silence.map(runner.silenceText)
            ?? (runner.isConnected ? nil : "waiting for opsd-runner")
        reply.suspended = turns.core?.isSuspended ?? false
        reply.workers = Int(turns.core?.workers ?? 0)
        reply.slotsUsed = Int(turns.core?.slotsUsed ?? 0)
        if let counts = turns.core?.counts { reply.counts = CountsRow(counts) }
        reply.counts.finished = try turns.finished.value(history)
        reply.queues = turns.queueRows()
        reply.lastSeq = turns.core?.lastSequence ?? 0
        reply.startedAt = InstantText.format(startedAt)
        return reply
    }
}

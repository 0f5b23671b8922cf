internal import OpsCore
internal import OpsLinux
internal import OpsStore
internal import OpsWire

// Where the daemon, its queues and its categories stand, in the words of the interface.

extension CategoryRow {
    init(_ standing: Scheduler.CategoryStanding) {
        self.init()
        name = standing.name
        capacity = Int(standing.capacity)
        holders = standing.holders.map(\.rawValue)
        waiting = standing.waiting.map(\.rawValue)
    }
}

extension Daemon {
    func hasQueue(_ name: String) -> Bool { ask { $0.hasQueue(name) } ?? false }

    var queueNames: [String] { core?.queueNames ?? [] }

    func queueRows() -> [QueueRow] {
        (core?.queueStandings ?? []).map { standing in
            .with { row in
                row.name = standing.name
                row.limit = standing.limit.map(Int.init)
                row.suspended = standing.isSuspended
                row.aging = standing.aging.map(DurationText.format)
                row.pending = standing.pending
                row.ready = standing.ready
                row.executing = standing.executing
            }
        }
    }

    func statusReply() throws(StoreError) -> StatusReply {
        var reply = StatusReply()
        reply.version = Release.current.text
        reply.pid = Int(Identity.pid)
        reply.runnerPid = runner.pid.map(Int.init)
        reply.state = outage != nil ? .storageUnavailable : isDraining ? .draining : .running
        reply.detail = outage.map { "\($0.error)" } ?? (runner.isConnected ? nil : "waiting for opsd-runner")
        reply.suspended = core?.isSuspended ?? false
        reply.workers = Int(core?.workers ?? 0)
        reply.counts.pending = core?.counts.pending ?? 0
        reply.counts.ready = core?.counts.ready ?? 0
        reply.counts.executing = core?.counts.executing ?? 0
        reply.counts.finished = try finished.value(history)
        reply.queues = queueRows()
        reply.lastSeq = core?.lastSequence ?? 0
        reply.startedAt = InstantText.format(startedAt)
        return reply
    }
}

internal import OpsCore
internal import OpsWire

// Where queues and categories stand, from the scheduler to the interface.

extension Daemon {
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

    func categoryRows() -> [CategoryRow] {
        (core?.categoryStandings ?? []).map { standing in
            .with { row in
                row.name = standing.name
                row.capacity = Int(standing.capacity)
                row.holders = standing.holders.map(\.rawValue)
                row.waiting = standing.waiting.map(\.rawValue)
            }
        }
    }
}

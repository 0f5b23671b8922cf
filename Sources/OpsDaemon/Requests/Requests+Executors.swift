internal import OpsCore
internal import OpsWire

/// Executors other than the runner.
extension Requests {
    func listExecutors(_ exchange: Exchange) throws {
        exchange.reply(.with { $0.executors = executorRows() } as ListExecutorsReply)
    }
}

extension Requests {
    /// Returns the configured executors, in the order of the configuration.
    func executorRows() -> [ExecutorRow] {
        let loads = turns.ask { $0.executorLoads } ?? []
        return configuration().executors.map { executor in
            .with { row in
                row.name = executor.name
                row.kind = executor.kind?.rawValue ?? ""
                row.state = executors.isConnected(executor.name) ? .connected : .disconnected
                row.since = InstantText.format(executors.since(executor.name))
                row.window = Int(executor.window)
                row.inFlight = Int(loads.first { $0.name == executor.name }?.inFlight ?? 0)
            }
        }
    }
}

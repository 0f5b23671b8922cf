internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Counts, times and use of the pool for the selected operations.
extension Requests {
    func stats(_ request: StatsRequest, _ exchange: Exchange) throws {
        let workers = Int(turns.core?.workers ?? 0)
        try resolve(request.selection, exchange) { [unowned self] query in
            self.ask(exchange, StatisticsQuery(query ?? OpsStore.Selection(), workers: workers)) { stats in
                exchange.reply(.with { $0.stats = stats } as StatsReply)
            }
        }
    }
}

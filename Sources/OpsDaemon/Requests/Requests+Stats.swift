internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Counts, times and use of the pool, over what was selected.
extension Requests {
    func stats(_ request: StatsRequest, _ exchange: Exchange) throws {
        let query = try daemon.selections.query(request.selection) ?? OpsStore.Selection()
        var statistics = Statistics()
        var last = OperationID(0)
        exchange.goOn(
            with: SteppedWork(exchange, daemon) { [unowned daemon] in
                let ids = try daemon.history.select(query, after: last, limit: 1000)
                for node in try daemon.history.nodes(of: ids) { statistics.add(node) }
                if let newest = ids.last {
                    for edge in try daemon.history.edges(from: ids[0], to: newest) { statistics.add(edge) }
                    last = newest
                }
                if ids.count == 1000 { return false }
                let workers = Int(daemon.core?.workers ?? 0)
                exchange.reply(.with { $0.stats = statistics.result(workers: workers) } as StatsReply)
                return true
            })
    }
}

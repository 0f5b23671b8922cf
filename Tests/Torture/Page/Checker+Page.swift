extension Checker {
    /// Checks that the page's stream has each event once, in order, with the operations and graphs that changed. A message
    /// without events tells the page that opsd is reachable again.
    mutating func pageStream() -> Int {
        guard let page = evidence.page else { return 0 }
        var last = 0
        for message in page.messages {
            if message.from > last + 1 {
                find("the page did not receive the events \(last + 1) to \(message.from - 1)")
            }
            if message.from <= last { find("the page received event \(message.from) after event \(last)") }
            if message.to < message.from - 1 {
                find("the page received a reversed range of events, from \(message.from) to \(message.to)")
            }
            last = max(last, message.to)
            guard message.from >= 1, message.to <= evidence.events.count, message.from <= message.to + 1 else {
                continue
            }
            let events = evidence.events[(message.from - 1)..<message.to]
            let told = "the events \(message.from) to \(message.to)"
            if let operations = message.operations, Set(operations) != Set(events.compactMap(\.id)) {
                find("the page received other operations than those of \(told)")
            }
            if let graphs = message.graphs, Set(graphs) != Set(events.compactMap(\.graph)) {
                find("the page received other graphs than those of \(told)")
            }
        }
        return last
    }

    /// Checks that opsd-web serves nothing without its token, and gives no right that its user does not have.
    mutating func pageRights() -> Int {
        for power in evidence.page?.powers ?? [] { find(power) }
        return evidence.page?.tries ?? 0
    }
}

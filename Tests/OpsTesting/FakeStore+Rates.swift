import OpsCore

/// An independent implementation of rates: no interval contains more starts of processes than the rate allows.
extension FakeStore {
    /// A start that the scheduler has counted.
    struct CountedStart: Sendable {
        var boot: String
        var at: MonotonicInstant
    }

    /// Starts of an earlier boot happened at the latest when the current boot began. Those that were older than the interval
    /// at the last counted start do not count any more.
    mutating func notice(boot: String) {
        guard boot != latestBoot else { return }
        for (name, starts) in processStarts {
            let last = rateStarts[name, default: []].last { $0.boot == latestBoot }?.at ?? .zero
            let interval = categorySettings[name]?.rate?.interval ?? .zero
            processStarts[name] = starts.filter { $0 + interval > last }.map { _ in .zero }
        }
        latestBoot = boot
    }

    mutating func setCategory(_ settings: CategorySettings) {
        let old = categorySettings.updateValue(settings, forKey: settings.name)
        guard old?.rate != settings.rate else { return }
        // Starts under another rate are not checked against this one.
        processStarts[settings.name] = nil
        for place in records.indices { records[place].rated.remove(settings.name) }
        if settings.rate == nil { rateStarts[settings.name] = nil }
    }

    func ratedCategories(of record: Record) -> Set<String> {
        Set(record.categories.map(\.name).filter { categorySettings[$0]?.rate != nil })
    }

    /// Checks the rates for a process, or a group, that has started at this instant.
    mutating func judgeRates(of id: OperationID, at instant: MonotonicInstant) throws(Violation) {
        for name in self[id].rated.sorted() {
            guard let rate = categorySettings[name]?.rate else { continue }
            var starts = processStarts[name, default: []]
            let position = starts.firstIndex { $0 > instant } ?? starts.count
            starts.insert(instant, at: position)
            processStarts[name] = starts
            // Only intervals with the new start are checked, because starts of an earlier boot have lost their
            // instants.
            for later in position...position + Int(rate.count) where later >= rate.count && later < starts.count {
                let length = starts[later] - starts[later - Int(rate.count)]
                try require(length >= rate.interval, .rates, "\(id) starts too early for \(name): \(starts)")
            }
        }
        self[id].rated = []
    }

    /// Returns the categories of a waiting operation whose rates allow no start now, as far as the scheduler knows.
    func exhaustedRates(of record: Record, at now: Moment) -> [String] {
        Set(record.categories.map(\.name)).sorted().filter { name in
            guard let rate = categorySettings[name]?.rate else { return false }
            let counted = rateStarts[name, default: []].filter {
                ($0.boot == latestBoot ? $0.at : .zero) + rate.interval > now.monotonic
            }
            let unconfirmed = records.filter { record in
                record.state == .executing && !record.isGroup
                    && record.running.map { $0.process == nil && $0.exit == nil && !$0.isOver } ?? false
                    && record.categories.contains { $0.name == name }
            }
            return counted.count + unconfirmed.count >= rate.count
        }
    }
}

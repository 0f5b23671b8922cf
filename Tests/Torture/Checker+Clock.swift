extension Checker {
    /// Checks that `notBefore` and deadlines were kept by the daemon's clock, however it was set. An instant that has
    /// passed stays past when the clock is set back.
    mutating func clock() -> Int {
        var checked = 0
        // Latest instant that the daemon's clock has shown up to the current event.
        var latest: Double = 0
        var readings = ArraySlice(evidence.faults.filter { $0.clock != nil })
        for event in evidence.events {
            latest = max(latest, event.at)
            while let reading = readings.first, reading.after < event.sequence {
                latest = max(latest, reading.clock ?? latest)
                readings.removeFirst()
            }
            guard let row = event.id.flatMap({ evidence.rows[$0] }), row.run == 1 else { continue }
            if event.type == "started" {
                if let plan = evidence.planned[row.name], let delay = plan.delay {
                    checked += 1
                    // A delay counts from the reading of the request, which may be long before the operation is stored.
                    let earliest = evidence.lowestReading(from: plan.sentAt, to: event.instant) + delay
                    if let instant = row.notBefore, instant >= earliest - Self.rounding {
                        if latest < instant - Self.rounding {
                            find("event \(event.sequence): \(row.id) starts too early")
                        }
                    } else {
                        find("operation \(row.id) was to wait for \(delay) s, and its notBefore is too early")
                    }
                }
                // The executor reports the start of a transfer, which is later than the decision to start it.
                if let instant = row.deadline, !evidence.isTransfer(row.id) {
                    checked += 1
                    if event.at > instant + Self.rounding { find("event \(event.sequence): \(row.id) starts too late") }
                }
            }
            if event.type == "finished", row.outcome == "timedOut", let instant = row.deadline,
                evidence.planned[row.name]?.hasTimeout != true
            {
                checked += 1
                if latest < instant - Self.rounding {
                    find("operation \(row.id) is timedOut and its deadline was never reached: \(row.cause)")
                }
            }
        }
        return checked
    }

    /// Instants are reported in milliseconds.
    static let rounding = 0.002
}

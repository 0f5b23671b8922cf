internal import OpsCalendar
internal import OpsCore
internal import OpsStore

/// Instants of a schedule, and what it waits for.
extension Schedule {
    /// Returns instants that may run, strictly after another one.
    func instants(after: UnixTime, limit: Int) -> [UnixTime] {
        let policy = definition.policy
        let left = min(limit, policy.count.map { max(0, $0 - ledger.position.runs) } ?? .max)
        var found: [UnixTime] = []
        if let event = nextEvent, event.nominal > after { found.append(event.nominal) }
        var position = max(after, policy.from.map { UnixTime(seconds: $0.seconds - 1) } ?? after)
        while found.count < left, let next = definition.recurrences.next(after: position),
            next <= policy.until ?? .latest
        {
            position = next
            if !ledger.position.ranAhead.contains(next) { found.append(next) }
        }
        return Array(found.sorted().prefix(left))
    }

    /// Returns past instants of the calendar, with any result.
    func pastInstants(_ from: UnixTime, through: UnixTime, limit: Int) -> [UnixTime] {
        let policy = definition.policy
        let first = max(from, policy.from ?? from)
        // Later instants are due now or later: the calendar runs them.
        let last = min(min(through, ledger.position.accounted), policy.until ?? .latest)
        var found: [UnixTime] = []
        var position = UnixTime(seconds: first.seconds - 1)
        while found.count < limit, let next = definition.recurrences.next(after: position), next <= last {
            found.append(next)
            position = next
        }
        return found
    }

    /// Obstacles to the start of the next run, as text.
    var obstacles: [(kind: String, text: String)] {
        if let problem { return [("problem", "it does not run: \(problem)")] }
        var found: [(kind: String, text: String)] = []
        let policy = definition.policy
        if let run = unfinished.last?.graph {
            found.append(("overlap", "run \(GraphID(run).reference) is unfinished: \(consequence(policy.overlap))"))
        }
        if let count = policy.count, ledger.position.runs >= count {
            found.append(("ended", "all of its \(count) runs have started"))
        } else if let start = nextStart {
            found.append(("calendar", "its next run is due at \(start.text)"))
        } else if definition.afterFinish != nil, !unfinished.isEmpty {
            found.append(("event", "its next run is due after the end of the previous run"))
        } else if let trigger = definition.trigger {
            let text =
                if case .path(let glob, _, _, _) = trigger {
                    "its next run is due when a file of \(glob) is new or changed"
                } else {
                    "its next run is due when its command prints a new line"
                }
            found.append(("trigger", text))
        } else if definition.runsAtBoot {
            found.append(("event", "its next run is due when the machine starts again"))
        } else {
            found.append(("ended", "it has no further instant"))
        }
        return found
    }

    private func consequence(_ overlap: SchedulePolicy.Overlap) -> String {
        switch overlap {
        case .skip: "instants that come meanwhile are skipped"
        case .queueOne: unfinished.count > 1 ? "further instants are skipped" : "the next run waits for its end"
        case .queueAll: "the next run waits for its end"
        case .cancel: "the next run cancels it"
        case .allow: "the next run starts anyway"
        }
    }
}

extension Checker {
    mutating func stream() -> Int {
        for (place, event) in evidence.events.enumerated() where event.sequence != place + 1 {
            find("event \(event.sequence) has the place of event \(place + 1)")
            break
        }
        for (place, text) in evidence.watched.events.enumerated() {
            guard place < evidence.eventTexts.count else {
                find("event \(place + 1) was reported and does not exist: \(text)")
                break
            }
            if evidence.eventTexts[place] != text {
                find("event \(place + 1) was reported as \(text) and is now \(evidence.eventTexts[place])")
            }
        }
        if evidence.watched.events.count != evidence.events.count {
            find("\(evidence.watched.events.count) events were reported, and \(evidence.events.count) exist")
        }
        return evidence.events.count
    }

    mutating func transitions() -> Int {
        let may: [String?: Set<String>] = [
            nil: ["pending", "ready", "finished"],
            "pending": ["ready", "executing", "finished"],
            "ready": ["pending", "executing", "finished"],
            "executing": ["ready", "finished"],
            "finished": ["pending", "ready"],
        ]
        var state: [Int: String] = [:]
        var starts: [Int: Int] = [:]
        var ends: [Int: Int] = [:]
        for event in evidence.events {
            guard let id = event.id else { continue }
            if event.type == "started" { starts[id, default: 0] += 1 }
            if event.type == "finished" { ends[id, default: 0] += 1 }
            // An attempt of a transfer may end before its start was reported.
            let isFetched = evidence.isTransfer(id)
            if let old = event.old, old != state[id], !(isFetched && old == "executing" && state[id] == "ready") {
                find("event \(event.sequence): operation \(id) leaves \(old), but was \(state[id] ?? "nothing")")
            }
            guard let new = event.new, new != state[id] else { continue }
            if may[state[id]]?.contains(new) != true {
                find("event \(event.sequence): operation \(id) goes from \(state[id] ?? "nothing") to \(new)")
            }
            state[id] = new
        }
        for row in evidence.rows.values {
            if state[row.id] != row.state {
                find("operation \(row.id) is \(row.state) and was last reported as \(state[row.id] ?? "nothing")")
            }
            if !row.isGroup, !evidence.isTransfer(row.id), starts[row.id] ?? 0 != row.attempt {
                find("operation \(row.id) has \(row.attempt) attempts and \(starts[row.id] ?? 0) starts were reported")
            }
            if ends[row.id] ?? 0 != row.run {
                find("operation \(row.id) is in run \(row.run) and has finished \(ends[row.id] ?? 0) times")
            }
        }
        return evidence.events.count
    }
}

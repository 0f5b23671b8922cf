import Foundation

/// Everything that the checker examines, gathered after all operations have finished.
struct Evidence {
    /// An operation as the daemon shows it at the end of the run.
    struct Row {
        var id: Int
        var name: String
        var graph: String
        var state: String
        var outcome: String?
        var cause: String
        var attempt: Int
        var run: Int
        var isGroup: Bool
        var queue: String
        var group: Int?
        /// Texts that only its own processes may set.
        var statusText: String?
        var result: String?
        var progress: String?
        var note: String?
        var exitCode: Int?
        var signal: Int?
        var unsatisfied: [Int]
        /// True if it was skipped although nothing went wrong.
        var isNotNeeded: Bool
        /// Instants of the daemon's clock, which the torture may have moved; in seconds since 1970.
        var notBefore: Double?
        var deadline: Double?
        var attempts: [Attempt] = []
    }
    struct Attempt {
        var number: Int
        var outcome: String?
        var exitCode: Int?
        var signal: Int?
        var cause: String
    }
    struct Event {
        var sequence: Int
        /// Instant by the daemon's clock, and by the machine's.
        var at: Double
        var instant: Double
        var type: String
        var id: Int?
        var graph: String?
        var detail: String?
        var old: String?
        var new: String?
        var outcome: String?
    }

    struct Log {
        var attempt: Marks.Attempt
        /// Output that the process wrote.
        var written: String
        /// Output that opsctl shows; nil if it shows none.
        var shown: String?
    }

    /// Operations of the load.
    var rows: [Int: Row] = [:]
    var calendar: CalendarEvidence?
    var transfers: TransferEvidence?
    var page: Page.Seen?
    var functions: FunctionEvidence?
    private(set) var functionRows: [Int: FunctionEvidence.Row] = [:]
    /// Queues of the operations of hostile users, functions and schedules, by their ids.
    var strangers: [Int: String] = [:]
    var idOf: [String: Int] = [:]
    var events: [Event] = []
    var eventTexts: [String] = []
    var marks: Marks
    var ledger: Ledger.Page
    var watched: Watcher.Seen
    var faults: [Faults.Fault]
    /// Maximum number of operations that execute at once.
    let workers: Int
    var planned: [String: Planned] = [:]
    private var clockSettings: [Shim.ClockSetting] = []

    var logs: [Log] = []
    /// Violations in logs: a wrong owner, an attacker's bytes, or a log of an attacker that is too large.
    var foreignLogs: [String] = []
    var logsLookedAt = 0
    /// Number of attacks by kind.
    var attacks: [String: Int] = [:]
    /// Actions of attackers that opsd must make impossible.
    var powers: [String] = []
    /// Lines of the daemon's log that report a fault of its own code.
    var ownFaults: [String] = []

    init(victims: Victims, ledger: Ledger, watched: Watcher.Seen, faults: [Faults.Fault], dice: Dice) throws {
        marks = try Marks(path: victims.marks)
        self.ledger = ledger.copy
        self.watched = watched
        self.faults = faults
        workers = victims.workers
        for submission in self.ledger.submissions.values {
            for operation in submission.operations {
                planned[operation.name] = operation
                guard let product = operation.product else { continue }
                planned[product] = Planned(name: product, parent: operation.name)
            }
        }
        try readRows(victims.socket, of: victims.people?.honest)
        clockSettings = victims.shim?.clockSettings ?? [.init(since: -.infinity, ahead: 0)]
        try readEvents(victims.socket, clockSettings)
        try readLogs(victims, dice)
        ownFaults = try victims.log.split(separator: "\n").filter { $0.contains("failed after its answer") }
            .map(String.init)
    }

    func isTransfer(_ id: Int) -> Bool { rows[id].flatMap { planned[$0.name] }?.transfer != nil }

    /// Returns the lowest reading that the daemon's clock can have shown between two instants of the machine's clock.
    func lowestReading(from first: Double, to last: Double) -> Double {
        // A setting is noted just before it applies.
        let begun = clockSettings.lastIndex { $0.since <= first - 1 } ?? 0
        return first + (clockSettings[begun...].prefix { $0.since <= last }.map(\.ahead).min() ?? 0)
    }

    /// Numbers of the events at which each attempt started and ended.
    var spans: [Marks.Attempt: ClosedRange<Int>] {
        var begun: [Int: (number: Int, sequence: Int)] = [:]
        var spans: [Marks.Attempt: ClosedRange<Int>] = [:]
        for event in events {
            guard let id = event.id else { continue }
            if event.type == "started" {
                let number = (begun[id]?.number ?? 0) + 1
                begun[id] = (number, event.sequence)
                spans[.init(id: id, number: number)] = event.sequence...Int.max
            } else if event.old == "executing", event.new != "executing", let start = begun[id] {
                spans[.init(id: id, number: start.number)] = start.sequence...event.sequence
            }
        }
        return spans
    }

    private mutating func readRows(_ socket: String, of person: Person?) throws {
        let wire = try Wire(socket)
        try wire.send("List", [:], more: true)
        var ids: [Int] = []
        var read = 0
        let last = try Wire.call(socket, "List", ["newest": true, "limit": 1])
        let newest = (last["operations"] as? [[String: Any]])?.first?["id"] as? Int ?? 0
        while read < newest {
            for fields in try wire.receive()["operations"] as? [[String: Any]] ?? [] {
                guard let row = Self.row(fields) else { throw Trouble("a row without a required member: \(fields)") }
                read = row.id
                if row.queue == Functions.queue {
                    functionRows[row.id] = .init(attempt: row.attempt, outcome: row.outcome ?? row.state)
                    strangers[row.id] = row.queue
                    continue
                }
                let isScheduled = (fields["labels"] as? [String: Any])?["schedule"] != nil
                if isScheduled || person.map({ fields["user"] as? String != $0.name }) ?? false {
                    strangers[row.id] = row.queue
                    continue
                }
                rows[row.id] = row
                idOf[row.name] = row.id
                ids.append(row.id)
            }
        }
        for id in ids {
            let reply = try Wire.call(socket, "Show", ["ref": "\(id)"])
            rows[id]?.attempts = (reply["attempts"] as? [[String: Any]] ?? []).map {
                Attempt(
                    number: $0["attempt"] as? Int ?? 0, outcome: $0["outcome"] as? String,
                    exitCode: $0["exitCode"] as? Int, signal: $0["signal"] as? Int,
                    cause: $0["cause"] as? String ?? "")
            }
        }
    }

    private static func row(_ fields: [String: Any]) -> Row? {
        guard let id = fields["id"] as? Int, let graph = fields["graph"] as? String,
            let state = fields["state"] as? String
        else { return nil }
        let dependencies = fields["dependencies"] as? [[String: Any]] ?? []
        return Row(
            id: id, name: fields["name"] as? String ?? "", graph: graph, state: state,
            outcome: fields["outcome"] as? String, cause: fields["cause"] as? String ?? "",
            attempt: fields["attempt"] as? Int ?? 0, run: fields["run"] as? Int ?? 0,
            isGroup: fields["isGroup"] as? Bool ?? false, queue: fields["queue"] as? String ?? "",
            group: fields["group"] as? Int, statusText: fields["statusText"] as? String,
            result: fields["result"] as? String,
            progress: (fields["progress"] as? [String: Any]).map { canonical($0) }, note: fields["note"] as? String,
            exitCode: fields["exitCode"] as? Int, signal: fields["signal"] as? Int,
            unsatisfied: dependencies.filter { $0["satisfied"] as? Bool == false }.compactMap { $0["id"] as? Int },
            isNotNeeded: fields["notNeeded"] as? Bool ?? false,
            notBefore: seconds(fields["notBefore"]), deadline: seconds(fields["deadline"]))
    }

    private static func seconds(_ instant: Any?) -> Double? {
        guard let text = instant as? String else { return nil }
        // A text that cannot be read counts as missing. The checker notices that if the instant matters.
        return try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(text).timeIntervalSince1970
    }

    private mutating func readEvents(_ socket: String, _ settings: [Shim.ClockSetting]) throws {
        guard let last = try Wire.call(socket, "Status")["lastSeq"] as? Int else {
            throw Trouble("no lastSeq in Status")
        }
        let wire = try Wire(socket)
        try wire.send("Watch", ["since": 0], more: true)
        var clock = ClockReader(settings)
        while events.last?.sequence ?? 0 < last {
            guard let event = try wire.receive()["event"] as? [String: Any], let sequence = event["seq"] as? Int else {
                throw Trouble("Watch sent a reply that is not an event")
            }
            let at = Self.seconds(event["at"]) ?? 0
            events.append(
                Event(
                    sequence: sequence, at: at, instant: clock.instant(of: at), type: event["type"] as? String ?? "",
                    id: event["id"] as? Int, graph: event["graph"] as? String, detail: event["detail"] as? String,
                    old: event["old"] as? String, new: event["new"] as? String, outcome: event["outcome"] as? String))
            eventTexts.append(canonical(event))
        }
    }
}

/// Converts readings of the programs' clock, which the torture sets, into instants of the machine's clock.
private struct ClockReader {
    private var settings: ArraySlice<Shim.ClockSetting>
    private var latest = -Double.infinity

    init(_ settings: [Shim.ClockSetting]) { self.settings = settings[...] }

    /// Returns the instant of a reading. Readings must be passed in the order in which they were made.
    mutating func instant(of reading: Double) -> Double {
        while let setting = settings.first, let next = settings.dropFirst().first {
            let instant = reading - setting.ahead
            // If two settings are possible, the older one is taken, unless it leads to a much earlier instant than the
            // last reading.
            if instant <= next.since + Self.rounding, instant >= latest - Self.disorder { break }
            settings.removeFirst()
        }
        latest = max(latest, reading - (settings.first?.ahead ?? 0))
        return latest
    }

    private static let rounding = 0.005
    /// Longest time in seconds by which an instant may precede the last one: the runner's reports have older instants
    /// than opsd's own events. It is shorter than the shortest leap of the clock.
    private static let disorder = 0.9
}

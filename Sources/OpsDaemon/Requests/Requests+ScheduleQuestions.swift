internal import OpsCalendar
internal import OpsCore
internal import OpsStore
internal import OpsSystem
internal import OpsSystemd
internal import OpsWire

/// Questions about schedules: their next instants, and what they wait for.
extension Requests {
    private static let mostInstants = 1000

    func scheduleInstants(_ request: ScheduleInstantsRequest, _ exchange: Exchange) throws {
        let schedule = try schedules.find(request.name, for: exchange.caller.user)
        try requireUsable(schedule)
        let limit = min(request.limit ?? 10, Self.mostInstants)
        let after = try request.after.map { try instant($0, "after") }
        exchange.reply(
            ScheduleInstantsReply.with {
                $0.zone = schedule.definition.request.zone ?? "UTC"
                $0.instants = Self.nextInstants(
                    of: schedule, after: after ?? UnixTime(flooring: Moment.now().wall), limit: limit)
            })
    }

    static func nextInstants(of schedule: Schedule, after: UnixTime, limit: Int = 10) -> [ScheduleNextRow] {
        schedule.instants(after: after, limit: limit).map { nominal in
            ScheduleNextRow.with {
                $0.nominal = nominal.text
                $0.local = schedule.definition.local(nominal)
                $0.start = schedule.ledger.start(of: nominal).text
            }
        }
    }

    private func instant(_ text: String, _ key: String) throws(ControlError) -> UnixTime {
        guard let instant = InstantText.parse(text) else {
            throw ScheduleDefinition.problem(
                key, "\"\(text)\" is not an instant from 1970 to 2262 such as 2027-01-31T06:00:00Z")
        }
        return UnixTime(flooring: instant)
    }

    func whySchedule(_ request: WhyScheduleRequest, _ exchange: Exchange) throws {
        let schedule = try schedules.find(request.name, for: exchange.caller.user)
        var reasons: [(kind: String, text: String)] = []
        if turns.outage != nil {
            reasons.append(("storage", "opsd cannot store anything: instants stay due until it can"))
        }
        if schedule.isPaused {
            reasons.append(("paused", "it is paused; opsctl schedule resume \(schedule.name) continues it"))
        }
        if !schedule.isPaused || schedule.problem != nil { reasons += schedule.obstacles }
        if let problem = schedules.triggers.problem(of: schedule) {
            reasons.append(("trigger", "its last check failed: \(problem)"))
        }
        let record = try history.instants(of: schedule.id, limit: 1).first
        if let record, record.result != .run { reasons.append(("\(record.result)", Self.text(record))) }
        exchange.reply(
            WhyScheduleReply.with {
                $0.schedule = schedule.name
                $0.next = schedule.isPaused ? nil : schedule.nextStart?.text
                $0.waitingFor = reasons.map { reason in
                    .with { ($0.kind, $0.text) = (reason.kind, reason.text) }
                }
            })
    }

    /// Returns a sentence about instants that did not run.
    private static func text(_ record: ScheduleInstant) -> String {
        let first = UnixTime(seconds: record.nominal).text
        let last = UnixTime(seconds: record.through).text
        let subject =
            record.count == 1 ? "the instant \(first) was" : "\(record.count) instants from \(first) to \(last) were"
        let why =
            switch record.result {
            case .run: "run"
            case .skipped: "skipped because a run was unfinished"
            case .missed: "missed because opsd or the machine was down"
            case .paused: "left out because the schedule was paused"
            case .refused: "refused" + (record.note.map { ": \($0)" } ?? "")
            }
        return "\(subject) \(why)"
    }

    func backfillSchedule(_ request: BackfillScheduleRequest, _ exchange: Exchange) throws {
        let schedule = try own(request.name, exchange)
        try requireUsable(schedule)
        let (from, to) = (try instant(request.from, "from"), try instant(request.to, "to"))
        guard from <= to else { throw invalid("to", "must not be earlier than \"from\"") }
        let isSerial = try isSerial(request.overlap)
        let instants = schedule.pastInstants(from, through: to, limit: Backfill.mostInstants + 1)
        guard instants.count <= Backfill.mostInstants else {
            throw invalid("to", "there are more than \(Backfill.mostInstants) instants; write an earlier one")
        }
        // The answer comes several turns later. A further call is answered after it.
        exchange.pauseReading()
        schedules.backfill(schedule, instants, isSerial: isSerial) { result in
            switch result {
            case .failure(let error): exchange.fail(error)
            case .success(let answer):
                exchange.reply(
                    BackfillScheduleReply.with {
                        $0.runs = answer.runs.map { run in
                            ScheduleRunRow(ScheduleRun(instant: run, outcome: nil, unfinished: 1), of: schedule.name)
                        }
                        $0.present = answer.present
                    })
            }
        }
    }

    private func isSerial(_ overlap: String?) throws -> Bool {
        switch overlap {
        case nil, "queueAll"?: return true
        case "allow"?: return false
        case "skip"?, "queueOne"?, "cancel"?:
            throw invalid(
                "overlap",
                "would leave out most of the instants; write queueAll, so that they run one after the other, or allow")
        case let word?: throw invalid("overlap", "must be queueAll or allow, not \"\(word)\"")
        }
    }
}

extension UnixTime {
    /// RFC 3339 in UTC, as on the wire.
    var text: String { InstantText.format(wallInstant ?? .distantFuture) }
}

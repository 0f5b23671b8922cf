internal import OpsCalendar
internal import OpsCore
internal import OpsStore
internal import OpsWire

/// Instants of a schedule that were processed together, as an event reports them: stored as "INSTANT COUNT NAME".
struct DecidedInstants {
    let schedule: String
    /// The first of them.
    let nominal: String
    let count: Int

    init(_ schedule: String, from nominal: UnixTime, count: Int) {
        (self.schedule, self.count) = (schedule, count)
        self.nominal = nominal.text
    }

    /// Returns nil for a report about something else.
    init?(_ report: Report) {
        switch report.kind {
        case .fired, .skipped, .missed, .refused: break
        case .submitted, .ready, .started, .progress, .produced, .retrying, .cancelling, .suspended, .resumed,
            .finished, .edited, .conditionFalse, .interrupted:
            return nil
        }
        let words = report.detail?.split(separator: " ", maxSplits: 2).map(String.init) ?? []
        guard words.count == 3, let count = Int(words[1]) else { return nil }
        (nominal, self.count, schedule) = (words[0], count, words[2])
    }

    var detail: String { "\(nominal) \(count) \(schedule)" }

    /// Returns the event of a decision; nil if it has none.
    static func kind(of result: ScheduleInstant.Result) -> Report.Kind? {
        switch result {
        case .run: .fired
        case .skipped: .skipped
        case .missed: .missed
        case .refused: .refused
        case .paused: nil
        }
    }
}

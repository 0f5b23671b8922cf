/// The keys of `schedule` in a graph file.
public enum ScheduleKey: String, CaseIterable, Sendable {
    case at, zone, overlap, catchUp, window, spread, from, until, count, keep

    /// Type, meaning and default, as the manual has them.
    public var manual: (form: String, about: String, fallback: String) {
        switch self {
        case .at:
            (
                "text, or array of texts",
                "Calendar expressions: cron lines, calendar events of systemd.time(7), or `every 15m`.", "required"
            )
        case .zone: ("text", "Time zone of the expressions, such as `Europe/Berlin`.", "the daemon's")
        case .overlap:
            (
                "one of `\"skip\"`, `\"queueOne\"`, `\"queueAll\"`, `\"cancel\"`, `\"allow\"`",
                "What an instant does while a run of the schedule is unfinished: it is skipped; one run waits, or all do; "
                    + "the older run is cancelled; both run.",
                "`\"skip\"`"
            )
        case .catchUp:
            (
                "one of `\"none\"`, `\"last\"`, `\"all\"`",
                "Instants to catch up of those that were missed while opsd or the machine was down.", "`\"last\"`"
            )
        case .window: ("duration", "Age beyond which a missed instant is not caught up.", "`\"1d\"`")
        case .spread:
            ("duration", "Longest delay of a run; a run of the same instant always has the same delay.", "`0`")
        case .from: ("instant", "First instant that may run.", "none")
        case .until: ("instant", "Last instant that may run.", "none")
        case .count: ("integer", "Maximum number of runs.", "none")
        case .keep: ("integer", "Number of finished runs of which the graph is kept.", "`50`")
        }
    }

    /// The JSON Schema of the key.
    var schema: String {
        let text = #"{"type": "string", "minLength": 1}"#
        let duration = #"{"type": ["string", "integer"]}"#
        let integer = #"{"type": "integer", "minimum": 0}"#
        return switch self {
        case .at: #"{"anyOf": [\#(text), {"type": "array", "items": \#(text), "minItems": 1}]}"#
        case .zone, .from, .until: text
        case .overlap: #"{"enum": ["skip", "queueOne", "queueAll", "cancel", "allow"]}"#
        case .catchUp: #"{"enum": ["none", "last", "all"]}"#
        case .window, .spread: duration
        case .count, .keep: integer
        }
    }
}

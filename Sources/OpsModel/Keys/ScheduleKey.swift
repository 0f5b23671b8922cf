/// Keys of `schedule` in a graph file.
public enum ScheduleKey: String, CaseIterable, Sendable {
    case at, zone, overlap, catchUp, window, spread, from, until, count, keep, onPath, settle, batch, poll, onExec,
        every

    /// Type, description and default for the manual.
    public var manual: (form: String, about: String, fallback: String) {
        switch self {
        case .at:
            (
                "text, or array of texts",
                "Calendar expressions: cron lines, calendar events of systemd.time(7), `every 15m`, `afterFinish 10m` or "
                    + "`@reboot`.", "required, unless there is a trigger"
            )
        case .zone: ("text", "Time zone of the expressions, such as `Europe/Berlin`.", "the daemon's")
        case .overlap:
            (
                "one of `\"skip\"`, `\"queueOne\"`, `\"queueAll\"`, `\"cancel\"`, `\"allow\"`",
                "Effect of an instant that comes while a run of the schedule is unfinished. `skip`: the new run is "
                    + "skipped; `queueOne`: one run waits; `queueAll`: all runs wait; `cancel`: the older run is "
                    + "cancelled; `allow`: both run.",
                "`\"skip\"`; for triggers `\"queueAll\"`"
            )
        case .catchUp:
            (
                "one of `\"none\"`, `\"last\"`, `\"all\"`",
                "Instants that are run later if they were missed while opsd or the machine was down: none, the last one, or all.",
                "`\"last\"`"
            )
        case .window: ("duration", "Maximum age of a missed instant that is run later.", "`\"1d\"`")
        case .spread:
            ("duration", "Longest delay of a run; a run of the same instant always has the same delay.", "`0`")
        case .from: ("instant", "First instant that may run.", "none")
        case .until: ("instant", "Last instant that may run.", "none")
        case .count: ("integer", "Maximum number of runs.", "none")
        case .onPath:
            (
                "text",
                "Pattern of files, instead of `at`: starts a run for each file that is new or has changed, with "
                    + "its path in `OPS_TRIGGER_FILE` and `${file}`. In a text for the shell, `${file}` becomes "
                    + "`${OPS_TRIGGER_FILE}`, so that no part of a path is executed: do not put it in single quotes.",
                "none"
            )
        case .settle: ("duration", "Time for which a file must be unchanged.", "`\"5s\"`")
        case .batch:
            ("`true` or `false`", "One run for files that are new at once, or a few if they are very many.", "`false`")
        case .poll: ("duration", "Longest time between two scans of all files.", "`\"10m\"`")
        case .onExec:
            (
                "text",
                "Shell command, instead of `at`: starts a run for each new line that it prints, with the line in "
                    + "`OPS_TRIGGER_EVENT` and `${event}`. In a text for the shell, `${event}` becomes "
                    + "`${OPS_TRIGGER_EVENT}`, so that no part of a line is executed: do not put it in single quotes.",
                "none"
            )
        case .every: ("duration", "Time between two starts of that command.", "`\"5m\"`")
        case .keep: ("integer", "Number of finished runs whose graphs are kept.", "`50`")
        }
    }

    /// The JSON Schema of the key.
    var schema: String {
        let text = #"{"type": "string", "minLength": 1}"#
        let duration = #"{"type": ["string", "integer"]}"#
        let integer = #"{"type": "integer", "minimum": 0}"#
        return switch self {
        case .at: #"{"anyOf": [\#(text), {"type": "array", "items": \#(text), "minItems": 1}]}"#
        case .zone, .from, .until, .onPath, .onExec: text
        case .batch: #"{"type": "boolean"}"#
        case .overlap: #"{"enum": ["skip", "queueOne", "queueAll", "cancel", "allow"]}"#
        case .catchUp: #"{"enum": ["none", "last", "all"]}"#
        case .window, .spread, .settle, .poll, .every: duration
        case .count, .keep: integer
        }
    }
}

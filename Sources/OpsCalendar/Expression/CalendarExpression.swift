/// A calendar expression, which determines when a schedule runs.
public struct CalendarExpression: Hashable, Sendable, CustomStringConvertible {
    public enum Timing: Hashable, Sendable {
        /// A cron line or a calendar event, which matches local times.
        case pattern(CalendarPattern)
        /// Elapsed time, counted from the schedule's first instant.
        case every(seconds: Int64)
        /// Elapsed time since the end of the previous run.
        case afterFinish(seconds: Int64)
        /// Once per boot.
        case reboot
    }

    public let timing: Timing
    /// Zone in a calendar event; it overrides that of the schedule.
    public let zoneName: String?
    /// Canonical text: expressions with the same text have the same instants.
    public let description: String
    public let warnings: [StepWarning]

    init(_ timing: Timing, zoneName: String? = nil, _ description: String, warnings: [StepWarning] = []) {
        self.timing = timing
        self.zoneName = zoneName
        self.description = description
        self.warnings = warnings
    }

    /// Shorthands of cron, and their equivalent lines.
    private static let cronShorthands = [
        ("@hourly", "0 * * * *"), ("@daily", "0 0 * * *"), ("@midnight", "0 0 * * *"), ("@weekly", "0 0 * * 0"),
        ("@monthly", "0 0 1 * *"), ("@yearly", "0 0 1 1 *"), ("@annually", "0 0 1 1 *"),
    ]

    /// Reads a cron line, a shorthand with `@`, a calendar event of systemd, `every DURATION` or `afterFinish
    /// DURATION`.
    ///
    /// - Parameter duration: Returns the nanoseconds of a duration such as `15m`, or nil.
    public init(_ text: String, duration: (String) -> Int64?) throws(CalendarProblem) {
        let text = ExpressionText(text)
        guard text.bytes.count <= CalendarProblem.longest else {
            throw text.problem(
                "it has more than \(CalendarProblem.longest) bytes", "write several expressions instead",
                at: CalendarProblem.longest)
        }
        let words = text.words()
        guard let first = words.first else {
            throw text.problem("it is empty", "write an expression such as \"0 3 * * 1-5\"")
        }
        let word = first.rest
        if word.hasPrefix("@") {
            self = try Self.shorthand(word.lowercased(), words)
        } else if word == "every" || word == "afterFinish" {
            self = try Self.elapsed(word, text, words, duration)
        } else if words.count >= 5 || words.allSatisfy(Self.looksLikeCron) && words.count > 1 {
            self = try CronLine.parse(text, words)
        } else {
            self = try CalendarEvent.parse(text, words)
        }
    }

    /// Returns true if a word has only characters of cron lines. A word with a hyphen may also be a date.
    private static func looksLikeCron(_ word: ExpressionText) -> Bool {
        word.rest.utf8.allSatisfy { $0 &- UInt8(ascii: "0") <= 9 || "*,/?".utf8.contains($0) }
    }

    private static func shorthand(
        _ word: String, _ words: [ExpressionText]
    ) throws(CalendarProblem) -> CalendarExpression {
        // Some other schedulers have it.
        if word == "@every" {
            let duration = words.count > 1 ? words.dropFirst().map(\.rest).joined(separator: " ") : "15m"
            throw words[0].problem("there is no shorthand \(word)", "write \"every \(duration)\"")
        }
        let line = cronShorthands.first { $0.0 == word }?.1
        guard line != nil || word == "@reboot" else {
            throw words[0].problem(
                "there is no shorthand \(word)",
                "write one of \(cronShorthands.map(\.0).joined(separator: ", ")) and @reboot")
        }
        if words.count > 1 {
            throw words[1].problem("nothing may follow \(word)", "write \(word) alone, or a calendar event with a zone")
        }
        guard let line else { return CalendarExpression(.reboot, word) }
        let text = ExpressionText(line)
        return try CronLine.parse(text, text.words())
    }

    private static func elapsed(
        _ word: String, _ text: ExpressionText, _ words: [ExpressionText], _ duration: (String) -> Int64?
    ) throws(CalendarProblem) -> CalendarExpression {
        guard words.count > 1 else {
            throw text.problem("the duration is missing", "write \(word) 15m", at: text.bytes.count)
        }
        let spelled = words.dropFirst().map(\.rest).joined(separator: " ")
        guard let nanoseconds = duration(spelled) else {
            throw words[1].problem("\"\(spelled)\" is not a duration", "write a duration such as 90s, 15m or 1h30m")
        }
        let (seconds, rest) = nanoseconds.quotientAndRemainder(dividingBy: 1_000_000_000)
        guard seconds > 0, rest == 0 else {
            throw words[1].problem("\"\(spelled)\" is not a number of whole seconds", "write 1s or more")
        }
        return CalendarExpression(
            word == "every" ? .every(seconds: seconds) : .afterFinish(seconds: seconds), "\(word) \(spelled)")
    }
}

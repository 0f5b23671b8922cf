/// The five fields of cron: minute, hour, day of the month, month, day of the week.
enum CronLine {
    private static let fields: [CalendarField] = [.minute, .hour, .dayOfMonth, .month, .dayOfWeek]

    static func parse(
        _ text: ExpressionText, _ words: [ExpressionText]
    ) throws(CalendarProblem) -> CalendarExpression {
        guard words.count >= 5 else {
            throw text.problem(
                "a cron line has five fields, not \(words.count)",
                "write minute, hour, day of the month, month and day of the week", at: text.bytes.count)
        }
        guard words.count == 5 else {
            throw words[5].problem(
                "a cron line has five fields, not \(words.count)",
                "write seconds, years and zones as a calendar event: \"Mon..Fri *-*-* 03:00:30 Europe/Berlin\"")
        }
        var parsed: [CronField] = []
        for (word, field) in zip(words, fields) { parsed.append(try CronField(word, field)) }
        var pattern = CalendarPattern()
        pattern.minutes = parsed[0].mask
        pattern.hours = parsed[1].mask
        pattern.isHourUnrestricted = parsed[1].isUnrestricted
        pattern.days = parsed[2].mask
        pattern.months = parsed[3].mask
        pattern.weekdays = parsed[4].mask
        pattern.dayRule = parsed[2].isUnrestricted || parsed[4].isUnrestricted ? .both : .either
        return CalendarExpression(
            .pattern(pattern), parsed.map(\.text).joined(separator: " "), warnings: parsed.flatMap(\.warnings))
    }
}

/// One field of a cron line.
private struct CronField {
    private let field: CalendarField
    private(set) var mask: UInt64 = 0
    /// True if the field begins with `*`.
    private(set) var isUnrestricted = false
    private(set) var text = ""
    private(set) var warnings: [StepWarning] = []

    init(_ word: ExpressionText, _ field: CalendarField) throws(CalendarProblem) {
        self.field = field
        isUnrestricted = word.next == UInt8(ascii: "*")
        var texts: [String] = []
        for part in word.split({ $0 == UInt8(ascii: ",") }) {
            let text = try add(part)
            if !texts.contains(text) { texts.append(text) }
        }
        text = texts.joined(separator: ",")
        if field == .dayOfWeek { mask = (mask | mask >> 7 & 1) & CalendarPattern.everyWeekday }
    }

    /// Adds one element of the list, and returns its canonical text.
    private mutating func add(_ part: ExpressionText) throws(CalendarProblem) -> String {
        var part = part
        let whole = part
        let isStar = part.take("*")
        var item = FieldItem(first: field.range.lowerBound)
        if isStar {
            item.last = field == .dayOfWeek ? 6 : field.range.upperBound
        } else {
            item.first = try value(&part)
            if part.take("-") { item.last = try upperBound(&part, from: item.first, of: whole) }
        }
        if part.take("/") { item.step = try step(&part, item, of: whole) }
        guard part.isAtEnd else {
            throw part.problem(
                "\(part.nextShown) is not allowed in a cron field",
                "write numbers, names, ranges (1-5), steps (*/15) and lists of them (1,3)")
        }
        mask |= FieldItem.mask([item], in: field)
        if let warning = StepWarning(item, isWhole: isStar, field: field, spelled: whole.rest) {
            warnings.append(warning)
        }
        return Self.text(item, isStar: isStar)
    }

    private static func text(_ item: FieldItem, isStar: Bool) -> String {
        let step = item.step.map { $0 == 1 ? "" : "/\($0)" } ?? ""
        if isStar { return "*" + step }
        guard let last = item.last, last != item.first else { return "\(item.first)" }
        return "\(item.first)-\(last)" + step
    }

    private func value(_ part: inout ExpressionText) throws(CalendarProblem) -> Int {
        let start = part
        if let number = part.takeNumber() {
            guard field.range.contains(number) else {
                throw start.problem(
                    "\(field.rawValue) \(number) is out of range",
                    "write \(field.range.lowerBound) to \(field.range.upperBound)")
            }
            return number
        }
        let name = part.takeLetters()
        switch field {
        case .month:
            if let index = CalendarField.monthNames.firstIndex(of: name) { return index + 1 }
        case .dayOfWeek:
            if let index = CalendarField.weekdayNames.firstIndex(of: name) { return index }
        default: break
        }
        throw start.problem(Self.complaint(about: start, name), advice(name))
    }

    private static func complaint(about start: ExpressionText, _ name: String) -> String {
        if !name.isEmpty { return "\"\(start.rest.prefix(name.count))\" is not a value here" }
        return start.isAtEnd ? "a value is missing" : "\(start.nextShown) is not a value"
    }

    private func advice(_ name: String) -> String {
        switch (field, name) {
        case (.dayOfMonth, "l"): return "write the last day of the month as a calendar event: \"*-*~1\""
        case (.month, _): return "write 1 to 12 or jan to dec"
        case (.dayOfWeek, _): return "write 0 to 7 or sun to sat"
        default: return "write \(field.range.lowerBound) to \(field.range.upperBound), or * for all"
        }
    }

    private func upperBound(
        _ part: inout ExpressionText, from first: Int, of whole: ExpressionText
    ) throws(CalendarProblem) -> Int {
        let start = part
        var last = try value(&part)
        // A week may also end on Sunday.
        if field == .dayOfWeek, last == 0, first > 0 { last = 7 }
        guard last >= first else {
            let top = field == .dayOfWeek ? 6 : field.range.upperBound
            let rest = "\(field.range.lowerBound)-\(last)"
            throw start.problem(
                "the range ends before it begins",
                first > top ? "write \(rest)" : "write \(first)-\(top),\(rest) if it continues after \(top)")
        }
        return last
    }

    private func step(
        _ part: inout ExpressionText, _ item: FieldItem, of whole: ExpressionText
    ) throws(CalendarProblem) -> Int {
        let start = part
        guard let step = part.takeNumber() else {
            throw start.problem("a step is missing", "write a number from 1 on after \"/\"")
        }
        guard step > 0 else { throw start.problem("a step of 0 is not possible", "write a number from 1 on") }
        guard item.last != nil else {
            throw start.problem(
                "a step needs a range, and \(item.first) is one value",
                "write \(item.first)-\(field == .dayOfWeek ? 6 : field.range.upperBound)/\(step)")
        }
        return step
    }
}

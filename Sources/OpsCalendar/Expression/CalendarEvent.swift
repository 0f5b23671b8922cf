/// Calendar events of systemd.time(7): `Mon..Fri *-*-* 02:00:00 Europe/Berlin` and shorter forms.
struct CalendarEvent {
    /// A field without items is `*`.
    private var weekdays: UInt64 = CalendarPattern.everyWeekday
    private var years = EventField(.year)
    private var months = EventField(.month)
    private var days = EventField(.dayOfMonth)
    private var countsFromEnd = false
    private var hours = EventField(.hour, [FieldItem(first: 0)])
    private var minutes = EventField(.minute, [FieldItem(first: 0)])
    private var seconds = EventField(.second, [FieldItem(first: 0)])

    private static let shorthands = [
        "minutely": "*:*", "hourly": "*:0", "daily": "*-*-*", "weekly": "Mon", "monthly": "*-*-1", "yearly": "*-1-1",
        "annually": "*-1-1", "quarterly": "*-1,4,7,10-1", "semiannually": "*-1,7-1", "bi-annually": "*-1,7-1",
        "biannually": "*-1,7-1", "semi-annually": "*-1,7-1", "anually": "*-1-1",
    ]

    static func parse(
        _ text: ExpressionText, _ words: [ExpressionText]
    ) throws(CalendarProblem) -> CalendarExpression {
        var words = words
        var zone: String?
        if words.count > 1, let last = words.last, let letter = last.next, (letter | 0x20) &- UInt8(ascii: "a") < 26 {
            zone = try zoneName(last)
            words.removeLast()
        }
        var event = CalendarEvent()
        if let line = shorthands[words[0].rest.lowercased()] {
            if words.count > 1 {
                throw words[1].problem("only a time zone may follow \(words[0].rest)", "leave the rest out")
            }
            words = ExpressionText(line).words()
        }
        try event.read(words)
        return event.expression(zone)
    }

    private static func zoneName(_ word: ExpressionText) throws(CalendarProblem) -> String {
        let name = ZoneName.canonical(word.rest)
        if name == "UTC" { return name }
        var letters = word
        if weekday(letters.takeLetters()) != nil {
            throw word.problem("days of the week come first", "join them with commas, without spaces: Mon,Fri")
        }
        guard ZoneName.isValid(name) else {
            throw word.problem("\"\(name)\" is not the name of a time zone", "write one such as UTC or Europe/Berlin")
        }
        return name
    }

    private mutating func read(_ words: [ExpressionText]) throws(CalendarProblem) {
        var words = words[...]
        if let first = words.first, let letter = first.next, (letter | 0x20) &- UInt8(ascii: "a") < 26 {
            weekdays = try Self.weekdays(first)
            words.removeFirst()
        }
        if let first = words.first, !first.contains(":") {
            try readDate(first)
            words.removeFirst()
        }
        if let first = words.first {
            try readTime(first)
            words.removeFirst()
        }
        if let extra = words.first {
            throw extra.problem(
                "\"\(extra.rest)\" follows the time", "write days of the week, date, time and zone in this order")
        }
    }

    // MARK: - Days of the week

    private static func weekday(_ name: String) -> Int? {
        let full = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]
        return full.firstIndex(of: name) ?? CalendarField.weekdayNames.firstIndex(of: name)
    }

    private static func weekdays(_ word: ExpressionText) throws(CalendarProblem) -> UInt64 {
        var mask: UInt64 = 0
        var parts = word.split { $0 == UInt8(ascii: ",") }
        // A comma may separate weekday and time: `Wed, 17:48`
        if parts.count > 1, parts.last?.isAtEnd == true { parts.removeLast() }
        for var part in parts {
            let first = try weekday(&part)
            guard part.take("..") || part.take("-") else {
                try expectEnd(of: part, "a day of the week")
                mask |= 1 << UInt64(first)
                continue
            }
            let start = part
            let last = try weekday(&part)
            try expectEnd(of: part, "a day of the week")
            // The week of systemd begins on Monday.
            let (from, to) = ((first + 6) % 7, (last + 6) % 7)
            guard from <= to else {
                throw start.problem("the range ends before it begins", "weeks end on Sunday: write Sat,Sun,Mon")
            }
            for day in from...to { mask |= 1 << UInt64((day + 1) % 7) }
        }
        return mask
    }

    private static func weekday(_ part: inout ExpressionText) throws(CalendarProblem) -> Int {
        let start = part
        guard let day = weekday(part.takeLetters()) else {
            throw start.problem(
                "\"\(start.rest)\" is not a day of the week, a shorthand or a time",
                "write Mon to Sun, Monday to Sunday, or a word such as daily or weekly")
        }
        return day
    }

    private static func expectEnd(of part: ExpressionText, _ what: String) throws(CalendarProblem) {
        guard part.isAtEnd else {
            throw part.problem(
                "\(part.nextShown) cannot follow \(what)", "write lists with commas (1,3) and ranges with dots (1..3)")
        }
    }

    // MARK: - Date and time

    private mutating func readDate(_ word: ExpressionText) throws(CalendarProblem) {
        let separators: [UInt8] = [UInt8(ascii: "-"), UInt8(ascii: "~")]
        let parts = word.split(separators.contains)
        guard parts.count == 2 || parts.count == 3 else {
            throw word.problem(
                parts.count == 1 ? "\"\(word.rest)\" is neither a date nor a time" : "a date has three parts at most",
                "write a date such as *-*-01, *-12-24 or *-*~1, and a time such as 02:00")
        }
        for part in parts.dropLast(2) {
            try years.read(part)
            guard word.bytes[parts[1].position - 1] == UInt8(ascii: "-") else {
                throw parts[1].problem("only a day can be counted from the end", "write ~ before the day")
            }
        }
        try months.read(parts[parts.count - 2])
        countsFromEnd = word.bytes[parts[parts.count - 1].position - 1] == UInt8(ascii: "~")
        try days.read(parts[parts.count - 1], countsFromEnd: countsFromEnd)
        if days.items == nil { countsFromEnd = false }
    }

    private mutating func readTime(_ word: ExpressionText) throws(CalendarProblem) {
        let parts = word.split { $0 == UInt8(ascii: ":") }
        guard parts.count == 2 || parts.count == 3 else {
            throw word.problem("\"\(word.rest)\" is not a time", "write hour:minute or hour:minute:second")
        }
        try hours.read(parts[0])
        try minutes.read(parts[1])
        if parts.count == 3 { try seconds.read(parts[2]) }
    }

    // MARK: - Result

    private func expression(_ zone: String?) -> CalendarExpression {
        var pattern = CalendarPattern()
        pattern.weekdays = weekdays
        pattern.years = years.items
        pattern.months = months.mask ?? CalendarPattern.everyMonth
        pattern.days = days.mask ?? CalendarPattern.everyDay
        pattern.countsFromEnd = countsFromEnd
        pattern.hours = hours.mask ?? (1 << 24) - 1
        pattern.isHourUnrestricted = hours.items == nil
        pattern.minutes = minutes.mask ?? (1 << 60) - 1
        pattern.seconds = seconds.mask ?? (1 << 60) - 1
        let date = "\(years.text)-\(months.text)\(countsFromEnd ? "~" : "-")\(days.text)"
        let words = [weekdaysText, date, "\(hours.text):\(minutes.text):\(seconds.text)", zone ?? ""]
        return CalendarExpression(
            .pattern(pattern), zoneName: zone, words.filter { !$0.isEmpty }.joined(separator: " "),
            warnings: [years, months, days, hours, minutes, seconds].flatMap(\.warnings))
    }

    /// Days of the week from Monday on; three or more in a row are a range.
    private var weekdaysText: String {
        guard weekdays != CalendarPattern.everyWeekday else { return "" }
        let names = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
        func isIn(_ day: Int) -> Bool { weekdays >> UInt64((day + 1) % 7) & 1 == 1 }
        var texts: [String] = []
        var day = 0
        while day < 7 {
            var end = day
            while end < 7, isIn(end) { end += 1 }
            if end - day > 2 {
                texts.append("\(names[day])..\(names[end - 1])")
            } else {
                texts += names[day..<end]
            }
            day = max(end, day + 1)
        }
        return texts.joined(separator: ",")
    }
}

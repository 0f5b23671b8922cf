/// One field of a calendar event.
struct EventField {
    let field: CalendarField
    /// Items; nil for `*`.
    private(set) var items: [FieldItem]?
    private(set) var warnings: [StepWarning] = []
    /// True if 1 is the last day of the month.
    private var countsFromEnd = false

    init(_ field: CalendarField, _ items: [FieldItem]? = nil) {
        self.field = field
        self.items = items
    }

    /// Values as bits.
    var mask: UInt64? {
        guard let items else { return nil }
        guard countsFromEnd else { return FieldItem.mask(items, in: field) }
        // A repetition from the n-th last day to the last has descending numbers.
        let ascending = items.map { item in
            guard let step = item.step, item.last == nil else { return item }
            return FieldItem(first: 1 + (item.first - 1) % step, last: item.first, step: step)
        }
        return FieldItem.mask(ascending, in: field)
    }

    /// Reads `*`, or a list of values, ranges and repetitions.
    mutating func read(_ part: ExpressionText, countsFromEnd: Bool = false) throws(CalendarProblem) {
        self.countsFromEnd = countsFromEnd
        var star = part
        if star.take("*") {
            items = nil
            guard star.isAtEnd else {
                let example = star.take("/") ? "\(field.range.lowerBound)/\(star.rest)" : "* alone"
                throw part.problem("* cannot be combined in a calendar event", "write \(example)")
            }
            return
        }
        var items: [FieldItem] = []
        for element in part.split({ $0 == UInt8(ascii: ",") }) {
            let item = try item(element)
            if !items.contains(item) { items.append(item) }
        }
        items.sort { ($0.first, $0.last ?? -1, $0.step ?? 0) < ($1.first, $1.last ?? -1, $1.step ?? 0) }
        self.items = items
    }

    private mutating func item(_ element: ExpressionText) throws(CalendarProblem) -> FieldItem {
        var part = element
        var item = FieldItem(first: try value(&part))
        let isRange = part.take("..")
        if isRange {
            let start = part
            let last = try value(&part)
            guard last >= item.first else {
                throw start.problem(
                    "the range ends before it begins",
                    countsFromEnd ? "write the number that is nearer to the month's end first" : "write two ranges")
            }
            item.last = last
        }
        if part.take("/") { item.step = try repetition(&part, item) }
        guard part.isAtEnd else { throw part.problem(complaint(about: part), advice(part)) }
        if !countsFromEnd,
            let warning = StepWarning(item, isWhole: !isRange, field: field, spelled: element.rest)
        {
            warnings.append(warning)
        }
        if let last = item.last {
            item.last = last - (last - item.first) % (item.step ?? 1)
            if item.last == item.first { item = FieldItem(first: item.first) }
        }
        return item
    }

    private func value(_ part: inout ExpressionText) throws(CalendarProblem) -> Int {
        let start = part
        guard var number = part.takeNumber() else {
            throw start.problem(
                start.isAtEnd ? "\(field.withArticle) is missing" : complaint(about: start), advice(start))
        }
        if field == .year, number < 100 { number += number < 70 ? 2000 : 1900 }
        guard field.range.contains(number) else {
            throw start.problem(
                "\(field.rawValue) \(number) is out of range",
                "write \(field.range.lowerBound) to \(field.range.upperBound)")
        }
        return number
    }

    private func repetition(_ part: inout ExpressionText, _ item: FieldItem) throws(CalendarProblem) -> Int {
        let start = part
        guard let step = part.takeNumber() else {
            throw start.problem("a repetition is missing", "write a number from 1 on after \"/\"")
        }
        guard step > 0 else { throw start.problem("a repetition of 0 is not possible", "write a number from 1 on") }
        let room = countsFromEnd ? item.first - 1 : field.range.upperBound - item.first
        guard item.last != nil || step <= room else {
            throw start.problem(
                "no \(field.rawValue) follows \(item.first) after \(step)",
                "leave the repetition out, or write a smaller one")
        }
        return step
    }

    private func complaint(about part: ExpressionText) -> String {
        "\(part.nextShown) is not allowed in \(field.withArticle)"
    }

    private func advice(_ part: ExpressionText) -> String {
        if field == .second, part.next == UInt8(ascii: ".") {
            return "schedules start at whole seconds: leave the fraction out"
        }
        return "write numbers, lists (1,3), ranges (1..3), repetitions (0/15) or *"
    }

    // MARK: - Text

    var text: String {
        guard let items else { return "*" }
        return items.map(text).joined(separator: ",")
    }

    private func text(_ item: FieldItem) -> String {
        let range = item.last.map { "\(padded(item.first))..\(padded($0))" } ?? padded(item.first)
        guard let step = item.step, step != 1 || item.last == nil else { return range }
        return "\(range)/\(step)"
    }

    private func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

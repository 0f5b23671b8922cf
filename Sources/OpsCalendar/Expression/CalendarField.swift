/// The parts of a calendar expression.
public enum CalendarField: String, Sendable {
    case second, minute, hour
    case dayOfMonth = "day of the month"
    case month
    case dayOfWeek = "day of the week"
    case year

    var withArticle: String { (self == .hour ? "an " : "a ") + rawValue }

    /// Values that are allowed. As a day of the week, 0 and 7 are both Sunday.
    var range: ClosedRange<Int> {
        switch self {
        case .second, .minute: 0...59
        case .hour: 0...23
        case .dayOfMonth: 1...31
        case .month: 1...12
        case .dayOfWeek: 0...7
        case .year: 1970...2199
        }
    }

    /// Number of values before they repeat; nil if that varies.
    var cycle: Int? {
        switch self {
        case .second, .minute: 60
        case .hour: 24
        case .month: 12
        case .dayOfWeek: 7
        case .dayOfMonth, .year: nil
        }
    }

    static let monthNames = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    static let weekdayNames = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
}

/// A value, a range, or a repetition in a field: `5`, `1-5`, `0-30/10`, `0/15`.
struct FieldItem: Hashable, Sendable {
    var first: Int
    /// Last value; nil for a single value, or with a step for the largest value of the field.
    var last: Int?
    var step: Int?

    func values(in field: CalendarField) -> StrideThrough<Int> {
        stride(from: first, through: last ?? (step == nil ? first : field.range.upperBound), by: step ?? 1)
    }

    func contains(_ value: Int, in field: CalendarField) -> Bool {
        let last = last ?? (step == nil ? first : field.range.upperBound)
        return first...last ~= value && (value - first) % (step ?? 1) == 0
    }

    /// Returns one bit for each value.
    static func mask(_ items: [FieldItem], in field: CalendarField) -> UInt64 {
        items.reduce(0) { mask, item in
            item.values(in: field).reduce(mask) { $0 | 1 << UInt64($1) }
        }
    }
}

/// A step that does not divide its range, so that the last distance before the values repeat differs.
public struct StepWarning: Hashable, Sendable, CustomStringConvertible {
    public let field: CalendarField
    public let step: Int
    public let description: String

    /// Returns a warning if the range of an item is not a multiple of its step.
    ///
    /// - Parameter isWhole: True for `*/step` or `first/step`.
    init?(_ item: FieldItem, isWhole: Bool, field: CalendarField, spelled: String) {
        guard let step = item.step, step > 1, field != .year else { return nil }
        self.field = field
        self.step = step
        let values = Array(item.values(in: field))
        let last = values.last ?? item.first
        guard isWhole else {
            guard let end = item.last, last != end else { return nil }
            description = "\"\(spelled)\": \(step) does not divide the range; the last value is \(last)"
            return
        }
        if let cycle = field.cycle, cycle % step == 0 { return nil }
        guard values.count > 1 else {
            let top = field.range.upperBound
            description =
                "\"\(spelled)\": a step of \(step) goes beyond \(top); the \(field.rawValue) is always \(item.first)"
            return
        }
        let whole = field.cycle.map(String.init) ?? "each month"
        description =
            "\"\(spelled)\": \(step) does not divide \(whole); the \(field.rawValue) after \(last) is \(item.first)"
    }
}

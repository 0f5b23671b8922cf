// Compiled by scripts/fuzz; not part of the package.

import OpsCalendar

private let zones = [
    "UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "IST-1GMT0,M10.5.0,M3.5.0/1",
]
.compactMap { text in outcome { () throws(ZoneFileError) in try ZoneRules(posix: text) } }

/// Calendar expressions, rules of zones, and zone files.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOne(_ data: UnsafePointer<UInt8>?, _ size: Int) -> CInt {
    guard let input = FuzzInput(data, size) else { return 0 }
    switch input.choice % 4 {
    case 0: fuzzZone(outcome { () throws(ZoneFileError) in try ZoneRules(file: input.bytes) })
    case 1: fuzzZone(outcome { () throws(ZoneFileError) in try ZoneRules(posix: input.text) })
    default: fuzzExpression(input.text, zones[Int(input.choice / 4) % zones.count])
    }
    return 0
}

/// Checks that a time shown by the clocks leads back to the first instant at which they show it or a later time.
private func fuzzZone(_ rules: ZoneRules?) {
    guard let rules else { return }
    for year in stride(from: Int64(-40), to: 400, by: 7) {
        let instant = UnixTime(seconds: year * 31_556_952 + 12_345)
        let period = rules.period(containing: instant)
        precondition(period.start <= instant && (instant < period.end || period.end == .latest))
        let local = rules.localTime(at: instant)
        let first = rules.firstInstant(reaching: local)
        precondition(first <= instant && rules.localTime(at: first) >= local)
        precondition(rules.localTime(at: UnixTime(seconds: first.seconds - 1)) < local)
    }
}

/// Checks that an expression is read back from its own description, and that its instants are the same in both
/// directions.
private func fuzzExpression(_ text: String, _ zone: ZoneRules) {
    guard let expression = parsed(text) else { return }
    let again = parsed(expression.description)
    precondition(again?.description == expression.description && again?.timing == expression.timing)
    let recurrence = Recurrence(expression, zone: zone, start: UnixTime(seconds: 1_700_000_000))
    var instant = UnixTime(seconds: 1_729_900_000)
    for _ in 0..<3 {
        guard let next = recurrence.next(after: instant) else { return }
        precondition(next > instant)
        precondition(recurrence.previous(before: UnixTime(seconds: next.seconds + 1)) == next)
        instant = next
    }
}

private func parsed(_ text: String) -> CalendarExpression? {
    outcome { () throws(CalendarProblem) in
        try CalendarExpression(text) { word in
            guard let unit = ["s": 1, "m": 60, "h": 3600][word.suffix(1)], let count = Int64(word.dropLast()), count > 0
            else { return nil }
            let (seconds, overflow) = count.multipliedReportingOverflow(by: Int64(unit) * 1_000_000_000)
            return overflow ? nil : seconds
        }
    }
}

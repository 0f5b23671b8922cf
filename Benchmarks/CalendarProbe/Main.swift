// Answers questions about zones and calendar expressions, one line each, for scripts/calendar-oracles.
//
//     load|ZONE                                  ok
//     offset|ZONE|INSTANT...                     OFFSET...
//     local|ZONE|LOCAL...                        INSTANT...: the first one of a time, or the end of its gap
//     changes|ZONE|FROM|TO                       INSTANT:BEFORE:AFTER ...
//     next|ZONE|EXPRESSION|AFTER|COUNT           INSTANT...
//     previous|ZONE|EXPRESSION|BEFORE|COUNT      INSTANT...
//     form|EXPRESSION                            canonical text
//
// Instants are seconds since 1970, local times the same on the zone's clock. What goes wrong is told after "! ".

internal import Glibc
internal import OpsCalendar
internal import OpsWire

struct Refusal: Error, CustomStringConvertible {
    let description: String
}

@main enum Main {
    static func main() {
        var probe = Probe()
        while let line = readLine() {
            do {
                print(try probe.answer(line.split(separator: "|", omittingEmptySubsequences: false).map(String.init)))
            } catch {
                print("! \(error)")
            }
            fflush(nil)
        }
    }
}

struct Probe {
    private var zones: [String: ZoneRules] = [:]

    mutating func answer(_ words: [String]) throws -> String {
        switch words[0] {
        case "load":
            _ = try zone(words[1])
            return "ok"
        case "offset":
            let rules = try zone(words[1])
            return try numbers(words[2]).map { "\(rules.offset(at: UnixTime(seconds: $0)))" }.joined(separator: " ")
        case "local":
            let rules = try zone(words[1])
            return try numbers(words[2]).map { "\(rules.firstInstant(reaching: local($0)).seconds)" }
                .joined(separator: " ")
        case "changes":
            return try changes(zone(words[1]), from: number(words[2]), to: number(words[3]))
        case "next":
            let recurrences = Recurrences([try recurrence(words)], after: UnixTime(seconds: try number(words[3])))
            return recurrences.prefix(Int(try number(words[4]))).map { "\($0.seconds)" }.joined(separator: " ")
        case "previous":
            return try previous(recurrence(words), before: number(words[3]), count: number(words[4]))
        case "form":
            return try expression(words[1]).description
        default:
            throw Refusal(description: "no question \(words[0])")
        }
    }

    private func previous(_ recurrence: Recurrence, before: Int64, count: Int64) -> String {
        var found: [String] = []
        var limit = UnixTime(seconds: before)
        while found.count < count, let instant = recurrence.previous(before: limit) {
            found.append("\(instant.seconds)")
            limit = instant
        }
        return found.joined(separator: " ")
    }

    private func changes(_ rules: ZoneRules, from: Int64, to: Int64) -> String {
        var found: [String] = []
        var instant = UnixTime(seconds: from)
        while let change = rules.nextChange(after: instant, through: UnixTime(seconds: to)) {
            found.append("\(change.instant.seconds):\(change.before):\(change.after)")
            instant = change.instant
        }
        return found.joined(separator: " ")
    }

    private func local(_ seconds: Int64) -> LocalTime {
        // UTC's clock shows the seconds themselves.
        ZoneRules.utc.localTime(at: UnixTime(seconds: seconds))
    }

    // MARK: - Words

    private func expression(_ text: String) throws -> CalendarExpression {
        try CalendarExpression(text, duration: { DurationText.parse($0)?.nanoseconds })
    }

    private mutating func recurrence(_ words: [String]) throws -> Recurrence {
        let expression = try expression(words[2])
        return Recurrence(expression, zone: try zone(expression.zoneName ?? words[1]), start: UnixTime(seconds: 0))
    }

    private func number(_ text: String) throws -> Int64 {
        guard let number = Int64(text) else { throw Refusal(description: "\(text) is no number") }
        return number
    }

    private func numbers(_ text: String) throws -> [Int64] {
        try text.split(separator: " ").map { try number(String($0)) }
    }

    private mutating func zone(_ name: String) throws -> ZoneRules {
        if let known = zones[name] { return known }
        let rules = try ZoneRules(file: try bytes(of: ZoneName.folder + "/" + name))
        zones[name] = rules
        return rules
    }

    private func bytes(of path: String) throws -> [UInt8] {
        guard let file = fopen(path, "r") else { throw Refusal(description: "cannot read \(path)") }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: ZoneRules.maximumFileSize + 1)
        bytes.removeLast(bytes.count - fread(&bytes, 1, bytes.count, file))
        return bytes
    }
}

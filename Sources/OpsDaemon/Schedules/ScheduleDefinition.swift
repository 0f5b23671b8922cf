internal import OpsCalendar
internal import OpsCore
internal import OpsStore
internal import OpsWire

/// A parsed schedule: the instants of its calendar, its policy, and the graph that it submits.
struct ScheduleDefinition {
    let request: AddScheduleRequest
    let recurrences: Recurrences
    private(set) var policy: SchedulePolicy
    let trigger: Trigger?
    let zone: ZoneRules
    /// Time zones on whose rules the definition depends.
    let zoneNames: Set<String>
    /// Seconds from the end of a run to the next.
    let afterFinish: Int64?
    let runsAtBoot: Bool
    /// Number of finished runs whose graph is kept.
    let keep: Int
    /// Warnings about expressions that are accepted.
    let warnings: [String]
    /// Problems because of which the schedule cannot run. Then the definition has no instants.
    private(set) var problems: [Problem]

    /// Maximum number of expressions.
    static let mostExpressions = 100
    private static let usuallyKept = 50
    private static let mostKept = 10_000

    /// Reads a request. If it names no zone, the zone of the machine is filled in, so that the stored definition always
    /// names one.
    /// - Parameter start: Instant from which `every` counts, unless the request says `from`.
    init(_ request: AddScheduleRequest, start: UnixTime, _ zones: ZoneReader = ZoneReader()) {
        var request = request
        let name = request.zone.map(ZoneName.canonical) ?? ZoneFiles.machine
        request.zone = name
        request.dryRun = nil
        request.replace = nil
        var problems = Problems()
        zone = problems.collect { try Self.rules(of: name, zones) } ?? .utc
        policy = Self.policy(request, &problems)
        keep = request.keep ?? Self.usuallyKept
        if !(0...Self.mostKept ~= keep) {
            problems.add("keep", "must be 0 to \(Self.mostKept), not \(keep)")
        }
        if let order = request.order, QueueOrder(text: order) == nil {
            problems.add("order", "must be submission or longestPath, not \"\(order.prefix(100))\"")
        }
        trigger = problems.collect { try Self.trigger(request) } ?? nil
        let isTriggered = request.onPath != nil || request.onExec != nil
        if isTriggered, !request.at.isEmpty {
            problems.add("at", "a trigger has no calendar: write only one of at, onPath and onExec")
        }
        if isTriggered, request.overlap == nil { policy.overlap = .queueAll }
        if !isTriggered, !(1...Self.mostExpressions ~= request.at.count) {
            problems.add("at", "there must be 1 to \(Self.mostExpressions) expressions, not \(request.at.count)")
        }
        var calendar = Calendar(request.at.prefix(Self.mostExpressions), zone, policy.from ?? start, zones, &problems)
        zoneNames = calendar.zoneNames.union([name])
        if !problems.found.isEmpty { calendar = Calendar() }
        self.problems = problems.found
        recurrences = Recurrences(calendar.recurrences)
        afterFinish = calendar.pause
        runsAtBoot = calendar.isAtBoot
        warnings = calendar.warnings
        self.request = request
    }

    /// The parsed expressions of a calendar.
    private struct Calendar {
        var recurrences: [Recurrence] = []
        var warnings: [String] = []
        /// Seconds from the end of a run to the next.
        var pause: Int64?
        var isAtBoot = false
        /// Zones in the expressions.
        var zoneNames: Set<String> = []

        init() {}

        init(
            _ texts: some Sequence<String>, _ zone: ZoneRules, _ start: UnixTime, _ zones: ZoneReader,
            _ problems: inout Problems
        ) {
            for text in texts { problems.collect { try add(text, zone, start, zones) } }
        }

        private mutating func add(_ text: String, _ zone: ZoneRules, _ start: UnixTime, _ zones: ZoneReader) throws {
            let expression: CalendarExpression
            do throws(CalendarProblem) {
                expression = try CalendarExpression(text, duration: { DurationText.parse($0)?.nanoseconds })
            } catch { throw problem("at", "\(error)") }
            warnings += expression.warnings.map { "\($0)" }
            if let name = expression.zoneName { zoneNames.insert(name) }
            switch expression.timing {
            case .afterFinish(let seconds): pause = min(pause ?? seconds, seconds)
            case .reboot: isAtBoot = true
            case .pattern, .every:
                let rules = if let own = expression.zoneName { try rules(of: own, zones) } else { zone }
                recurrences.append(Recurrence(expression, zone: rules, start: start))
            }
        }
    }

    /// Returns true if another definition is equal. The recorded environment is not compared.
    func isEqual(_ other: ScheduleDefinition) -> Bool {
        var (own, others) = (request, other.request)
        own.capture = nil
        others.capture = nil
        return own == others
    }

    /// Returns the problems because of which the definition cannot be added. A stored one with some of them still runs.
    func problemsOfAddition(at now: UnixTime) -> [Problem] {
        problems + endedExpressions(at: now) + valuesOfOlderVersions
    }

    /// Problems of values that older versions of opsd accepted, but used in another way than they are written.
    private var valuesOfOlderVersions: [Problem] {
        var found: [Problem] = []
        for (key, text) in [("window", request.window), ("spread", request.spread)] {
            guard let text, let span = DurationText.parse(text), span != .seconds(span.seconds) else { continue }
            found.append(Problem(key, "\"\(text)\" is not a number of whole seconds; write one such as 90s or 15m"))
        }
        let (key, pause) = request.onExec == nil ? ("poll", request.poll) : ("every", request.every)
        if let pause, let span = DurationText.parse(pause), span < .seconds(1) {
            found.append(Problem(key, "\"\(pause)\" is too short; write 1s or more"))
        }
        guard let glob = request.onPath else { return found }
        if glob.utf8.last == UInt8(ascii: "/") {
            found.append(Problem("onPath", "\"\(glob)\" ends in \"/\", so no file matches it; write \"\(glob)*\""))
        }
        if request.every != nil { found.append(Problem("every", "is only for \"onExec\"; write poll \"10m\"")) }
        return found
    }

    /// Returns a problem for each expression that never matches again.
    private func endedExpressions(at now: UnixTime) -> [Problem] {
        recurrences.all.compactMap { recurrence in
            let first = recurrence.next(after: max(now, policy.from.map { UnixTime(seconds: $0.seconds - 1) } ?? now))
            if let first, first <= policy.until ?? .latest { return nil }
            return Problem("at", "\"\(recurrence.expression)\" has no instant in the future")
        }
    }

    private static func rules(of name: String, _ zones: ZoneReader) throws -> ZoneRules {
        let rules: ZoneRules?
        do { rules = try zones.rules(of: name) } catch { throw problem("zone", "\"\(name)\": \(error)") }
        guard let rules else {
            throw problem("zone", "there is no time zone \"\(name)\"; write one such as UTC or Europe/Berlin")
        }
        return rules
    }

    private static func policy(_ request: AddScheduleRequest, _ problems: inout Problems) -> SchedulePolicy {
        var policy = SchedulePolicy()
        if let word = request.overlap {
            if let overlap = SchedulePolicy.Overlap.allCases.first(where: { "\($0)" == word }) {
                policy.overlap = overlap
            } else {
                problems.add("overlap", "must be skip, queueOne, queueAll, cancel or allow, not \"\(word)\"")
            }
        }
        switch request.catchUp {
        case "none": policy.catchUp = .none
        case nil, "last": policy.catchUp = .last
        case "all": policy.catchUp = .all
        case let word?: problems.add("catchUp", "must be none, last or all, not \"\(word)\"")
        }
        if let text = request.window {
            policy.window = problems.collect { try span(text, "window").seconds } ?? policy.window
        }
        if let text = request.spread {
            policy.spread = problems.collect { try span(text, "spread").seconds } ?? policy.spread
        }
        if let text = request.from { policy.from = problems.collect { try instant(text, "from") } }
        if let text = request.until { policy.until = problems.collect { try instant(text, "until") } }
        if let count = request.count {
            if count > 0 { policy.count = count } else { problems.add("count", "must be 1 or more, not \(count)") }
        }
        if let (key, reason) = policy.contradiction { problems.add(key, reason) }
        return policy
    }

    private static func trigger(_ request: AddScheduleRequest) throws -> Trigger? {
        if let glob = request.onPath {
            if request.onExec != nil { throw problem("onExec", "there is also onPath; write only one of them") }
            guard glob.hasPrefix("/"), !glob.utf8.contains(0), glob.utf8.count <= Limits.pathBytes else {
                throw problem("onPath", "\"\(glob)\" is not an absolute pattern such as /srv/in/*.csv")
            }
            return .path(
                glob: glob, settle: try request.settle.map { try span($0, "settle") } ?? .seconds(5),
                isBatch: request.batch ?? false, poll: try pause(request.poll, "poll") ?? .minutes(10))
        }
        for (key, isGiven) in [
            ("settle", request.settle != nil), ("batch", request.batch != nil), ("poll", request.poll != nil),
        ] where isGiven { throw problem(key, "is only for \"onPath\"") }
        guard let command = request.onExec else {
            if request.every != nil { throw problem("every", "is only for \"onExec\"; write at \"every 5m\"") }
            return nil
        }
        guard !command.isEmpty, command.utf8.count <= Limits.commandBytes, !command.utf8.contains(0) else {
            throw problem("onExec", "is not a command")
        }
        return .exec(command: command, every: try pause(request.every, "every") ?? .minutes(5))
    }

    /// Returns the time between two checks of a trigger. A stored definition may have a shorter one than is possible.
    private static func pause(_ text: String?, _ key: String) throws -> TimeSpan? {
        try text.map { max(.seconds(1), try span($0, key)) }
    }

    private static func span(_ text: String, _ key: String) throws -> TimeSpan {
        guard let span = DurationText.parse(text) else {
            throw problem(key, "\"\(text)\" is not a duration such as 15m or 1d")
        }
        return span
    }

    private static func instant(_ text: String, _ key: String) throws -> UnixTime {
        guard let instant = InstantText.parse(text) else {
            throw problem(key, "\"\(text)\" is not an instant from 1970 to 2262 such as 2027-01-31T06:00:00Z")
        }
        return UnixTime(flooring: instant)
    }

    /// Problems of a request, which are reported together.
    private struct Problems {
        private(set) var found: [Problem] = []

        mutating func add(_ key: String, _ message: String) { found.append(Problem(key, message)) }

        /// Returns nil after a problem.
        @discardableResult
        mutating func collect<Value>(_ read: () throws -> Value) -> Value? {
            do {
                return try read()
            } catch ControlError.invalidOperation(let problems) {
                found += problems
            } catch {
                found.append(Problem(nil, "\(error)"))
            }
            return nil
        }
    }

    static func problem(_ key: String, _ message: String) -> ControlError {
        .invalidOperation([Problem(key, message)])
    }
}

extension Problem {
    fileprivate init(_ key: String?, _ message: String) {
        self.init()
        self.key = key
        self.message = message
    }
}

extension [Problem] {
    /// All problems on one line.
    var text: String { map { ($0.key.map { "\($0): " } ?? "") + $0.message }.joined(separator: "; ") }
}

extension ScheduleDefinition {
    /// Reads the definition of a stored schedule.
    init(_ stored: StoredSchedule, _ zones: ZoneReader = ZoneReader()) {
        var request = AddScheduleRequest()
        var unreadable: Problem?
        do throws(InvalidParameter) {
            request = try scan(Array(stored.definition.utf8)) { (scanner) throws(InvalidParameter) in
                try AddScheduleRequest(from: &scanner)
            }
        } catch {
            // An older opsd does not know all keys. It keeps the graphs of the runs.
            request.name = stored.name
            request.keep = Self.mostKept
            unreadable = Problem(nil, "this version of opsd cannot read it: \(error.parameter) \(error.reason)")
        }
        self.init(request, start: UnixTime(flooring: stored.addedAt), zones)
        if let unreadable { problems = [unreadable] }
    }

    /// Rules of its time zones, by name; none if it has problems.
    var zones: [String: ZoneRules] {
        guard problems.isEmpty else { return [:] }
        var zones = request.zone.map { [$0: zone] } ?? [:]
        for recurrence in recurrences.all {
            if let name = recurrence.expression.zoneName { zones[name] = recurrence.zone }
        }
        return zones
    }

    /// The definition as it is stored.
    var text: String {
        var writer = JSONWriter(capacity: 4096)
        request.write(to: &writer)
        return writer.text
    }

    /// Returns an instant in the zone of the schedule: RFC 3339 with its offset.
    func local(_ instant: UnixTime) -> String {
        let offset = zone.offset(at: instant)
        let shown = UnixTime(seconds: instant.seconds + Int64(offset))
        let text = InstantText.format(shown.wallInstant ?? .zero).prefix(19)
        let minutes = abs(offset) / 60
        return text + (offset < 0 ? "-" : "+") + Self.padded(minutes / 60) + ":" + Self.padded(minutes % 60)
    }

    private static func padded(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
}

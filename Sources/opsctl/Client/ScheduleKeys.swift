internal import OpsModel
internal import OpsWire

/// The key `schedule` of a graph file.
struct ScheduleKeys {
    private let file: GraphFile
    /// Problems of values that do not fit into a request, and unknown keys. opsd finds the other problems.
    private(set) var problems: [LocatedProblem] = []

    init(_ file: GraphFile) { self.file = file }

    /// Copies the keys of the file into a request.
    mutating func fill(_ request: inout AddScheduleRequest) {
        var seen: Set<String> = []
        for (key, offset, value) in file.scheduleMembers where !value.isNull {
            guard seen.insert(key).inserted else {
                report(nil, offset, "the key \"\(key)\" of a schedule occurs twice")
                continue
            }
            guard let name = ScheduleKey(rawValue: key) else {
                let suggestion = Nearest.suggestion(for: key, among: ScheduleKey.allCases.map(\.rawValue))
                report(nil, offset, "unknown key \"\(key)\" of a schedule" + suggestion)
                continue
            }
            switch name {
            case .at: request.at = value.isArray ? value.elements.map { text(key, $0) } : [text(key, value)]
            case .zone: request.zone = text(key, value)
            case .overlap: request.overlap = text(key, value)
            case .catchUp: request.catchUp = text(key, value)
            case .window: request.window = duration(key, value)
            case .spread: request.spread = duration(key, value)
            case .from: request.from = instant(key, value)
            case .until: request.until = instant(key, value)
            case .count: request.count = integer(key, value)
            case .keep: request.keep = integer(key, value)
            case .onPath: request.onPath = text(key, value)
            case .settle: request.settle = duration(key, value)
            case .batch: request.batch = boolean(key, value)
            case .poll: request.poll = duration(key, value)
            case .onExec: request.onExec = text(key, value)
            case .every: request.every = duration(key, value)
            }
        }
    }

    /// The problems of the file as one failure; nil if there are none.
    var failure: Failure? {
        guard let first = problems.first else { return nil }
        var failure = Failure(.refused, "", first.problem.message)
        failure.problems = problems
        return failure
    }

    /// Returns the failure of a call with file, line and column of each problem, and with the problems of the file.
    func including(_ refusal: Failure) -> Failure {
        let located = file.located(refusal)
        guard var failure else { return located }
        let known = Set(problems.compactMap(\.problem.key))
        failure.problems += located.problems.filter { found in
            found.problem.index != nil || !known.contains(found.problem.key ?? "")
        }
        return failure
    }

    private mutating func report(_ key: String?, _ offset: Int, _ message: String) {
        let problem = Problem.with {
            $0.key = key
            $0.message = message
        }
        problems.append(LocatedProblem(problem: problem, place: file.place(of: offset)))
    }

    private mutating func text(_ key: String, _ value: JSONView) -> String {
        if let text = value.text { return text }
        report(key, value.range.lowerBound, "must be a text")
        return value.source
    }

    private mutating func integer(_ key: String, _ value: JSONView) -> Int? {
        if let number = Int(value.source) { return number }
        report(key, value.range.lowerBound, "must be an integer")
        return nil
    }

    private mutating func boolean(_ key: String, _ value: JSONView) -> Bool? {
        if ["true", "false"].contains(value.source) { return value.source == "true" }
        report(key, value.range.lowerBound, "must be true or false")
        return nil
    }

    /// Reads a duration; a number means seconds.
    private mutating func duration(_ key: String, _ value: JSONView) -> String? {
        if Double(value.source) != nil { return value.source + "s" }
        if let text = value.text { return text }
        report(key, value.range.lowerBound, "must be a duration such as \"15m\"")
        return nil
    }

    /// Reads an instant. Durations are refused: they would mean another instant each time the file is applied.
    private mutating func instant(_ key: String, _ value: JSONView) -> String? {
        if let text = value.text, text.utf8.first.map({ 0x30...0x39 ~= $0 }) == true, text.contains("-"),
            let instant = Instant.parse(text, now: .now)
        {
            return instant.rfc3339
        }
        report(
            key, value.range.lowerBound, "must be an instant from 1970 to 2262 such as \"2027-01-31T06:00:00Z\"")
        return nil
    }
}

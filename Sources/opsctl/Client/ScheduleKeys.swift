internal import OpsModel
internal import OpsWire

/// The key `schedule` of a graph file.
struct ScheduleKeys {
    private let file: GraphFile

    init(_ file: GraphFile) { self.file = file }

    /// Copies the keys of the file into a request.
    func fill(_ request: inout AddScheduleRequest) throws(Failure) {
        for (key, offset, value) in file.scheduleMembers {
            if value.isNull { continue }
            guard let name = ScheduleKey(rawValue: key) else {
                let suggestion = Nearest.suggestion(for: key, among: ScheduleKey.allCases.map(\.rawValue))
                throw failure(offset, "unknown key \"\(key)\" of a schedule" + suggestion)
            }
            switch name {
            case .at: request.at = try texts(key, value)
            case .zone: request.zone = try text(key, value)
            case .overlap: request.overlap = try text(key, value)
            case .catchUp: request.catchUp = try text(key, value)
            case .window: request.window = try duration(key, value)
            case .spread: request.spread = try duration(key, value)
            case .from: request.from = try instant(key, value)
            case .until: request.until = try instant(key, value)
            case .count: request.count = try integer(key, value)
            case .keep: request.keep = try integer(key, value)
            case .onPath: request.onPath = try text(key, value)
            case .settle: request.settle = try duration(key, value)
            case .batch: request.batch = try boolean(key, value)
            case .poll: request.poll = try duration(key, value)
            case .onExec: request.onExec = try text(key, value)
            case .every: request.every = try duration(key, value)
            }
        }
    }

    private func failure(_ offset: Int, _ why: String) -> Failure {
        Failure(.refused, file.place(of: offset), why, "see the chapter Schedules of opsd-graph(5)")
    }

    private func text(_ key: String, _ value: JSONView) throws(Failure) -> String {
        guard let text = value.text else { throw failure(value.range.lowerBound, "\"\(key)\" is a text") }
        return text
    }

    private func texts(_ key: String, _ value: JSONView) throws(Failure) -> [String] {
        guard value.isArray else { return [try text(key, value)] }
        var texts: [String] = []
        for element in value.elements { texts.append(try text(key, element)) }
        return texts
    }

    private func integer(_ key: String, _ value: JSONView) throws(Failure) -> Int {
        guard let number = Int(value.source) else {
            throw failure(value.range.lowerBound, "\"\(key)\" must be an integer")
        }
        return number
    }

    private func boolean(_ key: String, _ value: JSONView) throws(Failure) -> Bool {
        guard ["true", "false"].contains(value.source) else {
            throw failure(value.range.lowerBound, "\"\(key)\" must be true or false")
        }
        return value.source == "true"
    }

    /// Reads a duration; a number means seconds.
    private func duration(_ key: String, _ value: JSONView) throws(Failure) -> String {
        if let seconds = Int(value.source) { return "\(seconds)s" }
        guard let text = value.text else {
            throw failure(value.range.lowerBound, "\"\(key)\" must be a duration such as \"15m\"")
        }
        return text
    }

    /// Reads an instant. Durations are refused: they would mean another instant each time the file is applied.
    private func instant(_ key: String, _ value: JSONView) throws(Failure) -> String {
        guard let text = value.text, text.utf8.first.map({ 0x30...0x39 ~= $0 }) == true, text.contains("-"),
            let instant = Instant.parse(text, now: .now)
        else {
            throw failure(
                value.range.lowerBound, "\"\(key)\" must be an instant such as \"2027-01-31T06:00:00Z\"")
        }
        return instant.rfc3339
    }
}

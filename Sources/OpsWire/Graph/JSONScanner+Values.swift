/// Reads and checks the values of operations.
extension JSONScanner {
    // MARK: - Structure

    /// Reads an object with known keys; `read` reads the value of each one. The errors of all members are thrown
    /// together.
    ///
    /// Keys are not reported as missing if there is an unknown one, which may be one of them, mistyped.
    ///
    /// - Parameters:
    ///   - required: Keys that the object must have.
    ///   - alternatives: Keys of which the object must have one, unless there are none.
    mutating func members(
        of keys: [String], required: [String] = [], alternatives: [String] = [],
        _ read: (String, inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        skipSpace()
        let start = position
        var seen: Set<String> = []
        var hasUnknownKey = false
        var errors: [JSONError] = []
        try beginObject()
        while let text = try nextMember() {
            let key = string(text)
            let before = state
            do throws(JSONError) {
                guard keys.contains(key) else {
                    hasUnknownKey = true
                    throw error(
                        .refused("unknown key\(Nearest.suggestion(for: key, among: keys))"), at: text.start - 1)
                }
                guard seen.insert(key).inserted else { throw error(.duplicateKey(key), at: text.start - 1) }
                try read(key, &self)
            } catch {
                try resume(after: error.inside(key), at: before, &errors)
            }
        }
        if !hasUnknownKey {
            for key in required where !seen.contains(key) {
                errors.append(error(.refused("\"\(key)\" is missing"), at: start).inside(key))
            }
            if !alternatives.isEmpty, seen.isDisjoint(with: alternatives) {
                errors.append(error(.refused("needs one of \(alternatives.joined(separator: ", "))"), at: start))
            }
        }
        try finish(valueAt: start, errors)
    }

    /// Reads an array; `read` reads each element. The errors of all elements are thrown together.
    mutating func elements(
        atMost limit: Int = .max, _ read: (inout JSONScanner) throws(JSONError) -> Void
    ) throws(JSONError) {
        skipSpace()
        let start = position
        var index = 0
        var errors: [JSONError] = []
        try beginArray()
        while try nextElement() {
            guard index < limit else { throw error(.refused("at most \(limit) are possible")).after(errors) }
            let before = state
            do throws(JSONError) { try read(&self) } catch {
                try resume(after: error.inside("[\(index)]"), at: before, &errors)
            }
            index += 1
        }
        try finish(valueAt: start, errors)
    }

    // MARK: - Errors of parts

    /// Skips a part of a value in which an error was found, so that the other parts are read too, and adds the error to
    /// those of the value. If there are too many, or the JSON is malformed, it throws instead.
    ///
    /// - Parameter start: State of the scanner before the part.
    mutating func resume(after error: JSONError, at start: State, _ errors: inout [JSONError]) throws(JSONError) {
        if error.reason.isMalformed { throw error }
        let found = error.all
        guard errors.count + found.count < Limits.problems else { throw error.after(errors) }
        errors += found
        state = start
        try skip()
    }

    /// Throws the errors of a value that has been read to its end, if there are any.
    mutating func finish(valueAt start: Int, _ errors: [JSONError]) throws(JSONError) {
        guard let last = errors.last else { return }
        skipped = start..<position
        throw last.after(Array(errors.dropLast()))
    }

    // MARK: - Numbers and times

    mutating func integer(in range: ClosedRange<Int64>) throws(JSONError) -> Int64 {
        _ = try peek()
        let start = position
        let value = try integer()
        guard range ~= value else { throw outside(range.lowerBound, range.upperBound, at: start) }
        return value
    }

    mutating func thousandths(in range: ClosedRange<Double>) throws(JSONError) -> Int64 {
        _ = try peek()
        let start = position
        let value = try double()
        guard range ~= value else { throw outside(range.lowerBound, range.upperBound, at: start) }
        return Int64((value * 1000).rounded())
    }

    private func outside<Number>(_ lower: Number, _ upper: Number, at start: Int) -> JSONError {
        error(.refused("must be from \(lower) to \(upper)"), at: start)
    }

    /// Reads a duration, `"90s"` or a number of seconds.
    mutating func duration(atLeast least: TimeSpan) throws(JSONError) -> TimeSpan {
        let kind = try peek()
        let start = position
        let value: TimeSpan
        switch kind {
        case .string:
            let text = try string()
            do throws(DurationText.Problem) { value = try DurationText.read(text) } catch {
                throw refusal(error, at: start)
            }
        case .number:
            let seconds = try double()
            do throws(DurationText.Problem) { value = try DurationText.read(seconds: seconds) } catch {
                throw refusal(error, at: start)
            }
        default: throw error(.expected("a duration such as \"90s\", \"1h30m\", \"250ms\" or a number of seconds"))
        }
        guard value >= least else { throw error(.refused("must be longer than 0"), at: start) }
        return value
    }

    private func refusal(_ problem: DurationText.Problem, at start: Int) -> JSONError {
        let why =
            switch problem {
            case .unreadable: "not a duration such as \"90s\", \"1h30m\", \"250ms\" or a number of seconds"
            case .negative: "must not be negative"
            case .tooLong: "longer than \(DurationText.format(Limits.duration)), the maximum"
            }
        return error(.refused(why), at: start)
    }

    /// Reads an instant in RFC 3339, or a duration that counts from `now`.
    mutating func time(atLeast least: TimeSpan, from now: WallInstant) throws(JSONError) -> WallInstant {
        if try peek() == .string {
            let before = self
            if let instant = InstantText.parse(try string()) { return instant }
            self = before
        }
        do throws(JSONError) { return now + (try duration(atLeast: least)) } catch {
            guard case .refused(let why) = error.reason, why.hasPrefix("not") else { throw error }
            throw self.error(
                .refused("neither a duration such as \"90s\" nor an instant such as \"2030-01-31T22:00:00Z\""),
                at: error.offset)
        }
    }

    /// Reads a size: `"64M"` or a number of bytes.
    mutating func size(atLeast least: Int64 = 0) throws(JSONError) -> Int64 {
        let kind = try peek()
        let start = position
        let value: Int64?
        switch kind {
        case .string: value = SizeText.parse(try string())
        case .number: value = try integer()
        default: throw error(.expected("a size such as \"64M\", \"2G\" or a number of bytes"))
        }
        guard let value else {
            throw error(.refused("not a size such as \"64M\", \"2G\" or a number of bytes"), at: start)
        }
        guard value >= least else { throw error(.refused("must be at least \(least)"), at: start) }
        return value
    }

    mutating func exitCodes() throws(JSONError) -> [Int32] {
        var codes: [Int32] = []
        try elements(atMost: Limits.exitCodes) { (scanner) throws(JSONError) in
            let code = Int32(try scanner.integer(in: 0...255))
            if !codes.contains(code) { codes.append(code) }
        }
        return codes
    }

    // MARK: - Texts

    /// Reads one of the names of an enumeration.
    mutating func choice<Choice: RawRepresentable & CaseIterable>(
        _ type: Choice.Type = Choice.self
    ) throws(JSONError) -> Choice where Choice.RawValue == String {
        let names = Choice.allCases.map(\.rawValue)
        guard try peek() == .string else { throw error(.expected("one of \(names.joined(separator: ", "))")) }
        let start = position
        let name = try string()
        guard let value = Choice(rawValue: name) else {
            let near = Nearest.suggestion(for: name, among: names)
            throw error(.refused("\"\(name)\" is none of \(names.joined(separator: ", "))\(near)"), at: start)
        }
        return value
    }

    /// Reads a text that the kernel accepts: not empty, without NUL, of limited length.
    mutating func plainString(
        atMost limit: Int, mayBeEmpty: Bool = false
    ) throws(JSONError) -> String {
        _ = try peek()
        let start = position
        let value = try string()
        if value.isEmpty, !mayBeEmpty { throw error(.refused("must not be empty"), at: start) }
        if value.utf8.contains(0) { throw error(.refused("must not contain a NUL"), at: start) }
        if value.utf8.count > limit { throw error(.refused("longer than \(limit) bytes"), at: start) }
        return value
    }

    mutating func path() throws(JSONError) -> String { try plainString(atMost: Limits.pathBytes) }

    /// Reads a command with its arguments.
    mutating func argv() throws(JSONError) -> [String] {
        guard try peek() == .array else { throw error(.expected("an array of command and arguments")) }
        let start = position
        var argv: [String] = []
        var bytes = 0
        var isProgram = true
        try elements(atMost: Limits.arguments) { (scanner) throws(JSONError) in
            defer { isProgram = false }
            argv.append(try scanner.plainString(atMost: Limits.commandBytes, mayBeEmpty: !isProgram))
            bytes += argv[argv.count - 1].utf8.count + 1
        }
        if argv.isEmpty { throw error(.refused("must name a command"), at: start) }
        if bytes > Limits.commandBytes {
            throw error(.refused("longer than \(Limits.commandBytes) bytes"), at: start)
        }
        return argv
    }

    /// Reads a map of texts; `problem` returns what is wrong with an entry. The errors of all entries are thrown
    /// together.
    mutating func stringMap(
        atMost limit: Int, problem: (_ name: String, _ value: String) -> String?
    ) throws(JSONError) -> StringMap {
        skipSpace()
        let start = position
        var map = StringMap()
        var names: Set<ExactText> = []
        var errors: [JSONError] = []
        try beginObject()
        while let text = try nextMember() {
            let name = string(text)
            guard map.entries.count < limit else {
                throw error(.refused("at most \(limit) are possible"), at: text.start - 1).after(errors)
            }
            let before = state
            do throws(JSONError) {
                guard names.insert(ExactText(name)).inserted else {
                    throw error(.duplicateKey(name), at: text.start - 1)
                }
                let value = try string()
                if let problem = problem(name, value) { throw error(.refused(problem), at: text.start - 1) }
                map.entries.append(StringMap.Entry(name: name, value: value))
            } catch {
                try resume(after: error.inside(name), at: before, &errors)
            }
        }
        try finish(valueAt: start, errors)
        return map
    }
}

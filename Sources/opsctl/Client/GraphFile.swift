internal import OpsClient
internal import OpsModel
internal import OpsWire

/// A graph file: a JSON object, an array of operations, or JSON Lines.
struct GraphFile {
    /// Reasons why the text is not a graph, and the offsets of the errors.
    private struct Malformed: Error {
        let errors: [(offset: Int, why: String)]

        init(_ errors: [(offset: Int, why: String)]) { self.errors = errors }
        init(offset: Int, why: String) { self.init([(offset, why)]) }
    }

    private let text: GraphText
    var bytes: [UInt8] { text.bytes }
    private(set) var name: String?
    private(set) var defaults: Range<Int>?
    private(set) var order: String?
    private(set) var operations: [Range<Int>] = []
    private var schedule: Range<Int>?
    private var observers: Range<Int>?
    var hasSchedule: Bool { schedule != nil }

    init(_ text: GraphText) throws(Failure) {
        self.text = text
        var errors: [(offset: Int, why: String)] = []
        do throws(Malformed) { try read() } catch { errors = error.errors }
        guard errors.isEmpty, text.repeatedKeys.isEmpty else { throw failure(errors) }
        if operations.isEmpty {
            throw Failure(
                .refused, text.shownPath, "contains no operations",
                "write {\"operations\": [...]} or one JSON object per line")
        }
    }

    /// Returns the errors of the graph and the problems of its operations as one failure.
    private func failure(_ errors: [(offset: Int, why: String)]) -> Failure {
        var problems = text.repeatedKeys
        // To find a position takes time, and a file of another kind may consist of errors.
        problems += errors.prefix(Limits.problems).map { error in
            LocatedProblem(problem: .with { $0.message = error.why }, place: text.place(of: error.offset))
        }
        let known = Set(problems.map(\.place))
        problems += problemsOfOperations().filter { !known.contains($0.place) }
        let isAtStart = bytes.firstIndex { $0 > 0x20 } == errors.first?.offset
        var failure = Failure(
            .refused, problems[0].place ?? text.shownPath, problems[0].problem.message,
            isAtStart
                ? "a graph file begins with { or [; if it is YAML, use --format yaml"
                : "correct the file and submit it again")
        if problems.count > 1 { failure.problems = Array(problems.prefix(Limits.problems)) }
        return failure
    }

    /// Returns the problems that the daemon would report. It does not get a file with errors.
    private func problemsOfOperations() -> [LocatedProblem] {
        guard !operations.isEmpty else { return [] }
        // Names that dependencies mention may be in an included file.
        let hasUnknownNames = text.mentions("\"include\"")
        var decoder = GraphDecoder(
            defaults: defaults.map { Array(bytes[$0]) }, joinsGraph: hasUnknownNames, now: .zero)
        decoder.add(submission.elements.bytes)
        do throws(GraphRefusal) {
            _ = try decoder.finish()
            return []
        } catch {
            return located(Failure(.refused(.control(error.error)))).problems.filter { found in
                let key = found.problem.key.flatMap { OperationKey.find($0) }
                // The decoder does not accept the keys that opsctl replaces later.
                return key?.isOfFiles != true
            }
        }
    }

    private mutating func read() throws(Malformed) {
        var isArray = false
        do throws(JSONError) {
            (operations, isArray) = try scan(bytes) { (scanner) throws(JSONError) in
                var ranges: [Range<Int>] = []
                if scanner.isAtEnd { return (ranges, false) }
                if try scanner.peek() == .array {
                    ranges = try Self.elements(&scanner)
                    try scanner.end()
                    return (ranges, true)
                }
                while !scanner.isAtEnd { ranges.append(try scanner.skip()) }
                return (ranges, false)
            }
        } catch {
            throw Malformed(offset: error.offset, why: error.reason.text)
        }
        try checkObjects()
        if !isArray, operations.count == 1 { try readGraph(operations[0]) }
    }

    private func checkObjects() throws(Malformed) {
        let wrong = operations.filter { bytes[$0.lowerBound] != UInt8(ascii: "{") }
        if !wrong.isEmpty { throw Malformed(wrong.map { ($0.lowerBound, "an operation must be an object") }) }
    }

    private static let keysOfAnOperation = Set(OperationKey.ofSingleOperation.map(\.text))

    /// A single object is a graph unless it has the keys of an operation.
    private mutating func readGraph(_ range: Range<Int>) throws(Malformed) {
        let members = Self.members(bytes, range)
        guard !members.contains(where: { Self.keysOfAnOperation.contains($0.key) }) else { return }
        operations = []
        var errors: [(offset: Int, why: String)] = []
        var seen: Set<String> = []
        for (key, offset, value) in members where errors.count < Limits.problems {
            do throws(Malformed) {
                if !seen.insert(key).inserted {
                    throw Malformed(offset: offset, why: "the key \"\(key)\" of a graph occurs twice")
                }
                try readMember(key, offset, value)
            } catch {
                errors += error.errors
            }
        }
        if !errors.isEmpty { throw Malformed(errors) }
    }

    private mutating func readMember(_ key: String, _ offset: Int, _ value: Range<Int>) throws(Malformed) {
        let view = JSONView(bytes, value)
        if view.isNull, ["name", "defaults", "order", "schedule", "observers"].contains(key) { return }
        switch key {
        case "name":
            guard let text = view.text else {
                throw Malformed(offset: value.lowerBound, why: "the name of a graph must be a text")
            }
            if let complaint = NameSyntax.complaint(aboutGraph: text) {
                throw Malformed(offset: value.lowerBound, why: "the name of the graph \(complaint)")
            }
            name = text
        case "defaults": defaults = try object(key, view)
        case "order":
            guard let text = view.text, QueueOrder(text: text) != nil else {
                throw Malformed(
                    offset: value.lowerBound, why: "the order of a graph must be \"submission\" or \"longestPath\"")
            }
            order = text
        case "schedule": schedule = try object(key, view)
        case "observers": observers = try object(key, view)
        case "operations":
            guard view.isArray else {
                throw Malformed(offset: value.lowerBound, why: "\"operations\" must be an array")
            }
            operations = view.elements.map(\.range)
            try checkObjects()
        default:
            let suggestion = Nearest.suggestion(
                for: key, among: ["name", "defaults", "observers", "operations", "order", "schedule"])
            throw Malformed(offset: offset, why: "unknown key \"\(key)\" of a graph" + suggestion)
        }
    }

    private func object(_ key: String, _ view: JSONView) throws(Malformed) -> Range<Int> {
        guard view.isObject else {
            throw Malformed(offset: view.range.lowerBound, why: "\"\(key)\" must be an object")
        }
        return view.range
    }

    private static func elements(_ scanner: inout JSONScanner) throws(JSONError) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        try scanner.beginArray()
        while try scanner.nextElement() { ranges.append(try scanner.skip()) }
        return ranges
    }

    static func members(_ bytes: [UInt8], _ range: Range<Int>) -> [(
        key: String, offset: Int, value: Range<Int>
    )] {
        var members: [(key: String, offset: Int, value: Range<Int>)] = []
        var searched = range.lowerBound + 1
        for (key, value) in JSONView(bytes, range).members {
            // The key is the next string in the text.
            let offset = bytes[searched..<value.range.lowerBound].firstIndex(of: UInt8(ascii: "\"")) ?? searched
            members.append((key, offset, value.range))
            searched = value.range.upperBound
        }
        return members
    }

    /// Members of `schedule`, with the offsets of their keys.
    var scheduleMembers: [(key: String, offset: Int, value: JSONView)] {
        guard let schedule else { return [] }
        return Self.members(bytes, schedule).map { ($0.key, $0.offset, JSONView(bytes, $0.value)) }
    }

    /// Members of `defaults`, with the offsets of their keys.
    var defaultMembers: [(key: String, offset: Int, value: JSONView)] {
        guard let defaults else { return [] }
        return Self.members(bytes, defaults).map { ($0.key, $0.offset, JSONView(bytes, $0.value)) }
    }

    func place(of offset: Int) -> String { text.place(of: offset) }

    /// Position of the observers of the graph; nil if it has none.
    var placeOfObservers: String? { observers.map { text.place(of: $0.lowerBound) } }

    /// Adds file, line and column to each problem. The daemon numbers the operations in the order of the file, with the
    /// children of groups and the operations that conditions provide.
    func located(_ failure: Failure) -> Failure {
        guard !failure.problems.isEmpty else { return failure }
        var failure = failure
        let flattened = flatten()
        for index in failure.problems.indices {
            let start = offset(of: failure.problems[index].problem, flattened)
            failure.problems[index].place = start.map { text.place(of: $0) } ?? text.shownPath
        }
        return failure
    }

    /// Returns the offset of a problem; nil if it is not about a part of the file.
    private func offset(of problem: Problem, _ flattened: [Range<Int>]) -> Int? {
        let key = problem.key ?? ""
        if let index = problem.index {
            guard flattened.indices.contains(index) else { return nil }
            return offset(of: key[...], in: flattened[index]) ?? flattened[index].lowerBound
        }
        if let observers, key.hasPrefix("observers") {
            return offset(of: key.dropFirst("observers".count), in: observers) ?? observers.lowerBound
        }
        if let defaults, key.hasPrefix("defaults.") {
            return offset(of: key.dropFirst("defaults".count), in: defaults)
        }
        return schedule.flatMap { offset(of: key[...], in: $0) }
    }

    /// Returns the offset of the part of a value that a path such as `after[2].when` names, or of the innermost part
    /// around it; nil if that is the whole value.
    private func offset(of path: Substring, in range: Range<Int>) -> Int? {
        if path.hasPrefix("["), let end = path.firstIndex(of: "]"), let index = Int(path[..<end].dropFirst()) {
            let elements = JSONView(bytes, range).elements
            guard elements.indices.contains(index) else { return nil }
            let element = elements[index].range
            return offset(of: path[end...].dropFirst(), in: element) ?? element.lowerBound
        }
        let keys = path.hasPrefix(".") ? path.dropFirst() : path
        var named: (key: String, offset: Int, value: Range<Int>)?
        for member in Self.members(bytes, range) where keys.hasPrefix(member.key) {
            let rest = keys.dropFirst(member.key.count)
            guard rest.isEmpty || rest.hasPrefix(".") || rest.hasPrefix("[") else { continue }
            // A key may contain a dot, so the longest one counts. The second of two equal keys is the problem.
            if member.key.count >= named?.key.count ?? 0 { named = member }
        }
        guard let named else { return nil }
        return offset(of: keys.dropFirst(named.key.count), in: named.value) ?? named.offset
    }

    /// Ranges of all operations; a group comes before its children, and an operation before those that its conditions
    /// provide.
    private func flatten() -> [Range<Int>] {
        var flattened: [Range<Int>] = []
        func visit(_ range: Range<Int>) {
            flattened.append(range)
            for (key, value) in JSONView(bytes, range).members {
                if key == "operations" {
                    for child in value.elements { visit(child.range) }
                } else if key == "conditions" {
                    for provided in value.elements.compactMap(Self.provided(by:)) { visit(provided.range) }
                }
            }
        }
        for operation in operations { visit(operation) }
        return flattened
    }

    /// Returns the operation that is submitted for a condition.
    static func provided(by condition: JSONView) -> JSONView? {
        let members = condition.members
        if members.contains(where: { $0.key == "silent" && $0.value.source == "true" }) { return nil }
        return members.first { $0.key == "provide" && $0.value.isObject }?.value
    }

    var submission: Submission {
        var submission = Submission(operations, in: bytes)
        submission.terms.name = name
        submission.terms.order = order
        submission.terms.observers = observers.map { RawJSON(Array(bytes[$0])) }
        submission.terms.defaults = defaults.map { RawJSON(Array(bytes[$0])) }
        return submission
    }
}

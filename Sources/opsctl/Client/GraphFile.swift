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
        do throws(Malformed) {
            try read()
        } catch {
            throw failure(error)
        }
        if operations.isEmpty {
            throw Failure(
                .refused, text.shownPath, "contains no operations",
                "write {\"operations\": [...]} or one JSON object per line")
        }
    }

    private func failure(_ malformed: Malformed) -> Failure {
        let first = malformed.errors[0]
        let isAtStart = bytes.firstIndex { $0 > 0x20 } == first.offset
        var failure = Failure(
            .refused, text.place(of: first.offset), first.why,
            isAtStart
                ? "a graph file begins with { or [; if it is YAML, use --format yaml"
                : "correct the file and submit it again")
        var problems = malformed.errors.prefix(Limits.problems).map { error in
            LocatedProblem(problem: .with { $0.message = error.why }, place: text.place(of: error.offset))
        }
        addUnknownKeys(to: &problems)
        if problems.count > 1 { failure.problems = problems }
        return failure
    }

    /// Adds the unknown keys of operations. Otherwise the daemon reports them, but it does not get a file with errors.
    private func addUnknownKeys(to problems: inout [LocatedProblem]) {
        for (index, range) in flatten().enumerated() {
            let members = Self.members(bytes, range)
            for member in members where OperationKey.find(member.key) == nil {
                guard problems.count < Limits.problems else { return }
                let problem = Problem.with { problem in
                    problem.index = index
                    problem.name = members.first { $0.key == "name" }.flatMap { JSONView(bytes, $0.value).text }
                    problem.key = member.key
                    problem.message =
                        "unknown key" + Nearest.suggestion(for: member.key, among: OperationKey.texts)
                }
                problems.append(LocatedProblem(problem: problem, place: text.place(of: member.offset)))
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
        for (place, (key, offset, value)) in members.enumerated() {
            do throws(Malformed) {
                if members[..<place].contains(where: { $0.key == key }) {
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

    /// Returns the offset of the key that a path such as `defaults.retry.limit` names; nil if it is not in `defaults`
    /// of the file.
    private func offset(ofDefault path: String) -> Int? {
        let beginning = "defaults."
        guard path.hasPrefix(beginning) else { return nil }
        let rest = String(path.dropFirst(beginning.count))
        return defaultMembers.first { member in
            rest == member.key || rest.hasPrefix(member.key + ".") || rest.hasPrefix(member.key + "[")
        }?.offset
    }

    /// Adds file, line and column to each problem. The daemon numbers the operations in the order of the file, with the
    /// children of groups and the operations that conditions provide.
    func located(_ failure: Failure) -> Failure {
        guard !failure.problems.isEmpty else { return failure }
        var failure = failure
        let flattened = flatten()
        failure.problems = failure.problems.map { problem in
            var located = problem
            located.place = text.shownPath
            if let observers, problem.problem.key?.hasPrefix("observers") == true {
                located.place = text.place(of: observers.lowerBound)
            }
            if problem.problem.index == nil,
                let member = scheduleMembers.first(where: { $0.key == problem.problem.key })
            {
                located.place = text.place(of: member.offset)
            }
            if problem.problem.index == nil, let key = problem.problem.key, let offset = offset(ofDefault: key) {
                located.place = text.place(of: offset)
            }
            if let index = problem.problem.index, flattened.indices.contains(index) {
                let members = Self.members(bytes, flattened[index])
                // A path such as `command[1]` begins with the key.
                let key = problem.problem.key?.prefix { $0 != "[" && $0 != "." }
                let offset = members.first { key == $0.key[...] }?.offset ?? flattened[index].lowerBound
                located.place = text.place(of: offset)
            }
            return located
        }
        return failure
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
    private static func provided(by condition: JSONView) -> JSONView? {
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

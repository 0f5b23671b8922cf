internal import OpsClient
internal import OpsModel
internal import OpsWire

/// A graph file: a JSON object, an array of operations, or JSON Lines.
struct GraphFile {
    /// Reason why the text is not a graph, and the offset of the error.
    private struct Malformed: Error {
        let offset: Int
        let why: String
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
            let isAtStart = bytes.firstIndex { $0 > 0x20 } == error.offset
            throw Failure(
                .refused, text.place(of: error.offset), error.why,
                isAtStart
                    ? "a graph file begins with { or [; if it is YAML, use --format yaml"
                    : "correct the file and submit it again")
        }
        if operations.isEmpty {
            throw Failure(
                .refused, text.shownPath, "contains no operations",
                "write {\"operations\": [...]} or one JSON object per line")
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
        for range in operations where bytes[range.lowerBound] != UInt8(ascii: "{") {
            throw Malformed(offset: range.lowerBound, why: "an operation must be an object")
        }
    }

    private static let keysOfAnOperation = Set((OperationKey.commands + [.include]).map(\.text))

    /// A single object is a graph unless it has the keys of an operation.
    private mutating func readGraph(_ range: Range<Int>) throws(Malformed) {
        let members = Self.members(bytes, range)
        guard !members.contains(where: { Self.keysOfAnOperation.contains($0.key) }) else { return }
        operations = []
        for (place, (key, offset, value)) in members.enumerated() {
            if members[..<place].contains(where: { $0.key == key }) {
                throw Malformed(offset: offset, why: "the key \"\(key)\" of a graph occurs twice")
            }
            let view = JSONView(bytes, value)
            if view.isNull, ["name", "defaults", "order", "schedule", "observers"].contains(key) { continue }
            switch key {
            case "name":
                guard let text = view.text else {
                    throw Malformed(offset: value.lowerBound, why: "the name of a graph must be a text")
                }
                name = text
            case "defaults":
                guard view.isObject else {
                    throw Malformed(offset: value.lowerBound, why: "\"defaults\" must be an object")
                }
                defaults = value
            case "order":
                guard let text = view.text, QueueOrder(text: text) != nil else {
                    throw Malformed(
                        offset: value.lowerBound, why: "the order of a graph must be \"submission\" or \"longestPath\"")
                }
                order = text
            case "schedule":
                guard view.isObject else {
                    throw Malformed(offset: value.lowerBound, why: "\"schedule\" must be an object")
                }
                schedule = value
            case "observers":
                guard view.isObject else {
                    throw Malformed(offset: value.lowerBound, why: "\"observers\" must be an object")
                }
                observers = value
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

    /// Adds file, line and column to each problem. The daemon numbers the operations with the children of a group
    /// directly after it.
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

    /// Ranges of all operations; a group comes before its children.
    private func flatten() -> [Range<Int>] {
        var flattened: [Range<Int>] = []
        func visit(_ range: Range<Int>) {
            flattened.append(range)
            for (key, value) in JSONView(bytes, range).members where key == "operations" {
                for child in value.elements { visit(child.range) }
            }
        }
        for operation in operations { visit(operation) }
        return flattened
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

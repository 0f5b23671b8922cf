/// A graph as somebody wrote it: a JSON object, an array of operations, or JSON Lines.
struct GraphFile {
    let path: String
    let bytes: [UInt8]
    private(set) var name: String?
    private(set) var defaults: Range<Int>?
    private(set) var operations: [Range<Int>] = []

    /// `path` as people know it: `-` is standard input.
    private var shownPath: String { path == "-" ? "standard input" : path }

    init(path: String, bytes: [UInt8]) throws(Failure) {
        self.path = path
        self.bytes = bytes
        do throws(JSONScanner.Malformed) {
            try read()
        } catch {
            throw Failure(.refused, place(of: error.offset), error.why, "correct the file and submit it again")
        }
        if operations.isEmpty {
            throw Failure(
                .refused, shownPath, "there is no operation in it", "give it \"operations\", or an operation a line")
        }
    }

    private mutating func read() throws(JSONScanner.Malformed) {
        var scanner = JSONScanner(bytes)
        // A byte order mark is a habit of some editors.
        if bytes.starts(with: [0xef, 0xbb, 0xbf]) { scanner = JSONScanner(bytes, 3..<bytes.count) }
        if scanner.peek() == UInt8(ascii: "[") {
            operations = try Self.elements(&scanner)
            return try end(&scanner)
        }
        while scanner.peek() != nil {
            guard scanner.peek() == UInt8(ascii: "{") else {
                throw JSONScanner.Malformed(
                    offset: scanner.position, why: "an operation or a graph, an object, is expected")
            }
            operations.append(try scanner.value())
        }
        if operations.count == 1 { try readGraph(operations[0]) }
    }

    /// A single object is a graph unless it is an operation.
    private mutating func readGraph(_ range: Range<Int>) throws(JSONScanner.Malformed) {
        let members = Self.members(bytes, range)
        guard !members.contains(where: { $0.key == "command" || $0.key == "shell" }) else { return }
        operations = []
        for (key, offset, value) in members {
            var scanner = JSONScanner(bytes, value)
            switch key {
            case "name":
                guard let text = JSONView(bytes, value).text else {
                    throw JSONScanner.Malformed(offset: value.lowerBound, why: "the name of a graph is a string")
                }
                name = text
            case "defaults":
                guard scanner.peek() == UInt8(ascii: "{") else {
                    throw JSONScanner.Malformed(offset: value.lowerBound, why: "\"defaults\" is an object")
                }
                defaults = value
            case "operations": operations = try Self.elements(&scanner)
            default:
                let near = Suggestion.nearest(to: key, among: ["name", "defaults", "operations"])
                throw JSONScanner.Malformed(
                    offset: offset,
                    why: "unknown key \"\(key)\" of a graph" + (near.map { ", did you mean \"\($0)\"?" } ?? ""))
            }
        }
    }

    private func end(_ scanner: inout JSONScanner) throws(JSONScanner.Malformed) {
        if scanner.peek() != nil {
            throw JSONScanner.Malformed(offset: scanner.position, why: "something follows the end of the graph")
        }
    }

    private static func elements(_ scanner: inout JSONScanner) throws(JSONScanner.Malformed) -> [Range<Int>] {
        var ranges: [Range<Int>] = []
        try scanner.array { (scanner) throws(JSONScanner.Malformed) in
            guard scanner.peek() == UInt8(ascii: "{") else {
                throw JSONScanner.Malformed(offset: scanner.position, why: "an operation, an object, is expected")
            }
            ranges.append(try scanner.value())
        }
        return ranges
    }

    private static func members(_ bytes: [UInt8], _ range: Range<Int>) -> [(
        key: String, offset: Int, value: Range<Int>
    )] {
        var members: [(key: String, offset: Int, value: Range<Int>)] = []
        var scanner = JSONScanner(bytes, range)
        // The range was found by this scanner, so it is an object.
        try? scanner.object { (scanner, key) throws(JSONScanner.Malformed) in
            members.append((JSONView(bytes, key).text ?? "", key.lowerBound, try scanner.value()))
        }
        return members
    }

    /// `FILE:LINE:COLUMN` of a byte.
    func place(of offset: Int) -> String {
        let before = bytes[..<min(offset, bytes.count)]
        let line = before.count { $0 == 0x0a } + 1
        let column = offset - (before.lastIndex(of: 0x0a).map { $0 + 1 } ?? 0) + 1
        return "\(shownPath):\(line):\(column)"
    }

    /// Names file and line of every problem; the daemon counts operations with the children of groups in their places.
    func located(_ failure: Failure) -> Failure {
        guard !failure.problems.isEmpty else { return failure }
        var failure = failure
        let flattened = flatten()
        failure.problems = failure.problems.map { problem in
            guard let index = problem.index, flattened.indices.contains(index) else {
                return Problem(
                    index: nil, name: problem.name, key: problem.key, message: problem.message, place: shownPath)
            }
            let members = Self.members(bytes, flattened[index])
            let offset = members.first { $0.key == problem.key }?.offset ?? flattened[index].lowerBound
            let line = bytes[..<offset].count { $0 == 0x0a } + 1
            return Problem(
                index: index, name: problem.name, key: problem.key, message: problem.message,
                place: "\(shownPath):\(line)")
        }
        return failure
    }

    /// Every operation, a group before its children.
    private func flatten() -> [Range<Int>] {
        var flattened: [Range<Int>] = []
        func visit(_ range: Range<Int>) {
            flattened.append(range)
            guard let children = Self.members(bytes, range).first(where: { $0.key == "operations" })?.value else {
                return
            }
            var scanner = JSONScanner(bytes, children)
            // What is no array of objects has no children; the daemon says what is wrong with it.
            (try? Self.elements(&scanner))?.forEach(visit)
        }
        operations.forEach(visit)
        return flattened
    }

    var submission: Submission {
        Submission(name: name, defaults: defaults.map { Array(bytes[$0]) }, text: bytes, operations: operations)
    }
}

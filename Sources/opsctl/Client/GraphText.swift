internal import OpsClient
internal import OpsWire
internal import OpsYAML

/// Text of a graph file as JSON, with the positions of its parts in the original file.
struct GraphText {
    /// Format of a graph file.
    enum Format: String, CaseIterable {
        case json, yaml

        static let words = allCases.map(\.rawValue)
    }

    /// Start of a key or an element in the JSON text, and its position in the file.
    struct Mark {
        var offset: Int
        let line: Int
        let column: Int
    }

    /// Part of the text that comes from another file.
    struct Piece {
        /// Offset in the assembled text.
        let start: Int
        let text: GraphText
        /// Offset in the other file.
        let offset: Int
    }

    let path: String
    let bytes: [UInt8]
    /// Parts of an assembled text in ascending order; empty if all text is from one file.
    private let pieces: [Piece]
    /// Marks in ascending order; empty if the text has the same lines as the file.
    let marks: [Mark]
    /// Keys that occur twice in a mapping of the file. The text contains the first of each.
    let repeatedKeys: [LocatedProblem]

    /// Path in messages: `-` is standard input.
    var shownPath: String { path == "-" ? "standard input" : path }

    init(
        path: String, json bytes: [UInt8], marks: [Mark] = [], pieces: [Piece] = [],
        repeatedKeys: [LocatedProblem] = []
    ) {
        (self.path, self.bytes, self.marks, self.pieces) = (path, bytes, marks, pieces)
        self.repeatedKeys = repeatedKeys
    }

    /// Returns true if the text contains another one.
    func mentions(_ text: String) -> Bool {
        let wanted = Array(text.utf8)
        var rest = bytes[...]
        while let start = rest.firstIndex(of: wanted[0]) {
            if rest[start...].starts(with: wanted) { return true }
            rest = rest[(start + 1)...]
        }
        return false
    }

    /// Reads a file in the given format; without one the end of its name decides.
    static func read(_ path: String, _ format: Format?, for verb: String) throws(Failure) -> GraphText {
        try parse(path, try InputFile.read(path, verb), format)
    }

    /// Returns the text of a file that has been read.
    static func parse(_ path: String, _ text: [UInt8], _ format: Format?) throws(Failure) -> GraphText {
        // Some editors write a byte order mark.
        let bytes = text.starts(with: [0xef, 0xbb, 0xbf]) ? Array(text.dropFirst(3)) : text
        let chosen: Format
        if let format { chosen = format } else { chosen = try Self.format(of: path, bytes) }
        switch chosen {
        case .json: return GraphText(path: path, json: JSONComments.blanked(bytes))
        case .yaml: return try yaml(path, bytes)
        }
    }

    private static func yaml(_ path: String, _ bytes: [UInt8]) throws(Failure) -> GraphText {
        let shown = path == "-" ? "standard input" : path
        func located(_ problem: YAMLProblem) -> LocatedProblem {
            LocatedProblem(
                problem: .with { $0.message = problem.reason },
                place: "\(shown):\(problem.position.line):\(problem.position.column)")
        }
        do throws(YAMLProblems) {
            let document = try YAMLDocument(bytes)
            return GraphText(
                path: path, json: document.json,
                marks: document.marks.map {
                    Mark(offset: $0.offset, line: $0.position.line, column: $0.position.column)
                }, repeatedKeys: document.repeatedKeys.map(located))
        } catch {
            var failure = Failure(.refused, shown, "is not valid YAML")
            failure.problems = error.all.map(located)
            throw failure
        }
    }

    /// Determines the format from the end of a file's name. Files without an ending, and standard input, are JSON. A
    /// file with another ending must begin as JSON does.
    private static func format(of path: String, _ bytes: [UInt8]) throws(Failure) -> Format {
        let name = path.split(separator: "/").last ?? ""
        guard path != "-", !path.hasPrefix("/dev/"), !path.hasPrefix("/proc/"),
            let dot = name.lastIndex(of: "."), dot != name.startIndex
        else { return .json }
        switch name[name.index(after: dot)...].lowercased() {
        case "json", "jsonl", "ndjson", "jsonc": return .json
        case "yaml", "yml": return .yaml
        case let ending:
            let first = bytes.first { $0 > 0x20 }
            if first == UInt8(ascii: "{") || first == UInt8(ascii: "[") { return .json }
            throw Failure(
                .refused, path, "a graph file ends in .json, .jsonl, .yaml or .yml, not in .\(ending)",
                "say what it is with --format json or --format yaml")
        }
    }

    // MARK: - Positions

    /// Line and column of a byte, both from 1.
    func position(of offset: Int) -> (line: Int, column: Int) {
        guard !marks.isEmpty else {
            let before = bytes[..<min(offset, bytes.count)]
            let lineStart = before.lastIndex(of: 0x0a).map { $0 + 1 } ?? 0
            return (before.count { $0 == 0x0a } + 1, offset - lineStart + 1)
        }
        var (low, high) = (0, marks.count)
        while low < high {
            let middle = (low + high) / 2
            if marks[middle].offset <= offset { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? (1, 1) : (marks[low - 1].line, marks[low - 1].column)
    }

    private func piece(at offset: Int) -> Piece? {
        var (low, high) = (0, pieces.count)
        while low < high {
            let middle = (low + high) / 2
            if pieces[middle].start <= offset { low = middle + 1 } else { high = middle }
        }
        return low == 0 ? nil : pieces[low - 1]
    }

    /// `FILE:LINE:COLUMN` of a byte.
    func place(of offset: Int) -> String {
        if let piece = piece(at: offset) { return piece.text.place(of: piece.offset + offset - piece.start) }
        let (line, column) = position(of: offset)
        return "\(shownPath):\(line):\(column)"
    }
}

import Foundation
import Synchronization

/// One source file of the checkout as text.
final class SourceFile: Sendable {
    /// Path from the top of the checkout.
    let path: String
    let lines: [String]
    /// The lines without comments and without the contents of string literals, so that words in them do not count.
    let code: [String]

    init(path: String, text: String) {
        self.path = path
        lines = text.components(separatedBy: "\n")
        code = lines.map(Self.code)
    }

    var name: String { (path as NSString).lastPathComponent }
    /// `OpsCore` for `Sources/OpsCore/Policy/Policy.swift`.
    var target: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }

    private static func code(_ line: String) -> String {
        let (quote, backslash, slash) = (UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"))
        guard line.utf8.contains(where: { $0 == quote || $0 == slash }) else { return line }
        var result: [UInt8] = []
        var inString = false
        var previous = UInt8(ascii: " ")
        for byte in line.utf8 {
            if byte == quote && previous != backslash { inString.toggle() }
            if !inString && byte == slash && previous == slash {
                result.removeLast()
                break
            }
            if !inString || byte == quote { result.append(byte) }
            previous = byte
        }
        return String(decoding: result, as: UTF8.self)
    }

    /// Returns the lines that match, by their indices. `code`: in their code alone.
    func matches(of pattern: NSRegularExpression, code inCode: Bool = false) -> [Int] {
        // One search through the file is much faster than one for each line.
        let text = (inCode ? code : lines).joined(separator: "\n")
        return pattern.matches(in: text, range: NSRange(text.startIndex..., in: text)).map { match in
            (text as NSString).substring(to: match.range.location).utf8.count { $0 == UInt8(ascii: "\n") }
        }
    }
}

/// The checkout from which the tests were built.
enum Tree {
    static let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: top.appendingPathComponent(path), encoding: .utf8)
    }

    /// Returns the rows of the tables below a heading of a page as cells, without the rows of headings.
    static func rows(_ page: String, below heading: String) throws -> [[String]] {
        guard let section = try text(page).components(separatedBy: "\n## \(heading)\n").dropFirst().first else {
            return []
        }
        let lines = section.components(separatedBy: "\n## ")[0].components(separatedBy: "\n")
        return zip(lines, lines.dropFirst() + [""]).compactMap { line, next in
            guard line.hasPrefix("| "), !next.hasPrefix("|--") else { return nil }
            return line.components(separatedBy: "|").dropFirst().dropLast().map {
                $0.trimmingCharacters(in: .whitespaces)
            }
        }
    }

    /// Returns the names of an enum's cases, in order.
    static func cases(of name: String, in path: String) throws -> [String] {
        guard let body = try text(path).components(separatedBy: "enum \(name)").dropFirst().first else { return [] }
        return body.components(separatedBy: "\n}")[0].matches(of: #/(?m)^    (?:indirect )?case (\w+)/#).map {
            String($0.output.1)
        }
    }

    /// Returns the names of all types, functions and variables in a folder.
    static func declarations(under folder: String) throws -> Set<String> {
        let kinds: Set<Substring> = ["struct", "class", "enum", "protocol", "func", "var"]
        var names: Set<String> = []
        for line in try files(under: folder).flatMap(\.lines) {
            let words = line.split(separator: " ")
            for (kind, name) in zip(words, words.dropFirst()) where kinds.contains(kind) {
                names.insert(String(name.prefix { $0.isLetter || $0.isNumber || $0 == "_" }))
            }
        }
        return names
    }

    /// Returns the files of the programs, their tests and benchmarks.
    static func everything(_ ending: String) throws -> [SourceFile] {
        try ["Sources", "Tests", "Benchmarks"].flatMap { try files(under: $0, ending) }
    }

    /// Files that were read before, by folder and ending.
    private static let known = Mutex<[String: [SourceFile]]>([:])

    static func files(under folder: String, _ ending: String = ".swift") throws -> [SourceFile] {
        try known.withLock { known in
            let key = folder + " " + ending
            if let files = known[key] { return files }
            let base = top.appendingPathComponent(folder)
            guard let walk = FileManager.default.enumerator(atPath: base.path) else { return [] }
            let files = try walk.compactMap { $0 as? String }.filter { $0.hasSuffix(ending) }.sorted().map { path in
                let text = try String(contentsOf: base.appendingPathComponent(path), encoding: .utf8)
                return SourceFile(path: folder + "/" + path, text: text)
            }
            known[key] = files
            return files
        }
    }
}

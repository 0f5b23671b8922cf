import Foundation

/// One source file of the checkout as text.
struct SourceFile {
    /// Path from the top of the checkout.
    let path: String
    let lines: [String]

    var name: String { (path as NSString).lastPathComponent }
    /// `OpsCore` for `Sources/OpsCore/Policy/Policy.swift`.
    var target: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }

    /// The lines without comments and without the contents of string literals, so that words in them do not count.
    var code: [String] {
        lines.map { line in
            var result = ""
            var inString = false
            var previous: Character = " "
            for character in line {
                if character == "\"" && previous != "\\" { inString.toggle() }
                if !inString && character == "/" && previous == "/" {
                    result.removeLast()
                    break
                }
                if !inString || character == "\"" { result.append(character) }
                previous = character
            }
            return result
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

    static func files(under folder: String, _ ending: String = ".swift") throws -> [SourceFile] {
        let base = top.appendingPathComponent(folder)
        guard let walk = FileManager.default.enumerator(atPath: base.path) else { return [] }
        return try walk.compactMap { $0 as? String }.filter { $0.hasSuffix(ending) }.sorted().map { path in
            let text = try String(contentsOf: base.appendingPathComponent(path), encoding: .utf8)
            return SourceFile(path: folder + "/" + path, lines: text.components(separatedBy: "\n"))
        }
    }
}

import Foundation

/// One source file of the checkout, as text.
struct SourceFile {
    /// From the top of the checkout.
    let path: String
    let lines: [String]

    var name: String { (path as NSString).lastPathComponent }
    /// `OpsCore` for `Sources/OpsCore/Policy/Policy.swift`.
    var target: String { path.split(separator: "/").dropFirst().first.map(String.init) ?? "" }

    /// The lines without what `//` begins and without the contents of string literals, so that words in
    /// comments and texts do not count.
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

/// The checkout that the tests were built from.
enum Tree {
    static let top = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    static func text(_ path: String) throws -> String {
        try String(contentsOf: top.appendingPathComponent(path), encoding: .utf8)
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

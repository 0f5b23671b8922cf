internal import OpsModel

/// Values of the placeholders of `--each` and `--array`, with the syntax of GNU parallel.
struct Placeholders {
    let value: String
    /// Parts of the value: the columns of a line, or the lines of several inputs; empty if it has none.
    var columns: [String] = []
    /// Number of the operation, from 1.
    let number: Int

    /// Returns true if a text may contain a placeholder.
    static func areIn(_ text: String, hasColumns: Bool) -> Bool {
        hasColumns ? text.utf8.contains(UInt8(ascii: "{")) : whole.contains { text.contains($0) }
    }

    /// Placeholders of the whole value. Those of a column have its number after the brace.
    private static let whole = ["{}", "{.}", "{/}", "{//}", "{/.}", "{#}"]

    /// Returns the word with each placeholder replaced; other braces stay.
    func fill(_ word: String) -> String { fill(word) { $0 } }

    /// Returns a valid name: invalid characters of the values become `_`.
    func fillName(_ name: String) -> String {
        let filled = fill(name) { value in
            String(value.map { Self.nameCharacters.contains($0) ? $0 : "_" })
        }
        return String(filled.prefix(Self.longestName))
    }

    /// Returns a text for the shell: each value becomes one word, whatever characters it contains.
    func fillShell(_ text: String) -> String { fill(text, ShellWord.typed) }

    private static let nameCharacters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:/-")
    private static let longestName = 200

    private func fill(_ word: String, _ change: (String) -> String) -> String {
        guard word.utf8.contains(UInt8(ascii: "{")) else { return word }
        var filled = ""
        var rest = word[...]
        while let open = rest.firstIndex(of: "{") {
            filled += rest[..<open]
            rest = rest[open...]
            if let (length, text) = placeholder(in: rest) {
                filled += change(text)
                rest = rest.dropFirst(length)
            } else {
                filled += "{"
                rest = rest.dropFirst()
            }
        }
        return filled + rest
    }

    /// Returns the length of the placeholder at the start of the text, and its replacement.
    private func placeholder(in text: Substring) -> (length: Int, text: String)? {
        guard let close = text.prefix(10).firstIndex(of: "}") else { return nil }
        let inside = text[..<close].dropFirst()
        let length = inside.count + 2
        if inside == "#" { return (length, "\(number)") }
        let digits = inside.prefix { $0.isASCII && $0.isNumber }
        var value = value
        if !digits.isEmpty {
            guard !columns.isEmpty, let column = Int(digits), column > 0 else { return nil }
            value = column <= columns.count ? columns[column - 1] : ""
        }
        switch inside.dropFirst(digits.count) {
        case "": return (length, value)
        case ".": return (length, Self.withoutExtension(value))
        case "/": return (length, Self.base(of: value))
        case "//": return (length, Self.directory(of: value))
        case "/.": return (length, Self.withoutExtension(Self.base(of: value)))
        default: return nil
        }
    }

    private static func base(of value: String) -> String {
        value.lastIndex(of: "/").map { String(value[value.index(after: $0)...]) } ?? value
    }

    private static func directory(of value: String) -> String {
        guard let slash = value.lastIndex(of: "/") else { return "." }
        return slash == value.startIndex ? "/" : String(value[..<slash])
    }

    private static func withoutExtension(_ path: String) -> String {
        guard let dot = path.lastIndex(of: "."), dot > (path.lastIndex(of: "/") ?? path.startIndex) else { return path }
        return String(path[..<dot])
    }
}

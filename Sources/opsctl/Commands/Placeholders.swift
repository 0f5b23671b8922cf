/// Values of the placeholders of `--each` and `--array`, as GNU parallel spells them.
struct Placeholders {
    static let all = ["{}", "{.}", "{/}", "{//}", "{/.}", "{#}"]

    let value: String
    /// Number of the operation, from 1.
    let number: Int

    /// Returns the word with each placeholder replaced; other braces stay.
    func fill(_ word: String) -> String { fill(word) { $0 } }

    /// Returns a valid name: characters of the values that a name cannot have become `_`.
    func fillName(_ name: String) -> String {
        let filled = fill(name) { value in
            String(value.map { Self.nameCharacters.contains($0) ? $0 : "_" })
        }
        return String(filled.prefix(Self.longestName))
    }

    private static let nameCharacters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.:/-")
    private static let longestName = 200

    private func fill(_ word: String, _ change: (String) -> String) -> String {
        guard word.utf8.contains(UInt8(ascii: "{")) else { return word }
        var filled = ""
        var rest = word[...]
        while let open = rest.firstIndex(of: "{") {
            filled += rest[..<open]
            rest = rest[open...]
            if let placeholder = Self.all.first(where: { rest.hasPrefix($0) }) {
                filled += change(text(of: placeholder))
                rest = rest.dropFirst(placeholder.count)
            } else {
                filled += "{"
                rest = rest.dropFirst()
            }
        }
        return filled + rest
    }

    private func text(of placeholder: String) -> String {
        switch placeholder {
        case "{.}": withoutExtension(value)
        case "{/}": base
        case "{//}": directory
        case "{/.}": withoutExtension(base)
        case "{#}": "\(number)"
        default: value
        }
    }

    private var base: String { value.lastIndex(of: "/").map { String(value[value.index(after: $0)...]) } ?? value }

    private var directory: String {
        guard let slash = value.lastIndex(of: "/") else { return "." }
        return slash == value.startIndex ? "/" : String(value[..<slash])
    }

    private func withoutExtension(_ path: String) -> String {
        guard let dot = path.lastIndex(of: "."), dot > (path.lastIndex(of: "/") ?? path.startIndex) else { return path }
        return String(path[..<dot])
    }
}

/// The lines of an INI text that set something, in order; later ones win over earlier ones.
struct IniText {
    struct Section: Equatable {
        let name: String
        let line: Int
    }

    struct Setting: Equatable {
        let section: String
        let key: String
        let value: String
        let line: Int
    }

    struct Malformed: Error, Equatable {
        let line: Int
        let message: String
    }

    let sections: [Section]
    let settings: [Setting]

    /// Comments begin a line with `#` or `;`. A key outside any section belongs to `opsd`.
    init(parsing text: String) throws(Malformed) {
        var sections: [Section] = []
        var settings: [Setting] = []
        var section = "opsd"
        var line = 0
        // Carriage return and line feed together are one character.
        for raw in text.split(omittingEmptySubsequences: false, whereSeparator: { $0 == "\n" || $0 == "\r\n" }) {
            line += 1
            let content = trimmed(raw)
            guard let first = content.first, first != "#", first != ";" else { continue }
            if first == "[" {
                guard content.last == "]" else { throw Malformed(line: line, message: "a section ends with ]") }
                section = trimmed(content.dropFirst().dropLast())
                sections.append(Section(name: section, line: line))
                continue
            }
            guard let equals = content.firstIndex(of: "=") else {
                throw Malformed(line: line, message: "expected KEY = VALUE, found \"\(content)\"")
            }
            let key = trimmed(content[..<equals])
            guard !key.isEmpty else { throw Malformed(line: line, message: "a key is missing before =") }
            settings.append(
                Setting(
                    section: section, key: key, value: trimmed(content[content.index(after: equals)...]), line: line))
        }
        self.sections = sections
        self.settings = settings
    }
}

private func trimmed(_ text: Substring) -> String {
    let isBlank: (Character) -> Bool = { $0 == " " || $0 == "\t" || $0 == "\r" }
    guard let start = text.firstIndex(where: { !isBlank($0) }), let end = text.lastIndex(where: { !isBlank($0) })
    else { return "" }
    return String(text[start...end])
}

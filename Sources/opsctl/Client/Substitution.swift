internal import OpsWire

/// Replaces `${NAME}` in the strings of JSON text; `$${NAME}` becomes `${NAME}`. Forms with an operator, such as
/// `${NAME:-x}`, and names that begin with `OPS_` are left to the shell. Both forms of the names whose values opsd
/// inserts are left to opsd.
struct Substitution {
    private var values: [String: [UInt8]]
    /// Names whose values opsd inserts for each run of a schedule.
    private var later: Set<String>

    /// Names that opsd replaces in each run of any schedule.
    static let ofSchedules = ["scheduled", "scheduledBefore"]

    init(_ pairs: [Pair], later: Set<String> = []) {
        (values, self.later) = ([:], later)
        self = setting(pairs)
    }

    /// Returns a substitution with additional values, which replace values of the same names.
    func setting(_ pairs: [Pair]) -> Substitution {
        var copy = self
        for pair in pairs {
            var text = JSONWriter()
            text.string(pair.value)
            copy.values[pair.key] = Array(text.bytes.dropFirst().dropLast())
        }
        return copy
    }

    /// In JSON, `$` occurs only inside strings, so the text need not be parsed for this.
    func fill(_ text: GraphText) throws(Failure) -> GraphText {
        let bytes = text.bytes
        guard bytes.contains(UInt8(ascii: "$")) else { return text }
        var filled: [UInt8] = []
        filled.reserveCapacity(bytes.count)
        var marks = text.marks
        var moved = 0
        var missing: [String] = []
        var place: String?
        var rest = bytes[...]
        while let dollar = rest.firstIndex(of: UInt8(ascii: "$")) {
            Self.move(&marks, &moved, through: dollar, by: filled.count - rest.startIndex)
            filled += rest[..<dollar]
            rest = rest[dollar...]
            if rest.starts(with: "$${".utf8) {
                let isLater = Self.name(rest.dropFirst()).map(later.contains) ?? false
                filled += Array((isLater ? "$${" : "${").utf8)
                rest = rest.dropFirst(3)
            } else if let name = Self.name(rest), !name.hasPrefix("OPS_"),
                values[name] != nil || !later.contains(name)
            {
                if let value = values[name] {
                    filled += value
                } else if !missing.contains(name) {
                    missing.append(name)
                    place = place ?? text.place(of: dollar)
                }
                rest = rest.dropFirst(name.utf8.count + 3)
            } else {
                filled.append(UInt8(ascii: "$"))
                rest = rest.dropFirst()
            }
        }
        Self.move(&marks, &moved, through: bytes.count, by: filled.count - rest.startIndex)
        if let place { throw absent(missing, place) }
        return GraphText(path: text.path, json: filled + rest, marks: marks, repeatedKeys: text.repeatedKeys)
    }

    /// Returns the reason why no `${NAME}` with this name is a placeholder; nil if it is one.
    static func complaint(aboutName name: String) -> String? {
        if name.hasPrefix("OPS_") { return "${\(name)} is a variable of opsd, not a placeholder" }
        let bytes = name.utf8
        let isName = bytes.allSatisfy(isOfName) && bytes.first.map { !(0x30...0x39).contains($0) } == true
        return isName ? nil : "${\(name)} cannot be a placeholder"
    }

    /// Advice for a name that `complaint` refuses.
    static let adviceAboutNames = "use a name of letters, digits and _ that begins neither with a digit nor with OPS_"

    /// Returns a text in which opsd replaces nothing for the runs of a calendar.
    static func literal(_ text: String) -> String {
        ofSchedules.reduce(text) { $0.replacing("${\($1)}", with: "$${\($1)}") }
    }

    /// Moves the marks up to an offset.
    private static func move(
        _ marks: inout [GraphText.Mark], _ moved: inout Int, through end: Int, by distance: Int
    ) {
        while moved < marks.count, marks[moved].offset <= end {
            marks[moved].offset += distance
            moved += 1
        }
    }

    /// Returns the name if the text begins with `${NAME}`; otherwise nil.
    private static func name(_ text: ArraySlice<UInt8>) -> String? {
        guard text.starts(with: "${".utf8) else { return nil }
        let inner = text.dropFirst(2).prefix(while: isOfName)
        let end = inner.endIndex
        guard let first = inner.first, !(0x30...0x39).contains(first), end < text.endIndex,
            text[end] == UInt8(ascii: "}")
        else { return nil }
        return String(decoding: inner, as: UTF8.self)
    }

    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x30...0x39, 0x41...0x5a, 0x61...0x7a, UInt8(ascii: "_"): true
        default: false
        }
    }

    /// - Parameter place: Position of the first placeholder without a value.
    private func absent(_ missing: [String], _ place: String) -> Failure {
        let names = missing.map { "${\($0)}" }.joined(separator: ", ")
        let options = missing.map { "--set \($0)=VALUE" }.joined(separator: " ")
        let near = missing.count == 1 ? Nearest.name(to: missing[0], among: values.keys.sorted()) : nil
        return Failure(
            .refused, place,
            "\(names) \(missing.count == 1 ? "has" : "have") no value",
            (near.map { "did you mean ${\($0)}? " } ?? "")
                + "give \(options), or write $${\(missing[0])} for a literal ${\(missing[0])}")
    }
}

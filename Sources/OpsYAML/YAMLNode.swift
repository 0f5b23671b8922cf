/// A value of a document.
struct YAMLNode {
    enum Content {
        /// A text, and its JSON if it is not a string.
        case scalar(bytes: [UInt8], json: String?)
        case sequence([Int])
        case mapping([(key: Int, value: Int)])
        /// A repetition of an earlier value.
        case alias(of: Int)
    }

    let content: Content
    let position: YAMLPosition
}

/// The plain scalars of YAML 1.2's core schema.
enum CoreSchema {
    enum Value: Equatable {
        case text
        case json(String)
        /// A number that JSON cannot represent.
        case unrepresentable
    }

    /// Marks a plain `<<`. No number or word has this text as its JSON.
    static let merge = "<<"

    static func resolve(_ text: String) -> Value {
        switch text {
        case "", "~", "null", "Null", "NULL": return .json("null")
        case "true", "True", "TRUE": return .json("true")
        case "false", "False", "FALSE": return .json("false")
        case ".nan", ".NaN", ".NAN": return .unrepresentable
        default: break
        }
        let sign = text.hasPrefix("-") ? "-" : ""
        let rest = text.first == "-" || text.first == "+" ? text.dropFirst() : text[...]
        if [".inf", ".Inf", ".INF"].contains(rest) { return .unrepresentable }
        if text.hasPrefix("0o"), let value = UInt64(plain(text.dropFirst(2), { "01234567".contains($0) }), radix: 8) {
            return .json("\(value)")
        }
        if text.hasPrefix("0x"), let value = UInt64(plain(text.dropFirst(2), \.isHexDigit), radix: 16) {
            return .json("\(value)")
        }
        return number(rest, sign).map(Value.json) ?? .text
    }

    private static func plain(_ digits: Substring, _ isDigit: (Character) -> Bool) -> String {
        digits.allSatisfy { $0.isASCII && isDigit($0) } ? String(digits) : ""
    }

    /// Returns the JSON of `[0-9]+`, or of `(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`.
    private static func number(_ text: Substring, _ sign: String) -> String? {
        func digits(_ rest: inout Substring) -> Substring {
            let run = rest.prefix { $0.isASCII && $0.isNumber }
            rest = rest[run.endIndex...]
            return run
        }
        var rest = text
        let whole = digits(&rest)
        var fraction: Substring = ""
        if rest.first == "." {
            rest = rest.dropFirst()
            fraction = digits(&rest)
        }
        guard !whole.isEmpty || !fraction.isEmpty else { return nil }
        var exponent = ""
        if rest.first == "e" || rest.first == "E" {
            rest = rest.dropFirst()
            let minus = rest.first == "-" ? "-" : ""
            if rest.first == "-" || rest.first == "+" { rest = rest.dropFirst() }
            let power = digits(&rest)
            guard !power.isEmpty else { return nil }
            exponent = "e\(minus)\(power)"
        }
        guard rest.isEmpty else { return nil }
        let shortened = whole.drop { $0 == "0" }
        return sign + (shortened.isEmpty ? "0" : shortened) + (fraction.isEmpty ? "" : ".\(fraction)") + exponent
    }
}

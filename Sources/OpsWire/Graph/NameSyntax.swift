/// Syntax of names and references.
public enum NameSyntax {

    private static let isAllowed: [Bool] = (0..<256).map {
        switch UInt8($0) {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), 0x5f, 0x2e, 0x3a, 0x2f, 0x2d:
            true
        default: false
        }
    }

    public static func isName(_ bytes: some Collection<UInt8>) -> Bool {
        1...Limits.nameBytes ~= bytes.count && bytes.allSatisfy { isAllowed[Int($0)] }
    }

    /// Returns why bytes cannot be a name, with the character or the length that is wrong.
    static func complaint(aboutName bytes: some Collection<UInt8>) -> String? {
        guard 1...Limits.nameBytes ~= bytes.count else {
            return "has \(bytes.count) characters: a name has 1 to \(Limits.nameBytes)"
        }
        guard !isName(bytes) else { return nil }
        let wrong = String(decoding: bytes, as: UTF8.self).first { !isName(String($0)) }
        return "contains \"\(wrong.map(String.init) ?? "")\": only A-Z a-z 0-9 _ . : / - are allowed"
    }

    static func isNumber(_ bytes: some Collection<UInt8>) -> Bool { bytes.allSatisfy { $0 &- UInt8(ascii: "0") <= 9 } }

    /// Returns true for a name (in the same graph), an id, or a name with its graph.
    static func isReference(_ bytes: some BidirectionalCollection<UInt8>) -> Bool {
        guard let at = bytes.firstIndex(of: UInt8(ascii: "@")) else {
            guard isName(bytes) else { return false }
            return !isNumber(bytes) || (bytes.count <= 18 && bytes.first != UInt8(ascii: "0"))
        }
        return isName(bytes[..<at]) && isGraphName(bytes[bytes.index(after: at)...])
    }

    /// Returns true for the name of a graph, which may contain blanks.
    private static func isGraphName(_ bytes: some Collection<UInt8>) -> Bool {
        1...Limits.nameBytes ~= bytes.count && bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }

    /// Returns why a text cannot be the name of a graph; `7` and `g7` mean the graph with that id.
    public static func complaint(aboutGraph text: String) -> String? {
        let bytes = text.utf8
        if !isGraphName(bytes) { return "must have 1 to \(Limits.nameBytes) bytes and no control characters" }
        if isNumber(bytes) { return "must not be all digits: that would be an id" }
        return bytes.first == UInt8(ascii: "g") && bytes.count > 1 && isNumber(bytes.dropFirst())
            ? "must not be g and digits: that would be an id" : nil
    }

    /// Returns why a text cannot be an environment variable of a process, as execve(2) takes it.
    public static func complaint(aboutVariable name: String, value: String) -> String? {
        if name.isEmpty || contains(UInt8(ascii: "="), in: name) || contains(0, in: name) {
            return "not the name of a variable"
        }
        return contains(0, in: value) ? "must not contain a NUL" : nil
    }

    /// Returns whether a text contains a byte. Each submission checks its whole environment; to read the bytes in place
    /// is several times as fast as to read them one at a time.
    private static func contains(_ byte: UInt8, in text: String) -> Bool {
        text.utf8.withContiguousStorageIfAvailable { $0.contains(byte) } ?? text.utf8.contains(byte)
    }

    /// Returns true if a text can be the name of a queue or a category.
    public static func isName(_ text: String) -> Bool { isName(text.utf8) }
}

extension FixedWidthInteger {
    /// Reads a number that consists of digits alone. Swift's own reader also accepts a sign before them.
    init?(digits text: some StringProtocol, radix: Int = 10) {
        guard NameSyntax.isNumber(text.utf8), let value = Self(text, radix: radix) else { return nil }
        self = value
    }
}

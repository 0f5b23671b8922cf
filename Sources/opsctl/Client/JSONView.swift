/// One value inside JSON text, read where it lies and only when asked.
struct JSONView {
    let bytes: [UInt8]
    let range: Range<Int>

    /// Reads a whole text.
    init(_ bytes: [UInt8]) throws(JSONScanner.Malformed) {
        var scanner = JSONScanner(bytes)
        let range = try scanner.value()
        guard scanner.peek() == nil else {
            throw JSONScanner.Malformed(offset: scanner.position, why: "something follows the end of the value")
        }
        self.init(bytes, range)
    }

    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        self.range = range
    }

    /// The text itself.
    var raw: ArraySlice<UInt8> { bytes[range] }

    private var first: UInt8 { range.isEmpty ? 0 : bytes[range.lowerBound] }
    var isNull: Bool { first == UInt8(ascii: "n") }
    var isObject: Bool { first == UInt8(ascii: "{") }
    var isArray: Bool { first == UInt8(ascii: "[") }

    /// The member's value; nil where it is absent or null.
    subscript(key: StaticString) -> JSONView? {
        guard isObject else { return nil }
        var found: JSONView?
        key.withUTF8Buffer { wanted in
            var scanner = JSONScanner(bytes, range)
            // What opsd sent was valid when it was received; text that is not has no members.
            try? scanner.object { (scanner, key) throws(JSONScanner.Malformed) in
                let isWanted = bytes[key.lowerBound + 1..<key.upperBound - 1].elementsEqual(wanted)
                let value = try scanner.value()
                if isWanted { found = JSONView(bytes, value) }
            }
        }
        return found.flatMap { $0.isNull ? nil : $0 }
    }

    var members: [(key: String, value: JSONView)] {
        guard isObject else { return [] }
        var members: [(key: String, value: JSONView)] = []
        var scanner = JSONScanner(bytes, range)
        // As above: valid since it was received.
        try? scanner.object { (scanner, key) throws(JSONScanner.Malformed) in
            members.append((JSONView(bytes, key).text ?? "", JSONView(bytes, try scanner.value())))
        }
        return members
    }

    var elements: [JSONView] {
        guard isArray else { return [] }
        var elements: [JSONView] = []
        var scanner = JSONScanner(bytes, range)
        // As above: valid since it was received.
        try? scanner.array { (scanner) throws(JSONScanner.Malformed) in
            elements.append(JSONView(bytes, try scanner.value()))
        }
        return elements
    }

    var integer: Int? {
        switch first {
        case UInt8(ascii: "-"), 0x30...0x39: Int(String(decoding: raw, as: UTF8.self))
        default: nil
        }
    }

    var number: Double? {
        switch first {
        case UInt8(ascii: "-"), 0x30...0x39: Double(String(decoding: raw, as: UTF8.self))
        default: nil
        }
    }

    var flag: Bool {
        first == UInt8(ascii: "t")
    }

    var instant: Instant? { text.flatMap { Instant.rfc3339($0) } }

    /// A string, with its escapes resolved.
    var text: String? {
        guard first == UInt8(ascii: "\"") else { return nil }
        let inner = bytes[range.lowerBound + 1..<range.upperBound - 1]
        guard inner.contains(UInt8(ascii: "\\")) else { return String(decoding: inner, as: UTF8.self) }
        return Self.unescape(inner)
    }

    private static func unescape(_ inner: ArraySlice<UInt8>) -> String {
        var text = String.UnicodeScalarView()
        var plain: [UInt8] = []
        var index = inner.startIndex
        func flush() {
            text.append(contentsOf: String(decoding: plain, as: UTF8.self).unicodeScalars)
            plain.removeAll(keepingCapacity: true)
        }
        func unit(at index: Int) -> UInt32? {
            guard index + 6 <= inner.endIndex, inner[index] == UInt8(ascii: "\\"), inner[index + 1] == UInt8(ascii: "u")
            else { return nil }
            return inner[index + 2..<index + 6].reduce(0) { $0 << 4 | (JSONScanner.hex($1) ?? 0) }
        }
        while index < inner.endIndex {
            guard inner[index] == UInt8(ascii: "\\") else {
                plain.append(inner[index])
                index += 1
                continue
            }
            if var code = unit(at: index) {
                index += 6
                if (0xd800..<0xdc00).contains(code), let low = unit(at: index), (0xdc00..<0xe000).contains(low) {
                    code = 0x10000 + (code - 0xd800) << 10 + (low - 0xdc00)
                    index += 6
                }
                flush()
                text.append(Unicode.Scalar(code) ?? "\u{fffd}")
            } else {
                plain.append(Self.escaped(inner[index + 1]))
                index += 2
            }
        }
        flush()
        return String(text)
    }

    private static func escaped(_ letter: UInt8) -> UInt8 {
        switch letter {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0c
        case UInt8(ascii: "n"): 0x0a
        case UInt8(ascii: "r"): 0x0d
        case UInt8(ascii: "t"): 0x09
        default: letter
        }
    }
}

/// Walks over JSON text without building anything: every step validates and moves on.
struct JSONScanner {
    /// Where the text stops being JSON, and why.
    struct Malformed: Error, Equatable {
        let offset: Int
        let why: String
    }

    let bytes: [UInt8]
    private(set) var position: Int
    private let end: Int
    /// Containers within containers; the daemon reads no deeper either.
    private static let depthLimit = 128

    init(_ bytes: [UInt8], _ range: Range<Int>? = nil) {
        self.bytes = bytes
        position = range?.lowerBound ?? 0
        end = range?.upperBound ?? bytes.count
    }

    private func fail(_ why: String) -> Malformed { Malformed(offset: position, why: why) }

    /// The next byte that is no white space, or nil at the end.
    mutating func peek() -> UInt8? {
        while position < end {
            switch bytes[position] {
            case 0x20, 0x09, 0x0a, 0x0d: position += 1
            default: return bytes[position]
            }
        }
        return nil
    }

    mutating func take(_ byte: UInt8) -> Bool {
        guard peek() == byte else { return false }
        position += 1
        return true
    }

    /// Skips one value and says where it lies.
    mutating func value(depth: Int = 0) throws(Malformed) -> Range<Int> {
        guard let first = peek() else { throw fail("the text ends where a value should be") }
        let start = position
        switch first {
        case UInt8(ascii: "{"):
            guard depth < Self.depthLimit else { throw fail("nested too deep") }
            try object { (scanner, _) throws(Malformed) in _ = try scanner.value(depth: depth + 1) }
        case UInt8(ascii: "["):
            guard depth < Self.depthLimit else { throw fail("nested too deep") }
            try array { (scanner) throws(Malformed) in _ = try scanner.value(depth: depth + 1) }
        case UInt8(ascii: "\""): _ = try string()
        case UInt8(ascii: "t"): try word("true")
        case UInt8(ascii: "f"): try word("false")
        case UInt8(ascii: "n"): try word("null")
        case UInt8(ascii: "-"), 0x30...0x39: try number()
        default: throw fail("unexpected \(Self.shown(first))")
        }
        return start..<position
    }

    /// Calls `member` with the place of each key (quotes included); it must read the value.
    mutating func object(
        _ member: (inout JSONScanner, Range<Int>) throws(Malformed) -> Void
    ) throws(Malformed) {
        guard take(UInt8(ascii: "{")) else { throw fail("an object is expected") }
        if take(UInt8(ascii: "}")) { return }
        repeat {
            guard peek() == UInt8(ascii: "\"") else { throw fail("a key in quotes is expected") }
            let key = try string()
            guard take(UInt8(ascii: ":")) else { throw fail("\":\" is expected after a key") }
            try member(&self, key)
        } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "}")) else {
            throw fail(peek() == nil ? "an object is not closed" : "\",\" or \"}\" is expected")
        }
    }

    /// Calls `element` before each element; it must read it.
    mutating func array(_ element: (inout JSONScanner) throws(Malformed) -> Void) throws(Malformed) {
        guard take(UInt8(ascii: "[")) else { throw fail("an array is expected") }
        if take(UInt8(ascii: "]")) { return }
        repeat { try element(&self) } while take(UInt8(ascii: ","))
        guard take(UInt8(ascii: "]")) else {
            throw fail(peek() == nil ? "an array is not closed" : "\",\" or \"]\" is expected")
        }
    }

    /// Skips a string and says where it lies, quotes included.
    mutating func string() throws(Malformed) -> Range<Int> {
        guard peek() == UInt8(ascii: "\"") else { throw fail("a string is expected") }
        let start = position
        position += 1
        while position < end {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                position += 1
                return start..<position
            }
            if byte == UInt8(ascii: "\\") {
                try escape()
            } else if byte < 0x20 {
                throw fail("a line break or control character in a string")
            } else {
                position += 1
            }
        }
        throw Malformed(offset: start, why: "a string is not closed")
    }

    private mutating func escape() throws(Malformed) {
        guard position + 1 < end else { throw fail("a string is not closed") }
        switch bytes[position + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            position += 2
        case UInt8(ascii: "u"):
            guard position + 6 <= end, bytes[position + 2..<position + 6].allSatisfy({ Self.hex($0) != nil }) else {
                throw fail("\\u needs four hexadecimal digits")
            }
            position += 6
        default: throw fail("unknown escape in a string")
        }
    }

    private mutating func number() throws(Malformed) {
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let whole = digits()
        guard whole > 0 else { throw fail("a digit is expected") }
        if whole > 1, bytes[position - whole] == 0x30 { throw fail("a number with a leading zero") }
        if position < end, bytes[position] == UInt8(ascii: ".") {
            position += 1
            guard digits() > 0 else { throw fail("a digit is expected") }
        }
        if position < end, bytes[position] | 0x20 == UInt8(ascii: "e") {
            position += 1
            if position < end, bytes[position] == UInt8(ascii: "+") || bytes[position] == UInt8(ascii: "-") {
                position += 1
            }
            guard digits() > 0 else { throw fail("a digit is expected") }
        }
    }

    private mutating func digits() -> Int {
        let start = position
        while position < end, (0x30...0x39).contains(bytes[position]) { position += 1 }
        return position - start
    }

    private mutating func word(_ word: StaticString) throws(Malformed) {
        let count = word.utf8CodeUnitCount
        guard position + count <= end, bytes[position..<position + count].elementsEqual("\(word)".utf8) else {
            throw fail("an unknown word")
        }
        position += count
    }

    static func hex(_ byte: UInt8) -> UInt32? {
        switch byte {
        case 0x30...0x39: UInt32(byte - 0x30)
        case 0x41...0x46: UInt32(byte - 0x37)
        case 0x61...0x66: UInt32(byte - 0x57)
        default: nil
        }
    }

    private static func shown(_ byte: UInt8) -> String {
        (0x21..<0x7f).contains(byte) ? "\"\(Character(Unicode.Scalar(byte)))\"" : "byte \(byte)"
    }
}

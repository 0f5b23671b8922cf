/// Strings and numbers.
extension JSONScanner {
    public mutating func string() throws(JSONError) -> String {
        let kind = try peek()
        guard kind == .string else { throw expectedString(butFound: kind) }
        return string(try text())
    }

    /// Returns the error for a value of another kind than a string. In YAML, quotes make a number or `true` a string.
    func expectedString(butFound kind: Kind) -> JSONError {
        let isPlain = kind == .number || kind == .bool
        return error(.expected(isPlain ? "a string; put the value in quotes" : "a string"))
    }

    /// Reads the next string and returns its range.
    mutating func text() throws(JSONError) -> Text {
        skipSpace()
        guard position < bytes.count else { throw error(.unexpectedEnd) }
        guard bytes[position] == UInt8(ascii: "\"") else { throw error(.expected("a string")) }
        position += 1
        var text = Text(start: position, end: position, hasEscapes: false)
        while true {
            skipPlain()
            guard position < bytes.count else { throw error(.unexpectedEnd) }
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                text.end = position
                position += 1
                return text
            }
            if byte == UInt8(ascii: "\\") {
                text.hasEscapes = true
                try skipEscape()
            } else if byte < 0x20 {
                throw error(.controlCharacter)
            } else {
                try skipMultibyte()
            }
        }
    }

    /// Skips printable ASCII other than quotes and backslashes, eight bytes at a time.
    @inline(__always)
    private mutating func skipPlain() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let tops: UInt64 = 0x8080_8080_8080_8080
        let base = UnsafeRawPointer(bytes.baseAddress)
        while position &+ 8 <= bytes.count, let base {
            let word = base.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            let quotes = word ^ (ones &* 0x22)
            let slashes = word ^ (ones &* 0x5c)
            let special =
                (word &- (ones &* 0x20)) | (quotes &- ones) | (slashes &- ones) | word
            if special & tops != 0 { break }
            position &+= 8
        }
        while position < bytes.count {
            let byte = bytes[position]
            if byte < 0x20 || byte >= 0x80 || byte == 0x22 || byte == 0x5c { return }
            position &+= 1
        }
    }

    private mutating func skipEscape() throws(JSONError) {
        let start = position
        position += 1
        guard position < bytes.count else { throw error(.unexpectedEnd) }
        switch bytes[position] {
        case 0x22, 0x5c, 0x2f, 0x62, 0x66, 0x6e, 0x72, 0x74: position += 1
        case UInt8(ascii: "u"):
            let unit = try hexUnit()
            if 0xdc00...0xdfff ~= unit { throw error(.loneSurrogate, at: start) }
            if 0xd800...0xdbff ~= unit {
                guard position + 1 < bytes.count, bytes[position] == 0x5c, bytes[position + 1] == UInt8(ascii: "u")
                else {
                    throw error(.loneSurrogate, at: start)
                }
                position += 1
                guard 0xdc00...0xdfff ~= (try hexUnit()) else { throw error(.loneSurrogate, at: start) }
            }
        default: throw error(.invalidEscape, at: start)
        }
    }

    /// Reads the four digits after a `\u`.
    private mutating func hexUnit() throws(JSONError) -> UInt32 {
        position += 1
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard position < bytes.count else { throw error(.unexpectedEnd) }
            guard let digit = Self.hexDigit(bytes[position]) else { throw error(.invalidEscape) }
            unit = unit << 4 | digit
            position += 1
        }
        return unit
    }

    static func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    /// Skips one character of two to four bytes; refuses overlong forms, surrogates, and everything beyond U+10FFFF.
    private mutating func skipMultibyte() throws(JSONError) {
        let first = bytes[position]
        let second: ClosedRange<UInt8>
        let length: Int
        switch first {
        case 0xc2...0xdf: (length, second) = (2, 0x80...0xbf)
        case 0xe0: (length, second) = (3, 0xa0...0xbf)
        case 0xed: (length, second) = (3, 0x80...0x9f)
        case 0xe1...0xef: (length, second) = (3, 0x80...0xbf)
        case 0xf0: (length, second) = (4, 0x90...0xbf)
        case 0xf1...0xf3: (length, second) = (4, 0x80...0xbf)
        case 0xf4: (length, second) = (4, 0x80...0x8f)
        default: throw error(.invalidUTF8)
        }
        guard position + length <= bytes.count, second ~= bytes[position + 1] else { throw error(.invalidUTF8) }
        for index in 2..<max(length, 2) where bytes[position + index] & 0xc0 != 0x80 { throw error(.invalidUTF8) }
        position += length
    }

    // MARK: - Text to String

    public func string(_ text: Text) -> String {
        text.hasEscapes
            ? String(decoding: unescaped(text), as: UTF8.self)
            : String(decoding: slice(text.start..<text.end), as: UTF8.self)
    }

    /// Returns the characters of a text that `text()` has checked.
    func unescaped(_ text: Text) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var index = text.start
        while index < text.end {
            guard bytes[index] == 0x5c else {
                result.append(bytes[index])
                index += 1
                continue
            }
            index += 2
            switch bytes[index - 1] {
            case UInt8(ascii: "b"): result.append(0x08)
            case UInt8(ascii: "f"): result.append(0x0c)
            case UInt8(ascii: "n"): result.append(0x0a)
            case UInt8(ascii: "r"): result.append(0x0d)
            case UInt8(ascii: "t"): result.append(0x09)
            case UInt8(ascii: "u"):
                var scalar = unit(at: index)
                index += 4
                if 0xd800...0xdbff ~= scalar {
                    scalar = 0x10000 + (scalar - 0xd800) << 10 + (unit(at: index + 2) - 0xdc00)
                    index += 6
                }
                if let scalar = Unicode.Scalar(scalar) { result.append(contentsOf: UTF8.encode(scalar) ?? .init()) }
            case let byte: result.append(byte)
            }
        }
        return result
    }

    private func unit(at index: Int) -> UInt32 {
        (index..<index + 4).reduce(0) { $0 << 4 | (Self.hexDigit(bytes[$1]) ?? 0) }
    }

    /// Returns true if a text has exactly these characters.
    public func equals(_ text: Text, _ other: StaticString) -> Bool {
        if text.hasEscapes {
            return unescaped(text).elementsEqual(
                UnsafeBufferPointer(start: other.utf8Start, count: other.utf8CodeUnitCount))
        }
        guard text.count == other.utf8CodeUnitCount else { return false }
        for index in 0..<text.count where bytes[text.start &+ index] != other.utf8Start[index] { return false }
        return true
    }

    // MARK: - Numbers

    enum Number: Equatable, Sendable {
        case integer(Int64)
        /// A number with a fraction or an exponent, or an integer that does not fit 64 bits.
        case double(Double)
    }

    mutating func number() throws(JSONError) -> Number {
        guard try peek() == .number else { throw error(.expected("a number")) }
        let (range, isInteger) = try numberRange()
        if isInteger, let value = integer(range) { return .integer(value) }
        guard let value = Double(String(decoding: slice(range), as: UTF8.self)), value.isFinite else {
            throw error(.numberOutOfRange, at: range.lowerBound)
        }
        return .double(value)
    }

    /// Reads an integer. As in JSON Schema, `5.0` and `1e1` are integers too.
    public mutating func integer() throws(JSONError) -> Int64 {
        guard try peek() == .number else { throw error(.expected("an integer")) }
        let (range, isInteger) = try numberRange()
        guard isInteger else {
            // Up to 2^53 each integer has a double of its own.
            guard let value = Double(String(decoding: slice(range), as: UTF8.self)), value.magnitude <= 0x1p53,
                let integer = Int64(exactly: value)
            else { throw error(.expected("an integer"), at: range.lowerBound) }
            return integer
        }
        guard let value = integer(range) else { throw error(.numberOutOfRange, at: range.lowerBound) }
        return value
    }

    public mutating func double() throws(JSONError) -> Double {
        switch try number() {
        case .integer(let value): Double(value)
        case .double(let value): value
        }
    }

    private func integer(_ range: Range<Int>) -> Int64? {
        let isNegative = bytes[range.lowerBound] == UInt8(ascii: "-")
        var value: Int64 = 0
        for index in range.dropFirst(isNegative ? 1 : 0) {
            let digit = Int64(bytes[index] - UInt8(ascii: "0"))
            let (product, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowedAgain) = product.addingReportingOverflow(isNegative ? -digit : digit)
            if overflowed || overflowedAgain { return nil }
            value = sum
        }
        return value
    }

    /// Skips a number, checking only its grammar.
    mutating func numberRange() throws(JSONError) -> (Range<Int>, isInteger: Bool) {
        skipSpace()
        let start = position
        var isInteger = true
        if position < bytes.count, bytes[position] == UInt8(ascii: "-") { position += 1 }
        if position < bytes.count, bytes[position] == UInt8(ascii: "0") {
            position += 1
        } else {
            try digits()
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            try digits()
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if position < bytes.count, bytes[position] == 0x2b || bytes[position] == 0x2d { position += 1 }
            try digits()
        }
        if position < bytes.count, isWordByte(bytes[position]) { throw error(.invalidNumber, at: start) }
        return (start..<position, isInteger)
    }

    private mutating func digits() throws(JSONError) {
        let start = position
        while position < bytes.count, bytes[position] &- UInt8(ascii: "0") <= 9 { position += 1 }
        guard position > start else { throw error(position < bytes.count ? .invalidNumber : .unexpectedEnd) }
    }

    /// Returns true for a letter or digit. Directly after a number (`01`, `1x`) it is part of an invalid number.
    private func isWordByte(_ byte: UInt8) -> Bool {
        byte &- UInt8(ascii: "0") <= 9 || (byte | 0x20) &- UInt8(ascii: "a") < 26 || byte == 0x2e || byte == 0x2b
            || byte == 0x2d
    }
}

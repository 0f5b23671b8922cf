/// Reads JSON strictly (RFC 8259, UTF-8), value by value as its caller asks, and allocates only what the caller asks
/// for.
///
/// The structure of the caller is the stack: after `beginObject` it calls `nextMember` until that returns nil, and
/// reads or skips each member's value. The bytes must outlive the scanner.
public struct JSONScanner {
    public enum Kind: Equatable, Sendable { case object, array, string, number, bool, null }

    /// Range of a string between its quotes.
    public struct Text: Sendable {
        var start: Int
        var end: Int
        var hasEscapes: Bool
        var count: Int { end - start }
    }

    let bytes: UnsafeBufferPointer<UInt8>
    let maximumDepth: Int
    /// Offset of the next byte.
    public internal(set) var position = 0
    var depth = 0
    /// True if nothing has been read in the innermost container yet, so that no comma comes first.
    private var isFresh = false
    /// True if errors contain lines and columns; to count them, all text before the error is read again.
    var countsLines = true
    /// Value that has been read to its end, during the search for members of an object or with errors. It need not be
    /// read again to skip it.
    var skipped: Range<Int>?
    /// True if records may come from another version of the interface: unknown members are skipped, and missing members
    /// keep their initial values.
    public var isTolerant = false

    public init(_ bytes: UnsafeBufferPointer<UInt8>, maximumDepth: Int = Limits.depth) {
        self.bytes = bytes
        self.maximumDepth = maximumDepth
    }

    /// State of a scanner, so that another one can continue later over the same bytes.
    struct State: Sendable {
        var position = 0
        var depth = 0
        var isFresh = false
    }

    var state: State {
        get { State(position: position, depth: depth, isFresh: isFresh) }
        set { (position, depth, isFresh) = (newValue.position, newValue.depth, newValue.isFresh) }
    }

    // MARK: - The next value

    /// Returns the kind of the next value without reading it.
    public mutating func peek() throws(JSONError) -> Kind {
        skipSpace()
        guard position < bytes.count else { throw error(.unexpectedEnd) }
        switch bytes[position] {
        case UInt8(ascii: "{"): return .object
        case UInt8(ascii: "["): return .array
        case UInt8(ascii: "\""): return .string
        case UInt8(ascii: "t"), UInt8(ascii: "f"): return .bool
        case UInt8(ascii: "n"): return .null
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number
        case let byte: throw error(.unexpectedByte(byte))
        }
    }

    /// Requires that only white space follows.
    public mutating func end() throws(JSONError) {
        skipSpace()
        if position < bytes.count { throw error(.trailingBytes) }
    }

    public var isAtEnd: Bool {
        mutating get {
            skipSpace()
            return position >= bytes.count
        }
    }

    // MARK: - Containers

    public mutating func beginObject() throws(JSONError) { try begin(UInt8(ascii: "{"), "an object") }
    public mutating func beginArray() throws(JSONError) { try begin(UInt8(ascii: "["), "an array") }

    /// Returns the key of the next member, or nil at the end of the object.
    public mutating func nextMember() throws(JSONError) -> Text? {
        guard try hasNext(UInt8(ascii: "}")) else { return nil }
        guard position < bytes.count else { throw error(.unexpectedEnd) }
        guard bytes[position] == UInt8(ascii: "\"") else { throw error(.unexpectedByte(bytes[position])) }
        let key = try text()
        skipSpace()
        guard position < bytes.count else { throw error(.unexpectedEnd) }
        guard bytes[position] == UInt8(ascii: ":") else { throw error(.unexpectedByte(bytes[position])) }
        position += 1
        return key
    }

    /// Returns true if the array has another element; at its end it leaves the array.
    public mutating func nextElement() throws(JSONError) -> Bool { try hasNext(UInt8(ascii: "]")) }

    private mutating func begin(_ bracket: UInt8, _ what: String) throws(JSONError) {
        skipSpace()
        guard position < bytes.count else { throw error(.unexpectedEnd) }
        guard bytes[position] == bracket else { throw error(.expected(what)) }
        guard depth < maximumDepth else { throw error(.tooDeep(maximumDepth)) }
        position += 1
        depth += 1
        isFresh = true
    }

    private mutating func hasNext(_ closing: UInt8) throws(JSONError) -> Bool {
        skipSpace()
        guard position < bytes.count else { throw error(.unexpectedEnd) }
        if bytes[position] == closing {
            position += 1
            depth -= 1
            isFresh = false
            return false
        }
        if !isFresh {
            guard bytes[position] == UInt8(ascii: ",") else { throw error(.unexpectedByte(bytes[position])) }
            position += 1
            skipSpace()
        }
        isFresh = false
        return true
    }

    // MARK: - Values without content

    mutating func null() throws(JSONError) { try word("null") }

    /// Reads null if it comes next.
    mutating func skipNull() throws(JSONError) -> Bool {
        skipSpace()
        guard position < bytes.count, bytes[position] == UInt8(ascii: "n") else { return false }
        try null()
        return true
    }

    public mutating func bool() throws(JSONError) -> Bool {
        guard try peek() == .bool else { throw error(.expected("true or false")) }
        let value = bytes[position] == UInt8(ascii: "t")
        try word(value ? "true" : "false")
        return value
    }

    private mutating func word(_ word: StaticString) throws(JSONError) {
        skipSpace()
        let start = position
        for index in 0..<word.utf8CodeUnitCount {
            guard position < bytes.count else { throw error(.unexpectedEnd) }
            guard bytes[position] == word.utf8Start[index] else {
                throw error(.unexpectedByte(bytes[position]), at: index == 0 ? start : position)
            }
            position += 1
        }
    }

    // MARK: - Skipping

    /// Skips and checks any value (but not for duplicate keys), and returns its range.
    @discardableResult
    public mutating func skip() throws(JSONError) -> Range<Int> {
        let kind = try peek()
        let start = position
        if let skipped, skipped.lowerBound == start {
            position = skipped.upperBound
            return skipped
        }
        switch kind {
        case .object:
            try beginObject()
            while try nextMember() != nil { try skip() }
        case .array:
            try beginArray()
            while try nextElement() { try skip() }
        case .string: _ = try text()
        case .number: _ = try numberRange()
        case .bool: _ = try bool()
        case .null: try null()
        }
        return start..<position
    }

    // MARK: - Positions

    @inline(__always)
    mutating func skipSpace() {
        while position < bytes.count {
            let byte = bytes[position]
            guard byte <= 0x20, byte == 0x20 || byte == 0x0a || byte == 0x0d || byte == 0x09 else { return }
            position += 1
        }
    }

    public func error(_ reason: JSONError.Reason, at offset: Int? = nil) -> JSONError {
        let offset = min(offset ?? position, bytes.count)
        guard countsLines else { return JSONError(reason, offset: offset, line: 0, column: 0) }
        var line = 1
        var lineStart = 0
        for index in 0..<offset where bytes[index] == 0x0a {
            line += 1
            lineStart = index + 1
        }
        return JSONError(reason, offset: offset, line: line, column: offset - lineStart + 1)
    }

    func slice(_ range: Range<Int>) -> UnsafeBufferPointer<UInt8> { UnsafeBufferPointer(rebasing: bytes[range]) }
}

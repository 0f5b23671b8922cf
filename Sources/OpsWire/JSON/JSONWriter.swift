/// Writes JSON to a buffer, on one line and without spaces. It adds the commas itself.
public struct JSONWriter: Sendable {
    public private(set) var bytes: [UInt8] = []
    private var needsComma = false

    public init(capacity: Int = 0) { bytes.reserveCapacity(capacity) }

    /// The text so far.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    // MARK: - Structure

    public mutating func beginObject() { open(UInt8(ascii: "{")) }
    public mutating func endObject() { close(UInt8(ascii: "}")) }
    public mutating func beginArray() { open(UInt8(ascii: "[")) }
    public mutating func endArray() { close(UInt8(ascii: "]")) }

    /// Writes the key of the next value: an ASCII name without quotes and backslashes.
    mutating func key(_ key: StaticString) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        bytes.append(contentsOf: UnsafeBufferPointer(start: key.utf8Start, count: key.utf8CodeUnitCount))
        bytes.append(UInt8(ascii: "\""))
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    public mutating func key(_ key: String) {
        string(key)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Writes a key from a C string, and replaces bytes that are not UTF-8.
    public mutating func key(repairing characters: UnsafeBufferPointer<UInt8>) {
        string(repairing: characters)
        bytes.append(UInt8(ascii: ":"))
        needsComma = false
    }

    /// Ends a message, or a line of JSON Lines.
    public mutating func terminate(with byte: UInt8) {
        bytes.append(byte)
        needsComma = false
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        needsComma = false
    }

    private mutating func open(_ bracket: UInt8) {
        comma()
        bytes.append(bracket)
        needsComma = false
    }

    private mutating func close(_ bracket: UInt8) {
        bytes.append(bracket)
        needsComma = true
    }

    @inline(__always)
    private mutating func comma() {
        if needsComma { bytes.append(UInt8(ascii: ",")) }
        needsComma = true
    }

    // MARK: - Values

    public mutating func null() { word("null") }
    public mutating func bool(_ value: Bool) { word(value ? "true" : "false") }

    private mutating func word(_ word: StaticString) {
        comma()
        bytes.append(contentsOf: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    // Not generic, because a client would have to look up the operations of each integer type at run time.
    public mutating func integer(_ value: Int) { integer(Int64(value)) }
    public mutating func integer(_ value: some BinaryInteger) { integer(Int64(value)) }

    mutating func integer(_ value: Int64) {
        comma()
        if value < 0 { bytes.append(UInt8(ascii: "-")) }
        var rest = value.magnitude
        if rest < 10 {
            bytes.append(UInt8(ascii: "0") + UInt8(rest))
            return
        }
        let start = bytes.count
        while rest > 0 {
            bytes.append(UInt8(ascii: "0") + UInt8(rest % 10))
            rest /= 10
        }
        bytes[start...].reverse()
    }

    /// Writes a number; infinity and NaN, which JSON does not have, become null.
    mutating func double(_ value: Double) {
        guard value.isFinite else { return null() }
        comma()
        bytes.append(contentsOf: "\(value)".utf8)
    }

    public mutating func string(_ value: String) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        let isDone: Void? = value.utf8.withContiguousStorageIfAvailable { appendEscaped($0) }
        if isDone == nil { Array(value.utf8).withUnsafeBufferPointer { appendEscaped($0) } }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes a C string, and replaces bytes that are not UTF-8.
    public mutating func string(repairing characters: UnsafeBufferPointer<UInt8>) {
        if characters.isASCII { string(utf8: characters) } else { string(String(decoding: characters, as: UTF8.self)) }
    }

    /// Writes characters that are known to be UTF-8.
    mutating func string(utf8 characters: UnsafeBufferPointer<UInt8>) {
        comma()
        bytes.append(UInt8(ascii: "\""))
        appendEscaped(characters)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Writes a value that is already JSON. Inlined, so that no generic type is created at run time: that would cost a
    /// client more than all its other work.
    @inlinable
    public mutating func raw(_ json: some Collection<UInt8>) {
        let isDone: Void? = json.withContiguousStorageIfAvailable { raw($0) }
        if isDone == nil { Array(json).withUnsafeBufferPointer { raw($0) } }
    }

    public mutating func raw(_ json: UnsafeBufferPointer<UInt8>) {
        comma()
        bytes.append(contentsOf: json)
    }

    mutating func value(_ value: JSONValue) {
        switch value {
        case .null: null()
        case .bool(let value): bool(value)
        case .integer(let value): integer(value)
        case .double(let value): double(value)
        case .string(let value): string(value)
        case .array(let elements):
            beginArray()
            for element in elements { self.value(element) }
            endArray()
        case .object(let members):
            beginObject()
            for member in members {
                key(member.key)
                self.value(member.value)
            }
            endObject()
        }
    }

    private mutating func appendEscaped(_ characters: UnsafeBufferPointer<UInt8>) {
        var start = 0
        for index in 0..<characters.count {
            let byte = characters[index]
            guard byte < 0x20 || byte == 0x22 || byte == 0x5c else { continue }
            bytes.append(contentsOf: characters[start..<index])
            appendEscape(byte)
            start = index + 1
        }
        bytes.append(contentsOf: characters[start..<characters.count])
    }

    private mutating func appendEscape(_ byte: UInt8) {
        bytes.append(0x5c)
        switch byte {
        case 0x22, 0x5c: bytes.append(byte)
        case 0x08: bytes.append(UInt8(ascii: "b"))
        case 0x0c: bytes.append(UInt8(ascii: "f"))
        case 0x0a: bytes.append(UInt8(ascii: "n"))
        case 0x0d: bytes.append(UInt8(ascii: "r"))
        case 0x09: bytes.append(UInt8(ascii: "t"))
        default:
            bytes.append(contentsOf: "u00".utf8)
            let digits = StaticString("0123456789abcdef")
            bytes.append(digits.utf8Start[Int(byte >> 4)])
            bytes.append(digits.utf8Start[Int(byte & 15)])
        }
    }
}

extension JSONValue {
    /// Text on one line, without spaces.
    public var text: String {
        var writer = JSONWriter()
        writer.value(self)
        return writer.text
    }
}

extension UnsafeBufferPointer<UInt8> {
    /// Most texts are ASCII, and then need no other check.
    public var isASCII: Bool {
        var all: UInt8 = 0
        for byte in self { all |= byte }
        return all < 0x80
    }
}

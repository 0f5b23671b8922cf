import OpsCore

/// Encodes values as bytes that describe themselves, each at the end of those before it.
///
/// A value begins with a byte: a small number, or a tag. The entries of a keyed container are a key and a value each; a
/// key is written out once and has a number after that. So a reader can skip unknown entries.
struct RecordEncoder {
    private let sink: Sink

    /// `numbersKeys`: false makes the bytes depend on the value alone, whatever was encoded before it.
    init(numbersKeys: Bool = true) { sink = Sink(numbersKeys: numbersKeys) }

    /// Returns the bytes of a value.
    func encode(_ value: some Encodable) throws -> [UInt8] {
        sink.bytes.removeAll(keepingCapacity: sink.bytes.count < 1 << 20)
        try sink.write(value)
        return sink.bytes
    }
}

enum RecordTag {
    static let end: UInt8 = 0
    static let null: UInt8 = 1
    static let no: UInt8 = 2
    static let yes: UInt8 = 3
    static let signed: UInt8 = 4
    static let unsigned: UInt8 = 5
    static let text: UInt8 = 6
    static let keyed: UInt8 = 7
    static let list: UInt8 = 8
    /// Byte of zero. The numbers from -1 to 238 are one byte each.
    static let zero: UInt8 = 17
    static let small = -1...238
    /// First byte of an entry of a keyed container, before a key that is written out; others are numbers of keys.
    static let newKey: UInt64 = 1
    static let firstKey: UInt64 = 2
}

/// Bytes of a value that is being encoded. A container is closed as soon as the value that has opened it is complete.
private final class Sink {
    var bytes: [UInt8] = []
    private var depth = 0
    private let numbersKeys: Bool
    private var keys: [String: UInt64] = [:]

    init(numbersKeys: Bool) { self.numbersKeys = numbersKeys }

    func write<Value: Encodable>(_ value: Value) throws {
        if let value = value as? any RecordPrimitive { return value.write(to: &bytes) }
        let outside = depth
        try value.encode(to: ValueEncoder(sink: self))
        close(to: outside)
    }

    func open(_ tag: UInt8) -> Int {
        bytes.append(tag)
        depth += 1
        return depth
    }

    /// Closes the containers within the one at this depth: their values are complete.
    func close(to outside: Int) {
        while depth > outside {
            bytes.append(RecordTag.end)
            depth -= 1
        }
    }

    func write(key: String) {
        if numbersKeys, let number = keys[key] { return bytes.append(varint: number) }
        bytes.append(varint: RecordTag.newKey)
        if numbersKeys {
            let number = RecordTag.firstKey + UInt64(keys.count)
            keys[key] = number
            bytes.append(varint: number)
        }
        bytes.append(text: key)
    }
}

private struct ValueEncoder: Encoder {
    let sink: Sink
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key>(keyedBy: Key.Type) -> KeyedEncodingContainer<Key> {
        KeyedEncodingContainer(KeyedValues<Key>(sink: sink, depth: sink.open(RecordTag.keyed)))
    }
    func unkeyedContainer() -> any UnkeyedEncodingContainer {
        ListedValues(sink: sink, depth: sink.open(RecordTag.list))
    }
    func singleValueContainer() -> any SingleValueEncodingContainer { SingleValue(sink: sink) }
}

private struct KeyedValues<Key: CodingKey>: KeyedEncodingContainerProtocol {
    let sink: Sink
    let depth: Int
    var codingPath: [any CodingKey] { [] }

    private func begin(_ key: Key) {
        sink.close(to: depth)
        sink.write(key: key.stringValue)
    }

    mutating func encodeNil(forKey key: Key) {
        begin(key)
        sink.bytes.append(RecordTag.null)
    }
    mutating func encode<Value: Encodable>(_ value: Value, forKey key: Key) throws {
        begin(key)
        try sink.write(value)
    }
    mutating func nestedContainer<Inner>(keyedBy: Inner.Type, forKey key: Key) -> KeyedEncodingContainer<Inner> {
        begin(key)
        return ValueEncoder(sink: sink).container(keyedBy: keyedBy)
    }
    mutating func nestedUnkeyedContainer(forKey key: Key) -> any UnkeyedEncodingContainer {
        begin(key)
        return ValueEncoder(sink: sink).unkeyedContainer()
    }
    mutating func superEncoder() -> any Encoder { ValueEncoder(sink: sink) }
    mutating func superEncoder(forKey key: Key) -> any Encoder {
        begin(key)
        return ValueEncoder(sink: sink)
    }
}

private struct ListedValues: UnkeyedEncodingContainer {
    let sink: Sink
    let depth: Int
    private(set) var count = 0
    var codingPath: [any CodingKey] { [] }

    init(sink: Sink, depth: Int) {
        self.sink = sink
        self.depth = depth
    }

    private mutating func begin() {
        sink.close(to: depth)
        count += 1
    }

    mutating func encodeNil() {
        begin()
        sink.bytes.append(RecordTag.null)
    }
    mutating func encode<Value: Encodable>(_ value: Value) throws {
        begin()
        try sink.write(value)
    }
    mutating func nestedContainer<Inner>(keyedBy: Inner.Type) -> KeyedEncodingContainer<Inner> {
        begin()
        return ValueEncoder(sink: sink).container(keyedBy: keyedBy)
    }
    mutating func nestedUnkeyedContainer() -> any UnkeyedEncodingContainer {
        begin()
        return ValueEncoder(sink: sink).unkeyedContainer()
    }
    mutating func superEncoder() -> any Encoder {
        begin()
        return ValueEncoder(sink: sink)
    }
}

private struct SingleValue: SingleValueEncodingContainer {
    let sink: Sink
    var codingPath: [any CodingKey] { [] }
    mutating func encodeNil() { sink.bytes.append(RecordTag.null) }
    mutating func encode<Value: Encodable>(_ value: Value) throws { try sink.write(value) }
}

// MARK: Primitive values

/// A value that is written without containers.
protocol RecordPrimitive {
    func write(to bytes: inout [UInt8])
    /// Reads the value at a position; nil if it has another type.
    init?(_ bytes: [UInt8], at position: inout Int)
}

extension RecordPrimitive where Self: FixedWidthInteger {
    func write(to bytes: inout [UInt8]) {
        if let small = Int(exactly: self), RecordTag.small.contains(small) {
            bytes.append(UInt8(small + Int(RecordTag.zero)))
        } else if let signed = Int64(exactly: self) {
            bytes.append(RecordTag.signed)
            bytes.append(varint: UInt64(bitPattern: signed << 1 ^ signed >> 63))
        } else {
            bytes.append(RecordTag.unsigned)
            bytes.append(varint: UInt64(truncatingIfNeeded: self))
        }
    }

    init?(_ bytes: [UInt8], at position: inout Int) {
        let tag = bytes[position]
        position += 1
        switch tag {
        case RecordTag.signed:
            let zigzag = bytes.varint(at: &position)
            self.init(exactly: Int64(bitPattern: zigzag >> 1) ^ -Int64(bitPattern: zigzag & 1))
        case RecordTag.unsigned: self.init(exactly: bytes.varint(at: &position))
        case (RecordTag.zero - 1)...: self.init(exactly: Int(tag) - Int(RecordTag.zero))
        default: return nil
        }
    }
}

extension Int: RecordPrimitive {}
extension Int8: RecordPrimitive {}
extension Int16: RecordPrimitive {}
extension Int32: RecordPrimitive {}
extension Int64: RecordPrimitive {}
extension UInt: RecordPrimitive {}
extension UInt8: RecordPrimitive {}
extension UInt16: RecordPrimitive {}
extension UInt32: RecordPrimitive {}
extension UInt64: RecordPrimitive {}

extension RecordPrimitive where Self: NanosecondCount {
    func write(to bytes: inout [UInt8]) { nanoseconds.write(to: &bytes) }
    init?(_ bytes: [UInt8], at position: inout Int) {
        guard let count = Int64(bytes, at: &position) else { return nil }
        self.init(nanoseconds: count)
    }
}

extension TimeSpan: RecordPrimitive {}
extension WallInstant: RecordPrimitive {}
extension MonotonicInstant: RecordPrimitive {}

extension Bool: RecordPrimitive {
    func write(to bytes: inout [UInt8]) { bytes.append(self ? RecordTag.yes : RecordTag.no) }
    init?(_ bytes: [UInt8], at position: inout Int) {
        let tag = bytes[position]
        position += 1
        guard tag == RecordTag.yes || tag == RecordTag.no else { return nil }
        self = tag == RecordTag.yes
    }
}

extension String: RecordPrimitive {
    func write(to bytes: inout [UInt8]) {
        bytes.append(RecordTag.text)
        bytes.append(text: self)
    }
    init?(_ bytes: [UInt8], at position: inout Int) {
        let tag = bytes[position]
        position += 1
        guard tag == RecordTag.text else { return nil }
        self = bytes.text(at: &position)
    }
}

extension [UInt8] {
    mutating func append(varint value: UInt64) {
        var rest = value
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    mutating func append(text: String) {
        append(varint: UInt64(text.utf8.count))
        append(contentsOf: text.utf8)
    }

    /// Reads a number that is known to be complete.
    func varint(at position: inout Int) -> UInt64 {
        var (value, shift) = (UInt64(0), UInt64(0))
        while true {
            let byte = self[position]
            position += 1
            value |= UInt64(byte & 0x7F) << shift
            guard byte & 0x80 != 0 else { return value }
            shift += 7
        }
    }

    /// Reads a text that is known to be complete.
    func text(at position: inout Int) -> String {
        let count = Int(varint(at: &position))
        defer { position += count }
        return String(decoding: self[position..<position + count], as: UTF8.self)
    }
}

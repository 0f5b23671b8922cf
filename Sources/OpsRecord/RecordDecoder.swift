/// Decodes values that a `RecordEncoder` has encoded, in the same order.
final class RecordDecoder {
    private var keys: [String] = []

    /// Decodes one value. Throws `Malformed` or a `DecodingError`.
    func decode<Value: Decodable>(_: Value.Type, from bytes: [UInt8]) throws -> Value {
        var position = 0
        // After this, all values are known to be complete, and all keys to have numbers.
        try check(bytes, &position, depth: 0)
        guard position == bytes.count else { throw Malformed(position: position) }
        return try read(Value.self, bytes, at: 0)
    }

    /// The bytes are not those of an encoder.
    struct Malformed: Error, CustomStringConvertible {
        let position: Int
        var description: String { "cannot read byte \(position) of a record" }
    }

    fileprivate func read<Value: Decodable>(_: Value.Type, _ bytes: [UInt8], at position: Int) throws -> Value {
        guard let primitive = Value.self as? any RecordPrimitive.Type else {
            return try Value(from: ValueDecoder(decoder: self, bytes: bytes, position: position))
        }
        var end = position
        guard let value = primitive.init(bytes, at: &end) as? Value else { throw Malformed(position: position) }
        return value
    }

    /// Returns the key of an entry; nil at the end of the container.
    fileprivate func key(_ bytes: [UInt8], at position: inout Int) -> String? {
        var number = bytes.varint(at: &position)
        guard number != UInt64(RecordTag.end) else { return nil }
        if number == RecordTag.newKey {
            number = bytes.varint(at: &position)
            _ = bytes.text(at: &position)
        }
        return keys[Int(number - RecordTag.firstKey)]
    }

    // MARK: Passing over values

    /// Skips a value that is known to be complete.
    fileprivate func skip(_ bytes: [UInt8], _ position: inout Int) {
        let tag = bytes[position]
        position += 1
        switch tag {
        case RecordTag.signed, RecordTag.unsigned: _ = bytes.varint(at: &position)
        case RecordTag.text:
            let count = Int(bytes.varint(at: &position))
            position += count
        case RecordTag.keyed: while key(bytes, at: &position) != nil { skip(bytes, &position) }
        case RecordTag.list:
            while bytes[position] != RecordTag.end { skip(bytes, &position) }
            position += 1
        default: break
        }
    }

    /// Skips a value that may be invalid, and registers the numbers of new keys.
    private func check(_ bytes: [UInt8], _ position: inout Int, depth: Int) throws {
        guard position < bytes.count, depth < 200 else { throw Malformed(position: position) }
        let tag = bytes[position]
        position += 1
        switch tag {
        case RecordTag.null, RecordTag.no, RecordTag.yes, (RecordTag.zero - 1)...: break
        case RecordTag.signed, RecordTag.unsigned: _ = try checkedVarint(bytes, &position)
        case RecordTag.text: try checkText(bytes, &position)
        case RecordTag.keyed:
            while try checkKey(bytes, &position) { try check(bytes, &position, depth: depth + 1) }
        case RecordTag.list:
            while position < bytes.count, bytes[position] != RecordTag.end {
                try check(bytes, &position, depth: depth + 1)
            }
            guard position < bytes.count else { throw Malformed(position: position) }
            position += 1
        default: throw Malformed(position: position - 1)
        }
    }

    /// Returns false at the end of the container.
    private func checkKey(_ bytes: [UInt8], _ position: inout Int) throws -> Bool {
        var number = try checkedVarint(bytes, &position)
        guard number != UInt64(RecordTag.end) else { return false }
        if number == RecordTag.newKey {
            number = try checkedVarint(bytes, &position)
            guard number == RecordTag.firstKey + UInt64(keys.count) else { throw Malformed(position: position) }
            var start = position
            try checkText(bytes, &position)
            keys.append(bytes.text(at: &start))
        }
        guard number >= RecordTag.firstKey, number - RecordTag.firstKey < UInt64(keys.count) else {
            throw Malformed(position: position)
        }
        return true
    }

    private func checkText(_ bytes: [UInt8], _ position: inout Int) throws {
        let count = try checkedVarint(bytes, &position)
        guard count <= UInt64(bytes.count - position) else { throw Malformed(position: position) }
        position += Int(count)
    }

    private func checkedVarint(_ bytes: [UInt8], _ position: inout Int) throws -> UInt64 {
        guard let last = bytes[position...].prefix(10).firstIndex(where: { $0 & 0x80 == 0 }) else {
            throw Malformed(position: position)
        }
        guard last - position < 9 || bytes[last] <= 1 else { throw Malformed(position: position) }
        return bytes.varint(at: &position)
    }
}

private struct ValueDecoder: Decoder {
    let decoder: RecordDecoder
    let bytes: [UInt8]
    let position: Int
    var codingPath: [any CodingKey] { [] }
    var userInfo: [CodingUserInfoKey: Any] { [:] }

    func container<Key>(keyedBy: Key.Type) throws -> KeyedDecodingContainer<Key> {
        guard bytes[position] == RecordTag.keyed else { throw RecordDecoder.Malformed(position: position) }
        return KeyedDecodingContainer(KeyedValues<Key>(decoder: decoder, bytes: bytes, first: position + 1))
    }
    func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
        guard bytes[position] == RecordTag.list else { throw RecordDecoder.Malformed(position: position) }
        return ListedValues(decoder: decoder, bytes: bytes, position: position + 1)
    }
    func singleValueContainer() -> any SingleValueDecodingContainer {
        SingleValue(decoder: decoder, bytes: bytes, position: position)
    }
}

private final class KeyedValues<Key: CodingKey>: KeyedDecodingContainerProtocol {
    private let decoder: RecordDecoder
    private let bytes: [UInt8]
    private let first: Int
    /// Position of the entry after the one that was read last: values are usually read in their order.
    private var upcoming: Int
    var codingPath: [any CodingKey] { [] }

    init(decoder: RecordDecoder, bytes: [UInt8], first: Int) {
        (self.decoder, self.bytes, self.first, upcoming) = (decoder, bytes, first, first)
    }

    var allKeys: [Key] {
        var keys: [Key] = []
        var position = first
        while let name = decoder.key(bytes, at: &position) {
            if let key = Key(stringValue: name) { keys.append(key) }
            decoder.skip(bytes, &position)
        }
        return keys
    }

    /// Returns the position of a value; nil: there is none.
    private func find(_ key: Key) -> Int? {
        for start in [upcoming, first] {
            var position = start
            while let name = decoder.key(bytes, at: &position) {
                if name == key.stringValue { return position }
                decoder.skip(bytes, &position)
            }
        }
        return nil
    }

    private func value(_ key: Key) throws -> Int {
        guard let position = find(key) else {
            throw DecodingError.keyNotFound(key, .init(codingPath: [], debugDescription: "no \(key.stringValue)"))
        }
        upcoming = position
        decoder.skip(bytes, &upcoming)
        return position
    }

    func contains(_ key: Key) -> Bool { find(key) != nil }
    func decodeNil(forKey key: Key) throws -> Bool {
        guard let position = find(key) else { return true }
        return bytes[position] == RecordTag.null
    }
    func decode<Value: Decodable>(_: Value.Type, forKey key: Key) throws -> Value {
        try decoder.read(Value.self, bytes, at: try value(key))
    }
    func nestedContainer<Inner>(
        keyedBy: Inner.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Inner> {
        try ValueDecoder(decoder: decoder, bytes: bytes, position: try value(key)).container(keyedBy: keyedBy)
    }
    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
        try ValueDecoder(decoder: decoder, bytes: bytes, position: try value(key)).unkeyedContainer()
    }
    func superDecoder() -> any Decoder { ValueDecoder(decoder: decoder, bytes: bytes, position: first - 1) }
    func superDecoder(forKey key: Key) throws -> any Decoder {
        ValueDecoder(decoder: decoder, bytes: bytes, position: try value(key))
    }
}

private struct ListedValues: UnkeyedDecodingContainer {
    let decoder: RecordDecoder
    let bytes: [UInt8]
    var position: Int
    private(set) var currentIndex = 0
    var codingPath: [any CodingKey] { [] }
    var count: Int? { nil }
    var isAtEnd: Bool { bytes[position] == RecordTag.end }

    init(decoder: RecordDecoder, bytes: [UInt8], position: Int) {
        (self.decoder, self.bytes, self.position) = (decoder, bytes, position)
    }

    /// Returns the position of the next value, and moves beyond it.
    private mutating func next() throws -> Int {
        guard !isAtEnd else { throw RecordDecoder.Malformed(position: position) }
        let value = position
        decoder.skip(bytes, &position)
        currentIndex += 1
        return value
    }

    mutating func decodeNil() throws -> Bool {
        guard !isAtEnd, bytes[position] == RecordTag.null else { return false }
        _ = try next()
        return true
    }
    mutating func decode<Value: Decodable>(_: Value.Type) throws -> Value {
        try decoder.read(Value.self, bytes, at: try next())
    }
    mutating func nestedContainer<Inner>(keyedBy: Inner.Type) throws -> KeyedDecodingContainer<Inner> {
        try ValueDecoder(decoder: decoder, bytes: bytes, position: try next()).container(keyedBy: keyedBy)
    }
    mutating func nestedUnkeyedContainer() throws -> any UnkeyedDecodingContainer {
        try ValueDecoder(decoder: decoder, bytes: bytes, position: try next()).unkeyedContainer()
    }
    mutating func superDecoder() throws -> any Decoder {
        ValueDecoder(decoder: decoder, bytes: bytes, position: try next())
    }
}

private struct SingleValue: SingleValueDecodingContainer {
    let decoder: RecordDecoder
    let bytes: [UInt8]
    let position: Int
    var codingPath: [any CodingKey] { [] }
    func decodeNil() -> Bool { bytes[position] == RecordTag.null }
    func decode<Value: Decodable>(_: Value.Type) throws -> Value {
        try decoder.read(Value.self, bytes, at: position)
    }
}

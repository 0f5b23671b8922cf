/// Encoder of the protocol: little-endian numbers; texts and lists after their count; records after their length.
///
/// A record is a structure that may get more fields. Its length lets an older reader skip fields that it does not know.
/// Programs before version 4 know no such lengths: for them records are packed without, and only with the fields of
/// version 3.
public struct Packer {
    public var bytes: [UInt8] = []
    public let recordsHaveLengths: Bool

    public init(bytes: [UInt8] = [], recordsHaveLengths: Bool) {
        self.bytes = bytes
        self.recordsHaveLengths = recordsHaveLengths
    }

    public mutating func pack<Number: FixedWidthInteger>(_ number: Number) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    public mutating func pack(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    public mutating func packRecord(_ fields: (inout Packer) -> Void) {
        guard recordsHaveLengths else { return fields(&self) }
        let start = bytes.count
        pack(UInt32(0))
        fields(&self)
        setLength(at: start)
    }

    /// Stores the number of bytes that follow the four at `start` in these.
    public mutating func setLength(at start: Int) {
        let length = UInt32(bytes.count - start - 4)
        for index in 0..<4 { bytes[start + index] = UInt8(truncatingIfNeeded: length >> (index * 8)) }
    }

    public mutating func pack(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            pack(UInt32(utf8.count))
            bytes.append(contentsOf: utf8)
        }
    }

    public mutating func pack<Value>(_ value: Value?, _ packValue: (inout Packer, Value) -> Void) {
        pack(value != nil)
        if let value { packValue(&self, value) }
    }

    public mutating func pack<Value>(_ values: [Value], _ packValue: (inout Packer, Value) -> Void) {
        pack(UInt32(values.count))
        for value in values { packValue(&self, value) }
    }
}

/// Decoder for bytes of a `Packer`, within the bounds of one frame.
public struct Unpacker {
    public var rest: ArraySlice<UInt8>
    public let recordsHaveLengths: Bool

    public init(_ bytes: ArraySlice<UInt8>, recordsHaveLengths: Bool) {
        rest = bytes
        self.recordsHaveLengths = recordsHaveLengths
    }

    /// Reads a record, and skips fields that `unpack` does not read.
    public mutating func record<Value>(
        _ unpack: (inout Unpacker) throws(ProtocolError) -> Value
    ) throws(ProtocolError) -> Value {
        guard recordsHaveLengths else { return try unpack(&self) }
        var fields = Unpacker(try slice(), recordsHaveLengths: true)
        return try unpack(&fields)
    }

    /// True if no bytes of the frame or record are left: the sender is older than the fields that would follow.
    public var isAtEnd: Bool { rest.isEmpty }
    public var remaining: Int { rest.count }

    public mutating func number<Number: FixedWidthInteger>(
        _ type: Number.Type = Number.self
    ) throws(ProtocolError) -> Number {
        let width = Number.bitWidth / 8
        guard rest.count >= width else { throw .truncated }
        let number = rest.withUnsafeBytes { $0.loadUnaligned(as: Number.self) }
        rest = rest.dropFirst(width)
        return Number(littleEndian: number)
    }

    public mutating func flag() throws(ProtocolError) -> Bool {
        switch try number(UInt8.self) {
        case 0: return false
        case 1: return true
        case let other: throw .badValue("flag \(other)")
        }
    }

    public mutating func text() throws(ProtocolError) -> String { String(decoding: try slice(), as: UTF8.self) }

    /// Returns the bytes of a text or of a record.
    public mutating func slice() throws(ProtocolError) -> ArraySlice<UInt8> {
        let count = Int(try number(UInt32.self))
        guard rest.count >= count else { throw .truncated }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    public mutating func optional<Value>(
        _ unpack: (inout Unpacker) throws(ProtocolError) -> Value
    ) throws(ProtocolError) -> Value? {
        try flag() ? try unpack(&self) : nil
    }

    public mutating func records<Value>(
        _ unpack: (inout Unpacker) throws(ProtocolError) -> Value
    ) throws(ProtocolError) -> [Value] {
        try list { (from: inout Unpacker) throws(ProtocolError) in try from.record(unpack) }
    }

    public mutating func list<Value>(
        _ unpack: (inout Unpacker) throws(ProtocolError) -> Value
    ) throws(ProtocolError) -> [Value] {
        let count = Int(try number(UInt32.self))
        // Every value takes at least one byte. A larger count is invalid and must not reserve memory.
        guard count <= rest.count else { throw .truncated }
        var values: [Value] = []
        values.reserveCapacity(count)
        for _ in 0..<count { values.append(try unpack(&self)) }
        return values
    }
}

/// Encoder of the protocol: little-endian numbers; texts and lists after their count.
struct Packer {
    var bytes: [UInt8] = []

    mutating func pack<Number: FixedWidthInteger>(_ number: Number) {
        withUnsafeBytes(of: number.littleEndian) { bytes.append(contentsOf: $0) }
    }

    mutating func pack(_ flag: Bool) { bytes.append(flag ? 1 : 0) }

    mutating func pack(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in
            pack(UInt32(utf8.count))
            bytes.append(contentsOf: utf8)
        }
    }

    mutating func pack<Value>(_ value: Value?, _ packValue: (inout Packer, Value) -> Void) {
        pack(value != nil)
        if let value { packValue(&self, value) }
    }

    mutating func pack<Value>(_ values: [Value], _ packValue: (inout Packer, Value) -> Void) {
        pack(UInt32(values.count))
        for value in values { packValue(&self, value) }
    }
}

/// Decoder for bytes of a `Packer`, within the bounds of one frame.
struct Unpacker {
    var rest: ArraySlice<UInt8>

    init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

    /// Whether no bytes are left: the sender is older than the fields that would follow.
    var isAtEnd: Bool { rest.isEmpty }
    var remaining: Int { rest.count }

    mutating func number<Number: FixedWidthInteger>(
        _ type: Number.Type = Number.self
    ) throws(ProtocolError) -> Number {
        let width = Number.bitWidth / 8
        guard rest.count >= width else { throw .truncated }
        let number = rest.withUnsafeBytes { $0.loadUnaligned(as: Number.self) }
        rest = rest.dropFirst(width)
        return Number(littleEndian: number)
    }

    mutating func flag() throws(ProtocolError) -> Bool {
        switch try number(UInt8.self) {
        case 0: return false
        case 1: return true
        case let other: throw .badValue("flag \(other)")
        }
    }

    mutating func text() throws(ProtocolError) -> String { String(decoding: try slice(), as: UTF8.self) }

    /// Returns the bytes of a text.
    mutating func slice() throws(ProtocolError) -> ArraySlice<UInt8> {
        let count = Int(try number(UInt32.self))
        guard rest.count >= count else { throw .truncated }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count)
    }

    mutating func optional<Value>(
        _ unpack: (inout Unpacker) throws(ProtocolError) -> Value
    ) throws(ProtocolError) -> Value? {
        try flag() ? try unpack(&self) : nil
    }

    mutating func list<Value>(
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

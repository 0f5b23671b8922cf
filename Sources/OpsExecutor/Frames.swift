/// Message of the launch protocol, in either direction.
public protocol LaunchMessage: Sendable {
    /// Kind of the message, the first byte of a frame.
    var kind: UInt8 { get }
    /// Appends the frame of this message to the bytes of earlier ones, which go out in one write. `version`: of the
    /// receiver; 0: not known yet.
    func append(to bytes: inout [UInt8], for version: UInt16)
    init(kind: UInt8, fields: ArraySlice<UInt8>, recordsHaveLengths: Bool) throws(ProtocolError)
}

/// Reader that divides received bytes into messages, however they were split on the way.
public struct FrameReader<Message: LaunchMessage> {
    private var buffer: [UInt8] = []
    private var start = 0

    public init() {}

    /// Number of bytes of an incomplete frame.
    public var buffered: Int { buffer.count - start }

    public mutating func append(_ bytes: some Sequence<UInt8>) {
        // Bytes that were read are dropped only when they are most of the buffer, so that each byte moves at most once.
        if start > buffer.count / 2 {
            buffer.removeFirst(start)
            start = 0
        }
        buffer.append(contentsOf: bytes)
    }

    /// Returns the next message; `nil`: it is not complete yet.
    public mutating func next() throws(ProtocolError) -> Message? {
        guard buffered >= 4 else { return nil }
        var header = Unpacker(buffer[start...], recordsHaveLengths: false)
        let length = Int(try header.number(UInt32.self))
        guard length <= LaunchProtocol.frameLimit else { throw .tooLarge(length) }
        guard length >= 1 else { throw .truncated }
        guard buffered >= 4 + length else { return nil }
        let body = buffer[(start + 4)..<(start + 4 + length)]
        start += 4 + length
        guard let kind = body.first else { throw .truncated }
        let mark = LaunchProtocol.recordLengthMark
        return try Message(kind: kind & ~mark, fields: body.dropFirst(), recordsHaveLengths: kind & mark != 0)
    }
}

extension LaunchMessage {
    /// Appends the frame as `append` does, unless it is too long for the other side. Returns whether it was appended.
    public func appendIfItFits(to bytes: inout [UInt8], for version: UInt16) -> Bool {
        let start = bytes.count
        append(to: &bytes, for: version)
        if bytes.count - start - 4 <= LaunchProtocol.frameLimit { return true }
        bytes.removeSubrange(start...)
        return false
    }
}

extension Packer {
    /// Appends a frame with the fields that `fields` packs.
    public static func frame(
        kind: UInt8, onto bytes: inout [UInt8], for version: UInt16, _ fields: (inout Packer) -> Void
    ) {
        let start = bytes.count
        let recordsHaveLengths = version >= LaunchProtocol.versionWithRecordLengths
        var packer = Packer(bytes: bytes, recordsHaveLengths: recordsHaveLengths)
        // One buffer for all messages: it must not be copied while the packer fills it.
        bytes = []
        packer.pack(UInt32(0))
        packer.pack(recordsHaveLengths ? kind | LaunchProtocol.recordLengthMark : kind)
        fields(&packer)
        packer.setLength(at: start)
        bytes = packer.bytes
    }
}

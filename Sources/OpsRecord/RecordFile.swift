internal import OpsCore

/// Encodes one file of a record: a line that names the format and the release of opsd, then frames. The first frame is the
/// beginning, each of the others is a turn. A frame is its length and its checksum, four bytes each, and its content.
public struct RecordFile {
    private let encoder = RecordEncoder()

    public init() {}

    public static func header(release: String) -> [UInt8] { Array("\(Self.format) \(release)\n".utf8) }

    public func frame(_ beginning: RecordBeginning) throws -> [UInt8] {
        try Self.frame(encoder.encode(beginning))
    }

    /// Returns the frame of a turn. Frames of one file must be made in the order in which they are written.
    public func frame(_ turn: CompletedTurn, number: Int64) throws -> [UInt8] {
        let recorded = RecordedTurn(
            number: number, inputs: turn.inputs, end: turn.end, digest: try TurnDigest(turn))
        return try Self.frame(encoder.encode(recorded))
    }

    private static func frame(_ content: [UInt8]) throws(RecordError) -> [UInt8] {
        guard let length = UInt32(exactly: content.count) else { throw .tooLarge }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(headBytes + content.count)
        for word in [length, fnv(content)] {
            for shift in stride(from: UInt32(0), to: 32, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        return bytes + content
    }

    static let format = "opsd-record 1"
    static let headBytes = 8
}

/// A reason why a record cannot be made or read.
public enum RecordError: Error, Equatable, CustomStringConvertible {
    case notARecord
    /// The record was made by another release of opsd, or is damaged: the release and the cause.
    case unreadable(release: String, cause: String)
    case noBeginning
    case damaged(atByte: Int)
    case tooLarge

    public var description: String {
        switch self {
        case .notARecord: "this is not a record of opsd"
        case .unreadable(let release, let cause):
            "opsd \(release) wrote this record, and this program cannot read it (\(cause)): build that version"
        case .noBeginning: "the record ends before its first turn"
        case .damaged(let byte): "the record is damaged at byte \(byte)"
        case .tooLarge: "a turn is larger than 4 GiB"
        }
    }
}

/// Reads one file of a record. An incomplete frame at the end, which a crash may leave, is ignored.
public struct RecordReader {
    public let release: String
    public let beginning: RecordBeginning
    /// Bytes of the incomplete frame at the end, once all turns have been read.
    public private(set) var tornBytes = 0
    private let bytes: [UInt8]
    private var position: Int
    private let decoder = RecordDecoder()

    public init(_ bytes: [UInt8]) throws(RecordError) {
        let name = Array(RecordFile.format.utf8) + [UInt8(ascii: " ")]
        guard bytes.starts(with: name), let end = bytes.prefix(name.count + 100).firstIndex(of: UInt8(ascii: "\n"))
        else { throw .notARecord }
        release = String(decoding: bytes[name.count..<end], as: UTF8.self)
        var position = end + 1
        guard let content = try Self.nextContent(bytes, &position) else { throw .noBeginning }
        beginning = try Self.decode(RecordBeginning.self, content, decoder, release)
        self.bytes = bytes
        self.position = position
    }

    /// Returns the next turn; nil after the last complete one.
    public mutating func next() throws(RecordError) -> RecordedTurn? {
        guard let content = try Self.nextContent(bytes, &position) else {
            tornBytes = bytes.count - position
            return nil
        }
        return try Self.decode(RecordedTurn.self, content, decoder, release)
    }

    private static func decode<Value: Decodable>(
        _: Value.Type, _ content: [UInt8], _ decoder: RecordDecoder, _ release: String
    ) throws(RecordError) -> Value {
        do {
            return try decoder.decode(Value.self, from: content)
        } catch {
            throw .unreadable(release: release, cause: "\(error)")
        }
    }

    /// Returns the content of the frame at a position, and moves beyond it; nil if no complete frame is left.
    private static func nextContent(_ bytes: [UInt8], _ position: inout Int) throws(RecordError) -> [UInt8]? {
        let start = position + RecordFile.headBytes
        guard start <= bytes.count else { return nil }
        let length = Int(word(bytes, at: position))
        guard length <= bytes.count - start else { return nil }
        let content = Array(bytes[start..<start + length])
        guard fnv(content) == word(bytes, at: position + 4) else {
            // Blocks at the end that never reached the disk are zeros.
            if bytes[(start + length)...].allSatisfy({ $0 == 0 }) { return nil }
            throw .damaged(atByte: position)
        }
        position = start + length
        return content
    }

    private static func word(_ bytes: [UInt8], at position: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[position + $1]) << UInt32(8 * $1) }
    }
}

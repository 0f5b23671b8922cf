public import OpsModel

/// Facts about attempts one after another, as bytes that grow at their end. Each entry is a line `@12.1 KIND LENGTH`, that many
/// bytes, and a line `.`.
public struct RecordEntries {
    /// Facts about one attempt: the last one of each kind counts.
    public struct Facts: Hashable, Sendable {
        public var record: JobRecord?
        /// Launch as a frame of the protocol.
        public var launch: [UInt8]?
        public init() {}
    }

    public private(set) var facts: [AttemptID: Facts] = [:]

    /// Most bytes of the first line of an entry.
    private static let longestHeader = 100

    private enum Kind: String {
        case record, launch
        /// The attempt was removed.
        case gone
    }

    public static func bytes(_ attempt: AttemptID, record: JobRecord) -> [UInt8] {
        bytes(attempt, .record, record.bytes)
    }

    public static func bytes(_ attempt: AttemptID, launch: [UInt8]) -> [UInt8] { bytes(attempt, .launch, launch) }

    public static func bytes(gone attempt: AttemptID) -> [UInt8] { bytes(attempt, .gone, []) }

    private static func bytes(_ attempt: AttemptID, _ kind: Kind, _ content: [UInt8]) -> [UInt8] {
        Array("@\(attempt.spoolName) \(kind.rawValue) \(content.count)\n".utf8) + content + Array(".\n".utf8)
    }

    public init() {}

    /// Reads entries up to the first one that is not complete: the machine may have stopped while it was written.
    public init(_ bytes: [UInt8]) { _ = add(bytes) }

    /// Reads entries up to the first one that is not complete, and returns the number of bytes before that one.
    public mutating func add(_ bytes: [UInt8]) -> Int {
        var rest = bytes[...]
        while let next = Self.entry(rest) {
            switch next.kind {
            case .record: facts[next.attempt, default: Facts()].record = JobRecord(Array(next.content))
            case .launch: facts[next.attempt, default: Facts()].launch = Array(next.content)
            case .gone: facts[next.attempt] = nil
            }
            rest = rest[(next.content.endIndex + 2)...]
        }
        return rest.startIndex
    }

    private static func entry(
        _ bytes: ArraySlice<UInt8>
    ) -> (attempt: AttemptID, kind: Kind, content: ArraySlice<UInt8>)? {
        guard let end = bytes.prefix(longestHeader).firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let words = bytes[..<end].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
        guard words.count == 3, words[0].first == "@", let attempt = AttemptID(spoolName: words[0].dropFirst()),
            let kind = Kind(rawValue: words[1]), let count = Int(words[2]), count >= 0,
            count <= bytes.endIndex - end - 3
        else { return nil }
        let content = bytes[(end + 1)..<(end + 1 + count)]
        let mark = bytes[content.endIndex..<(content.endIndex + 2)]
        return mark.elementsEqual(".\n".utf8) ? (attempt, kind, content) : nil
    }
}

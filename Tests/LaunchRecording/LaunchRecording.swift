/// A recorded conversation of opsd and opsd-runner, so that tests can talk to each of them like an older version.
///
/// `version-3.txt` was recorded with opsd-runner of commit c7d5d31, the last one with version 3, and is never changed.
/// Before `LaunchProtocol.version` is changed, the current version is recorded:
///
///     OPSD_RECORD=Tests/LaunchRecording/version-N.txt swift test --filter LaunchConversationTests
public struct LaunchRecording: Sendable {
    public enum Kind: String, Sendable {
        case command = ">"
        case report = "<"
        /// A single message, which is not part of the conversation.
        case sampleCommand = ">>"
        case sampleReport = "<<"
    }

    public struct Frame: Sendable {
        public var kind: Kind
        public var bytes: [UInt8]
    }

    public var frames: [Frame]

    /// Conversation in version 3, whose records have no lengths.
    public static let version3 = LaunchRecording(text: String(decoding: PackageResources.version_3_txt, as: UTF8.self))

    public init(text: String) {
        frames = text.split(separator: "\n").compactMap { line in
            let words = line.split(separator: " ")
            guard words.count == 2, let kind = Kind(rawValue: String(words[0])) else { return nil }
            return Frame(kind: kind, bytes: Self.bytes(hexadecimal: words[1]))
        }
    }

    /// Returns the bytes of all frames of a kind, in their order.
    public func bytes(_ kind: Kind) -> [UInt8] { frames.filter { $0.kind == kind }.flatMap(\.bytes) }

    /// Returns a line of a recording.
    public static func line(_ kind: Kind, _ frame: some Sequence<UInt8>) -> String {
        let digits = frame.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return "\(kind.rawValue) \(digits)"
    }

    private static func bytes(hexadecimal digits: Substring) -> [UInt8] {
        let digits = Array(digits)
        return stride(from: 0, to: digits.count - 1, by: 2).compactMap { UInt8(String(digits[$0...$0 + 1]), radix: 16) }
    }

    /// Splits a stream into whole frames.
    public static func frames(_ stream: [UInt8]) -> [[UInt8]] {
        var rest = stream[...]
        var frames: [[UInt8]] = []
        while rest.count >= 4 {
            let length = rest.prefix(4).reversed().reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= 4 + length else { break }
            frames.append(Array(rest.prefix(4 + length)))
            rest = rest.dropFirst(4 + length)
        }
        return frames
    }
}

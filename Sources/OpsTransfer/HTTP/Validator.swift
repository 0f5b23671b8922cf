/// The server's name for one exact version of a file.
enum Validator: Hashable, Sendable {
    /// A strong entity tag, with its quotes.
    case etag(String)
    /// The Last-Modified date of a server that gives no entity tag, as it was written.
    case modified(String)

    /// Smallest number of seconds between Last-Modified and Date: a file that was changed twice within one tick of the
    /// server's clock has the same date twice (RFC 9110, section 8.8.2.2).
    static let settled: Int64 = 60

    /// Reads the strong validator of a response; nil if there is none. With any entity tag, even a weak one, the date
    /// must not be used (RFC 9110, section 13.1.5).
    init?(_ head: ResponseHead) {
        let tags = head.values(of: .etag)
        if !tags.isEmpty {
            guard tags.count == 1, Validator.isStrong(tags[0]) else { return nil }
            self = .etag(tags[0])
            return
        }
        guard let modified = head.value(of: .lastModified), modified.utf8.count <= 64,
            let changed = HTTPDate.seconds(modified),
            let answered = head.value(of: .date).flatMap(HTTPDate.seconds), answered - changed >= Validator.settled
        else { return nil }
        self = .modified(modified)
    }

    private static func isStrong(_ tag: String) -> Bool {
        let bytes = Array(tag.utf8)
        guard (2...1024).contains(bytes.count), bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"")
        else { return false }
        return bytes.dropFirst().dropLast().allSatisfy { $0 > 0x20 && $0 != UInt8(ascii: "\"") && $0 != 0x7F }
    }

    /// The value for the header If-Range.
    var text: String {
        switch self {
        case .etag(let text), .modified(let text): text
        }
    }

    /// Returns true if a response has exactly this validator. A date that was old enough once remains so.
    func matches(_ head: ResponseHead) -> Bool {
        switch self {
        case .etag(let tag): head.value(of: .etag) == tag
        case .modified(let date): head.values(of: .etag).isEmpty && head.value(of: .lastModified) == date
        }
    }
}

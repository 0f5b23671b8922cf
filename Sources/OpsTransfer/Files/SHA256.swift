internal import COpsTransfer

/// A SHA-256 checksum, as 64 hexadecimal digits in lower case.
public struct Checksum: Hashable, Sendable, CustomStringConvertible {
    public let description: String

    /// Nil for anything but 64 hexadecimal digits.
    public init?(_ text: String) {
        let lower = text.lowercased()
        guard lower.utf8.count == 64,
            lower.utf8.allSatisfy({ (0x30...0x39).contains($0) || (0x61...0x66).contains($0) })
        else { return nil }
        description = lower
    }

    fileprivate init(digest: [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        description = String(
            decoding: digest.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}

/// A SHA-256 that is being computed.
struct SHA256 {
    private var state = ops_sha256()

    init() { unsafe ops_sha256_begin(&state) }

    mutating func add(_ bytes: [UInt8]) { unsafe ops_sha256_add(&state, bytes, bytes.count) }

    mutating func end() -> Checksum {
        var digest = [UInt8](repeating: 0, count: 32)
        unsafe ops_sha256_end(&state, &digest)
        return Checksum(digest: digest)
    }

    static func digest(of bytes: [UInt8]) -> Checksum {
        var digest = SHA256()
        digest.add(bytes)
        return digest.end()
    }
}

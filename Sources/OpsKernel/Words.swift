/// Texts as C wants them: each followed by a NUL, all in one block. So an environment goes from hand to hand as one
/// piece instead of a piece a variable.
public struct Words: Hashable, Sendable {
    /// Ends with a NUL, or is empty.
    public private(set) var bytes: [UInt8] = []
    public private(set) var count = 0

    public init() {}

    public init(_ texts: some Sequence<String>) {
        for text in texts { append(text) }
    }

    public mutating func reserve(_ size: Int) { bytes.reserveCapacity(size) }

    /// A text ends at its first NUL, as it would for C.
    public mutating func append(_ text: String) {
        bytes.append(contentsOf: text.utf8.prefix { $0 != 0 })
        close()
    }

    public mutating func append(_ text: ArraySlice<UInt8>) {
        bytes.append(contentsOf: text.prefix { $0 != 0 })
        close()
    }

    private mutating func close() {
        bytes.append(0)
        count += 1
    }

    public static func += (words: inout Words, more: Words) {
        words.bytes += more.bytes
        words.count += more.count
    }

    /// Each word without its NUL.
    public var slices: some Sequence<ArraySlice<UInt8>> {
        bytes.dropLast().split(separator: 0, omittingEmptySubsequences: false).prefix(count)
    }
}

extension Words: ExpressibleByArrayLiteral {
    public init(arrayLiteral texts: String...) { self.init(texts) }
}

internal import Glibc

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
        var text = text
        text.withUTF8 { utf8 in unsafe append(UnsafeRawBufferPointer(utf8)) }
    }

    public mutating func append(_ text: UnsafeRawBufferPointer) {
        let word = unsafe text.firstWord
        unsafe bytes.append(contentsOf: word)
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

    /// Of words like NAME=value: the first value of that name.
    public func value(of name: String) -> String? {
        let start = Array((name + "=").utf8)
        var value: String?
        unsafe visit { word in
            if value == nil, unsafe word.starts(with: start) {
                value = unsafe String(decoding: word.dropFirst(start.count), as: UTF8.self)
            }
        }
        return value
    }

    /// Calls with each word, without its NUL.
    public func visit(_ body: (UnsafeRawBufferPointer) -> Void) {
        unsafe bytes.withUnsafeBytes { bytes in
            var rest = unsafe bytes
            while unsafe !rest.isEmpty {
                let word = unsafe rest.firstWord
                unsafe body(word)
                unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(word.count + 1))
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Up to its first NUL, or all of it.
    fileprivate var firstWord: UnsafeRawBufferPointer {
        guard let start = baseAddress, let end = unsafe memchr(start, 0, count) else { return unsafe self }
        return unsafe UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(end) - start)
    }
}

extension Words: ExpressibleByArrayLiteral {
    public init(arrayLiteral texts: String...) { self.init(texts) }
}

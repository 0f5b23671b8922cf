internal import Glibc

/// Array of C strings in one block of memory, each followed by a NUL. So an environment is passed on as one value, not as
/// one for each variable.
public struct CStringArray: Hashable, Sendable {
    /// All strings, each with its NUL.
    public private(set) var bytes: [UInt8] = []
    public private(set) var count = 0

    public init() {}

    public init(_ texts: some Sequence<String>) {
        for text in texts { append(text) }
    }

    public mutating func reserve(_ size: Int) { bytes.reserveCapacity(size) }

    /// Appends a string, up to its first NUL.
    public mutating func append(_ text: String) {
        var text = text
        text.withUTF8 { utf8 in unsafe append(UnsafeRawBufferPointer(utf8)) }
    }

    public mutating func append(_ text: UnsafeRawBufferPointer) {
        let word = unsafe text.firstString
        unsafe bytes.append(contentsOf: word)
        close()
    }

    private mutating func close() {
        bytes.append(0)
        count += 1
    }

    public static func += (words: inout CStringArray, more: CStringArray) {
        words.bytes += more.bytes
        words.count += more.count
    }

    /// Returns the first value of a name, in an array of `NAME=value`.
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

    /// Calls `body` with each string, without its NUL.
    public func visit(_ body: (UnsafeRawBufferPointer) -> Void) {
        unsafe bytes.withUnsafeBytes { bytes in
            var rest = unsafe bytes
            while unsafe !rest.isEmpty {
                let word = unsafe rest.firstString
                unsafe body(word)
                unsafe rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(word.count + 1))
            }
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Bytes up to the first NUL, or all bytes.
    fileprivate var firstString: UnsafeRawBufferPointer {
        guard let start = baseAddress, let end = unsafe memchr(start, 0, count) else { return unsafe self }
        return unsafe UnsafeRawBufferPointer(start: start, count: UnsafeRawPointer(end) - start)
    }
}

extension CStringArray: ExpressibleByArrayLiteral {
    public init(arrayLiteral texts: String...) { self.init(texts) }
}

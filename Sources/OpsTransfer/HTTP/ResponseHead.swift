/// The status and the relevant headers of one response.
struct ResponseHead: Hashable, Sendable {
    enum Name: String, CaseIterable, Hashable, Sendable {
        case etag
        case date
        case location
        case lastModified = "last-modified"
        case contentLength = "content-length"
        case contentRange = "content-range"
        case contentEncoding = "content-encoding"
        case transferEncoding = "transfer-encoding"
        case retryAfter = "retry-after"
    }

    /// Maximum size of all headers and trailers of a response together.
    static let limit = 65_536

    var status = 0
    private var fields: [(name: Name, value: String)] = []
    private var size = 0
    /// True if the headers and trailers are larger than `limit`.
    private(set) var isTooLarge = false
    /// True after the empty line that ends the headers.
    private(set) var isComplete = false

    init() {}

    /// Reads a complete response from its lines.
    init(lines: [String]) {
        for line in lines { add(line) }
    }

    static func == (a: ResponseHead, b: ResponseHead) -> Bool {
        a.status == b.status && a.fields.elementsEqual(b.fields) { $0 == $1 }
    }

    func hash(into hasher: inout Hasher) { hasher.combine(status) }

    func values(of name: Name) -> [String] { fields.lazy.filter { $0.name == name }.map(\.value) }

    /// Returns the value of a header that occurs exactly once.
    func value(of name: Name) -> String? {
        let all = values(of: name)
        return all.count == 1 ? all[0] : nil
    }

    /// Adds a line with or without its end. A status line begins a new response: those before it were interim.
    mutating func add(_ line: String) {
        var line = line
        line.withUTF8 { unsafe add(UnsafeRawBufferPointer($0)) }
    }

    mutating func add(_ line: UnsafeRawBufferPointer) {
        size += line.count
        guard size <= ResponseHead.limit else {
            isTooLarge = true
            return
        }
        let line = unsafe line.trimmed
        if unsafe line.isEmpty {
            isComplete = status >= 200
        } else if unsafe line.starts(with: "HTTP/".utf8) {
            let size = self.size
            self = ResponseHead()
            self.size = size
            let words = unsafe String(decoding: line, as: UTF8.self).split(separator: " ")
            status = words.dropFirst().first.flatMap { Int($0) } ?? 0
        } else if let colon = unsafe line.firstIndex(of: UInt8(ascii: ":")),
            let name = unsafe Name(bytes: line[..<colon])
        {
            let value = unsafe UnsafeRawBufferPointer(rebasing: line[(colon + 1)...]).trimmed
            fields.append((name, unsafe String(decoding: value, as: UTF8.self)))
        }
    }

    /// Counts the bytes of a trailer, which has no other effect.
    mutating func addTrailer(byteCount: Int) {
        size += byteCount
        if size > ResponseHead.limit { isTooLarge = true }
    }
}

extension ResponseHead.Name {
    private static let all = allCases.map { ($0, Array($0.rawValue.utf8)) }

    /// Nil for a header that does not matter. Upper and lower case are the same.
    fileprivate init?(bytes: Slice<UnsafeRawBufferPointer>) {
        for (name, text) in Self.all where unsafe text.count == bytes.count {
            let isSame = unsafe zip(text, bytes).allSatisfy { letter, byte in
                byte == letter || (0x41...0x5A).contains(byte) && byte | 0x20 == letter
            }
            if isSame {
                self = name
                return
            }
        }
        return nil
    }
}

extension UnsafeRawBufferPointer {
    /// The bytes without the spaces, tabs and line ends around them.
    fileprivate var trimmed: UnsafeRawBufferPointer {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D || byte == 0x0A }
        var (start, end) = (0, count)
        while unsafe start < end && isBlank(self[start]) { start += 1 }
        while unsafe start < end && isBlank(self[end - 1]) { end -= 1 }
        return unsafe UnsafeRawBufferPointer(rebasing: self[start..<end])
    }
}

extension StringProtocol {
    /// The text without the spaces, tabs and line ends around it.
    var trimmed: String {
        let blank: Set<UInt8> = [0x20, 0x09, 0x0D, 0x0A]
        let bytes = utf8.drop { blank.contains($0) }
        let kept = bytes.reversed().drop { blank.contains($0) }
        return String(decoding: Array(kept.reversed()), as: UTF8.self)
    }
}

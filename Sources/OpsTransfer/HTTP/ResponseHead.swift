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

    /// Maximum size of all headers of a response together.
    static let limit = 65_536

    var status = 0
    private var fields: [(name: Name, value: String)] = []
    private var size = 0
    /// True if the headers are larger than `limit`.
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
        size += line.utf8.count
        guard size <= ResponseHead.limit else {
            isTooLarge = true
            return
        }
        let line = line.trimmed
        if line.hasPrefix("HTTP/") {
            let size = self.size
            self = ResponseHead()
            self.size = size
            status = line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        } else if line.isEmpty {
            isComplete = status >= 200
        } else if let colon = line.firstIndex(of: ":") {
            guard let name = Name(rawValue: line[..<colon].lowercased()) else { return }
            fields.append((name, line[line.index(after: colon)...].trimmed))
        }
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

/// The header Content-Range of a partial response: `bytes 500-999/1000`.
struct ContentRange: Hashable, Sendable {
    var first: Int64
    var last: Int64
    /// Nil where the server does not know (`*`).
    var total: Int64?

    /// Nil for any other unit than bytes, and for a range that is none or whose length is not an Int64.
    init?(_ text: String) {
        let words = text.split(separator: " ", omittingEmptySubsequences: true)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = ByteCount.parse(ends[0]), let last = ByteCount.parse(ends[1]),
            first <= last, last < .max
        else { return nil }
        self.first = first
        self.last = last
        if halves[1] != "*" {
            guard let total = ByteCount.parse(halves[1]), last < total else { return nil }
            self.total = total
        }
    }
}

enum ByteCount {
    /// Reads a number of digits only: no sign, no space.
    static func parse(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text)
    }
}

internal import OpsWire

/// One value inside the text of a graph file, which is read only when it is needed.
///
/// The text has been checked, so reading causes no errors: a value of an unexpected kind counts as absent.
struct JSONView {
    let bytes: [UInt8]
    let range: Range<Int>

    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        self.range = range
    }

    private var first: UInt8 { range.isEmpty ? 0 : bytes[range.lowerBound] }
    var isNull: Bool { first == UInt8(ascii: "n") }
    var isObject: Bool { first == UInt8(ascii: "{") }
    var isArray: Bool { first == UInt8(ascii: "[") }

    /// Text of the value as in the file.
    var source: String { String(decoding: bytes[range], as: UTF8.self) }

    private func within(_ inner: Range<Int>) -> JSONView {
        JSONView(bytes, range.lowerBound + inner.lowerBound..<range.lowerBound + inner.upperBound)
    }

    /// Returns nil if the text is not as `body` expects.
    private func read<Result>(_ body: (inout JSONScanner) throws(JSONError) -> Result?) -> Result? {
        // Counts as absent, as described above.
        do { return try scan(bytes[range], body) } catch { return nil }
    }

    var members: [(key: String, value: JSONView)] {
        read { (scanner) throws(JSONError) in
            var members: [(key: String, value: JSONView)] = []
            try scanner.beginObject()
            while let text = try scanner.nextMember() {
                let key = scanner.string(text)
                members.append((key, within(try scanner.skip())))
            }
            return members
        } ?? []
    }

    var elements: [JSONView] {
        guard isArray else { return [] }
        return read { (scanner) throws(JSONError) in
            var elements: [JSONView] = []
            try scanner.beginArray()
            while try scanner.nextElement() { elements.append(within(try scanner.skip())) }
            return elements
        } ?? []
    }

    var text: String? {
        guard first == UInt8(ascii: "\"") else { return nil }
        return read { (scanner) throws(JSONError) in try scanner.string() }
    }
}

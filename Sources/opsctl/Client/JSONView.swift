internal import OpsWire

/// One value inside the text of a graph file, read where it lies and only when asked.
///
/// The text has been checked, so readers here meet no errors: a value of another kind reads as absent.
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

    /// The text of the value as it stands in the file.
    var source: String { String(decoding: bytes[range], as: UTF8.self) }

    private func within(_ inner: Range<Int>) -> JSONView {
        JSONView(bytes, range.lowerBound + inner.lowerBound..<range.lowerBound + inner.upperBound)
    }

    /// Nil where the text is not what `body` expects.
    private func read<Result>(_ body: (inout JSONScanner) throws(JSONError) -> Result?) -> Result? {
        // Absent, as said above.
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

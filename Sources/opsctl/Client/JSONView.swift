internal import OpsWire

/// One value inside JSON text, read where it lies and only when asked.
///
/// The text was checked when it came, so readers here meet no errors: what is of another kind reads as absent.
struct JSONView {
    let bytes: [UInt8]
    let range: Range<Int>

    /// Reads and checks a whole text.
    init(_ bytes: [UInt8]) throws(JSONError) {
        let range = try scan(bytes) { (scanner) throws(JSONError) in
            let range = try scanner.skip()
            try scanner.end()
            return range
        }
        self.init(bytes, range)
    }

    init(_ bytes: [UInt8], _ range: Range<Int>) {
        self.bytes = bytes
        self.range = range
    }

    /// The text itself.
    var raw: ArraySlice<UInt8> { bytes[range] }

    private var first: UInt8 { range.isEmpty ? 0 : bytes[range.lowerBound] }
    var isNull: Bool { first == UInt8(ascii: "n") }
    var isObject: Bool { first == UInt8(ascii: "{") }
    var isArray: Bool { first == UInt8(ascii: "[") }
    var flag: Bool { first == UInt8(ascii: "t") }

    private var isNumber: Bool { first == UInt8(ascii: "-") || (0x30...0x39).contains(first) }

    private func within(_ inner: Range<Int>) -> JSONView {
        JSONView(bytes, range.lowerBound + inner.lowerBound..<range.lowerBound + inner.upperBound)
    }

    /// Nil where the text is not what `body` expects.
    private func read<Result>(_ body: (inout JSONScanner) throws(JSONError) -> Result?) -> Result? {
        // Absent, as said above.
        do { return try scan(raw, body) } catch { return nil }
    }

    /// The member's value; nil where it is absent or null.
    subscript(key: StaticString) -> JSONView? {
        guard isObject else { return nil }
        return read { (scanner) throws(JSONError) in
            try scanner.beginObject()
            while let text = try scanner.nextMember() {
                let isWanted = scanner.equals(text, key)
                let value = try scanner.skip()
                if isWanted { return within(value) }
            }
            return nil
        }.flatMap { $0.isNull ? nil : $0 }
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

    /// The elements of one member, each as it is found: for long lists, whose text is then walked through once.
    func forEach<E: Error>(in key: StaticString, _ body: (JSONView) throws(E) -> Void) throws(E) {
        guard isObject else { return }
        var refusal: E?
        _ = read { (scanner) throws(JSONError) -> Void? in
            try scanner.beginObject()
            while let text = try scanner.nextMember() {
                guard scanner.equals(text, key) else {
                    try scanner.skip()
                    continue
                }
                try scanner.beginArray()
                while try scanner.nextElement() {
                    let element = within(try scanner.skip())
                    do throws(E) { try body(element) } catch {
                        refusal = error
                        return nil
                    }
                }
            }
            return nil
        }
        if let refusal { throw refusal }
    }

    var integer: Int? {
        guard isNumber else { return nil }
        return read { (scanner) throws(JSONError) in Int(exactly: try scanner.integer()) }
    }

    var number: Double? {
        guard isNumber else { return nil }
        return read { (scanner) throws(JSONError) in try scanner.double() }
    }

    var text: String? {
        guard first == UInt8(ascii: "\"") else { return nil }
        return read { (scanner) throws(JSONError) in try scanner.string() }
    }

    var instant: Instant? { text.flatMap { Instant.rfc3339($0) } }
}

/// JSON text as it is written: values appended in order.
struct JSONText {
    private(set) var bytes: [UInt8] = []
    /// Whether the next member or element follows another.
    private var follows = false

    static func object(_ fill: (inout JSONText) -> Void) -> [UInt8] {
        var text = JSONText()
        text.object(fill)
        return text.bytes
    }

    /// One of several values that are kept apart by no comma.
    mutating func element(_ fill: (inout JSONText) -> Void) {
        follows = false
        fill(&self)
    }

    private mutating func separate() {
        if follows { bytes.append(UInt8(ascii: ",")) }
        follows = true
    }

    private mutating func nest(_ open: Character, _ close: Character, _ fill: (inout JSONText) -> Void) {
        separate()
        bytes.append(contentsOf: open.utf8)
        follows = false
        fill(&self)
        bytes.append(contentsOf: close.utf8)
        follows = true
    }

    mutating func object(_ fill: (inout JSONText) -> Void) { nest("{", "}", fill) }
    mutating func array(_ fill: (inout JSONText) -> Void) { nest("[", "]", fill) }

    mutating func key(_ name: String) {
        separate()
        quote(name)
        bytes.append(UInt8(ascii: ":"))
        follows = false
    }

    mutating func text(_ value: String) {
        separate()
        quote(value)
    }

    mutating func raw(_ value: some Collection<UInt8>) {
        separate()
        bytes.append(contentsOf: value)
    }

    mutating func integer(_ value: Int) { raw(String(value).utf8) }
    mutating func flag(_ value: Bool) { raw((value ? "true" : "false").utf8) }
    mutating func null() { raw("null".utf8) }

    // Members of an object; those without a value are left out.
    mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        key(name)
        text(value)
    }

    mutating func member(_ name: String, _ value: Int?) {
        guard let value else { return }
        key(name)
        integer(value)
    }

    /// Left out where false.
    mutating func member(_ name: String, _ value: Bool) {
        guard value else { return }
        key(name)
        flag(true)
    }

    mutating func member(_ name: String, _ values: [String]) {
        key(name)
        array { array in values.forEach { array.text($0) } }
    }

    mutating func member(_ name: String, _ pairs: [Pair]) {
        key(name)
        object { object in pairs.forEach { object.member($0.key, $0.value) } }
    }

    mutating func member(_ name: String, raw value: some Collection<UInt8>) {
        key(name)
        raw(value)
    }

    private mutating func quote(_ text: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""): bytes.append(contentsOf: [0x5c, 0x22])
            case UInt8(ascii: "\\"): bytes.append(contentsOf: [0x5c, 0x5c])
            case 0x0a: bytes.append(contentsOf: [0x5c, UInt8(ascii: "n")])
            case 0x09: bytes.append(contentsOf: [0x5c, UInt8(ascii: "t")])
            case ..<0x20:
                let digits = Array("0123456789abcdef".utf8)
                bytes.append(contentsOf: Array("\\u00".utf8))
                bytes.append(digits[Int(byte >> 4)])
                bytes.append(digits[Int(byte & 15)])
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }
}

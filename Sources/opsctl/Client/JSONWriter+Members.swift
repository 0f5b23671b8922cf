internal import OpsWire

/// Writes whole members and elements; a member without a value is left out.
extension JSONWriter {
    static func object(_ fill: (inout JSONWriter) -> Void) -> [UInt8] {
        // Enough capacity for most requests, so that the buffer need not grow.
        var text = JSONWriter(capacity: 1 << 12)
        text.object(fill)
        return text.bytes
    }

    mutating func object(_ fill: (inout JSONWriter) -> Void) {
        beginObject()
        fill(&self)
        endObject()
    }

    mutating func array(_ fill: (inout JSONWriter) -> Void) {
        beginArray()
        fill(&self)
        endArray()
    }

    mutating func member(_ name: String, _ value: String?) {
        guard let value else { return }
        key(name)
        string(value)
    }

    mutating func member(_ name: String, _ value: Int?) {
        guard let value else { return }
        key(name)
        integer(value)
    }

    /// Writes a member if its value is true.
    mutating func member(_ name: String, _ value: Bool) {
        guard value else { return }
        key(name)
        bool(true)
    }

    mutating func member(_ name: String, _ values: [String]) {
        key(name)
        array { array in
            for value in values { array.string(value) }
        }
    }

    mutating func member(_ name: String, _ pairs: [Pair]) {
        key(name)
        object { object in
            for pair in pairs { object.member(pair.key, pair.value) }
        }
    }

    mutating func member(_ name: String, raw value: some Collection<UInt8>) {
        key(name)
        raw(value)
    }
}

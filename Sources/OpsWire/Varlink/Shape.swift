/// The type of a value as its JSON shows it, for checking a message without making values of it.
public indirect enum Shape: Sendable {
    case bool, integer, float, string
    /// Any object.
    case object
    case optional(Shape)
    case array(Shape)
    /// An object whose values are all alike.
    case map(Shape)
    case record([Member])

    public struct Member: Sendable {
        let name: StaticString
        let shape: Shape

        fileprivate var mayBeAbsent: Bool { if case .optional = shape { true } else { false } }
    }

    /// Returns the shape of a method's reply; nil where the interface has no such method.
    public static func reply(to method: StaticString) -> Shape? {
        let name = method.withUTF8Buffer { String(decoding: $0, as: UTF8.self) }
        return ControlRequest.methods.first { $0.request.method == name }?.request.replyShape
    }

    /// Refuses a text whose values are of other types, and one that has no member of the record that it should be. A member
    /// that the interface does not name comes from a later version; one that is missing, from an earlier version.
    public func check(_ bytes: ArraySlice<UInt8>) throws(JSONError) {
        try scan(bytes) { (scanner) throws(JSONError) in
            try check(&scanner, isWhole: true)
            try scanner.end()
        }
    }

    private func check(_ scanner: inout JSONScanner, isWhole: Bool = false) throws(JSONError) {
        switch self {
        case .bool: _ = try scanner.bool()
        case .integer: _ = try scanner.integer()
        case .float: _ = try scanner.double()
        case .string:
            guard try scanner.peek() == .string else { throw scanner.error(.expected("a string")) }
            try scanner.skip()
        case .object:
            guard try scanner.peek() == .object else { throw scanner.error(.expected("an object")) }
            try scanner.skip()
        case .optional(let shape): if try !scanner.skipNull() { try shape.check(&scanner) }
        case .array(let element):
            try scanner.beginArray()
            while try scanner.nextElement() { try element.check(&scanner) }
        case .map(let value):
            try scanner.beginObject()
            while try scanner.nextMember() != nil { try value.check(&scanner) }
        case .record(let members): try Self.check(members, &scanner, isWhole: isWhole)
        }
    }

    private static func check(
        _ members: [Member], _ scanner: inout JSONScanner, isWhole: Bool
    ) throws(JSONError) {
        var isFound = !isWhole || members.allSatisfy(\.mayBeAbsent)
        // Members mostly come in the order of the interface.
        var expected = 0
        try scanner.beginObject()
        while let key = try scanner.nextMember() {
            var index: Int? = expected
            if expected >= members.count || !scanner.equals(key, members[expected].name) {
                index = members.firstIndex { scanner.equals(key, $0.name) }
            }
            guard let index else {
                try scanner.skip()
                continue
            }
            expected = index + 1
            isFound = true
            do throws(JSONError) {
                try members[index].shape.check(&scanner)
            } catch {
                throw error.inside("\(members[index].name)")
            }
        }
        if !isFound, let first = members.first { throw scanner.error(.expected("a member \"\(first.name)\"")) }
    }
}

extension WireRequest {
    fileprivate static var replyShape: Shape { Reply.shape }
}

extension WireRecord {
    public static var shape: Shape {
        var collector = ShapeCollector()
        var record = Self()
        // A collector never throws; the signature is the reader's.
        do throws(InvalidParameter) { try record.visit(&collector) } catch { preconditionFailure("\(error)") }
        return .record(collector.members)
    }
}

private struct ShapeCollector: FieldVisitor {
    var members: [Shape.Member] = []

    mutating func field<T: WireField>(_ name: StaticString, _ value: inout T) {
        members.append(Shape.Member(name: name, shape: T.shape))
    }
}

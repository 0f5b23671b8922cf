/// Error for parameters that a method does not accept; `parameter` is a path such as `selection.refs`.
public struct InvalidParameter: Error, Equatable, Sendable {
    public var parameter: String
    public var reason: String
    public init(_ parameter: String, _ reason: String) {
        self.parameter = parameter
        self.reason = reason
    }

    init(_ error: JSONError) { self.init(error.path, error.reason.text) }

    func inside(_ name: String) -> InvalidParameter {
        InvalidParameter(parameter.isEmpty ? name : "\(name).\(parameter)", reason)
    }
}

/// A value that has a type in the interface file.
public protocol WireField: Equatable, Sendable {
    /// Type in the interface file.
    static var varlinkType: String { get }
    init(from scanner: inout JSONScanner) throws(InvalidParameter)
    func write(to writer: inout JSONWriter)
    /// Value of an absent member; nil if the member is required.
    static var absent: Self? { get }
    var isAbsent: Bool { get }
}

extension WireField {
    public static var absent: Self? { nil }
    public var isAbsent: Bool { false }
}

extension JSONScanner {
    /// Refuses another element of an array, or entry of a map, if there are too many for a request. Replies, which a
    /// tolerant reader reads, may have more.
    fileprivate func requireRoom(after count: Int) throws(InvalidParameter) {
        guard isTolerant || count < Limits.values else {
            throw InvalidParameter("", "at most \(Limits.values) are possible")
        }
    }
}

/// Runs a reader of JSON, and turns its error into one about parameters.
func reading<T>(_ body: () throws(JSONError) -> T) throws(InvalidParameter) -> T {
    do throws(JSONError) { return try body() } catch { throw InvalidParameter(error) }
}

extension Bool: WireField {
    public static var varlinkType: String { "bool" }
    public init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        self = try reading { () throws(JSONError) in try scanner.bool() }
    }
    public func write(to writer: inout JSONWriter) { writer.bool(self) }
}

extension Int64: WireField {
    public static var varlinkType: String { "int" }
    public init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        self = try reading { () throws(JSONError) in try scanner.integer() }
    }
    public func write(to writer: inout JSONWriter) { writer.integer(self) }
}

extension Int: WireField {
    public static var varlinkType: String { "int" }
    public init(from scanner: inout JSONScanner) throws(InvalidParameter) { self = Int(try Int64(from: &scanner)) }
    public func write(to writer: inout JSONWriter) { writer.integer(Int64(self)) }
}

extension Double: WireField {
    public static var varlinkType: String { "float" }
    public init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        self = try reading { () throws(JSONError) in try scanner.double() }
    }
    public func write(to writer: inout JSONWriter) { writer.double(self) }
}

extension String: WireField {
    public static var varlinkType: String { "string" }
    public init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        self = try reading { () throws(JSONError) in try scanner.string() }
    }
    public func write(to writer: inout JSONWriter) { writer.string(self) }
}

extension Optional: WireField where Wrapped: WireField {
    public static var varlinkType: String { "?\(Wrapped.varlinkType)" }
    public static var absent: Self? { .some(.none) }
    public var isAbsent: Bool { self == nil }
    public init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        let isNull = try reading { () throws(JSONError) in try scanner.skipNull() }
        self = isNull ? nil : try Wrapped(from: &scanner)
    }
    public func write(to writer: inout JSONWriter) {
        if let self { self.write(to: &writer) } else { writer.null() }
    }
}

extension Array: WireField where Element: WireField {
    public static var varlinkType: String { "[]\(Element.varlinkType)" }
    public init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        self = []
        try reading { () throws(JSONError) in try scanner.beginArray() }
        while try reading({ () throws(JSONError) in try scanner.nextElement() }) {
            try scanner.requireRoom(after: count)
            append(try Element(from: &scanner))
        }
    }
    public func write(to writer: inout JSONWriter) {
        writer.beginArray()
        for element in self { element.write(to: &writer) }
        writer.endArray()
    }
}

/// A name from a fixed set.
protocol WireEnum: WireField, RawRepresentable, CaseIterable where RawValue == String {}

extension WireEnum {
    public static var varlinkType: String { "(\(allCases.map(\.rawValue).joined(separator: ", ")))" }
    public init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        let name = try String(from: &scanner)
        guard let value = Self(rawValue: name) else {
            throw InvalidParameter("", "expected one of \(Self.allCasesText), not \"\(name)\"")
        }
        self = value
    }
    public func write(to writer: inout JSONWriter) { writer.string(rawValue) }
    private static var allCasesText: String { allCases.map(\.rawValue).joined(separator: ", ") }
}

/// A name in replies, from a set that later versions may extend. A tolerant reader keeps unknown names.
public protocol OpenName: WireField, Hashable, RawRepresentable, ExpressibleByStringLiteral where RawValue == String {
    static var known: [Self] { get }
    init(rawValue: String)
}

extension OpenName {
    public init(stringLiteral name: String) { self.init(rawValue: name) }
    public static var varlinkType: String { "(\(known.map(\.rawValue).joined(separator: ", ")))" }
    public init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        self.init(rawValue: try String(from: &scanner))
        if !scanner.isTolerant, !Self.known.contains(self) {
            throw InvalidParameter("", "\"\(rawValue)\" is not one of \(Self.varlinkType)")
        }
    }
    public func write(to writer: inout JSONWriter) { writer.string(rawValue) }
}

/// Map from names to texts, in the order of arrival.
public struct StringMap: WireField, ExpressibleByDictionaryLiteral {
    public struct Entry: Equatable, Sendable {
        public var name: String
        public var value: String

        fileprivate func has(_ name: String) -> Bool { ExactText(self.name) == ExactText(name) }
    }
    public var entries: [Entry] = []

    public init(_ entries: [(String, String)] = []) { self.entries = entries.map { Entry(name: $0, value: $1) } }
    public init(dictionaryLiteral elements: (String, String)...) { self.init(elements) }
    public subscript(name: String) -> String? { entries.last { $0.has(name) }?.value }

    /// Adds the entries of another map, which replace own entries of the same name.
    public mutating func override(with other: StringMap) {
        // For large maps a table is faster than comparing each entry with each.
        let isLarge = entries.count * other.entries.count > 1024
        var indices: [ExactText: Int] = [:]
        if isLarge { for (index, entry) in entries.enumerated() { indices[ExactText(entry.name)] = index } }
        for entry in other.entries {
            if let index = isLarge ? indices[ExactText(entry.name)] : entries.firstIndex(where: { $0.has(entry.name) })
            {
                entries[index].value = entry.value
            } else {
                if isLarge { indices[ExactText(entry.name)] = entries.count }
                entries.append(entry)
            }
        }
    }

    public static var varlinkType: String { "[string]string" }
    public init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        var names: Set<ExactText> = []
        try reading { () throws(JSONError) in try scanner.beginObject() }
        while let text = try reading({ () throws(JSONError) in try scanner.nextMember() }) {
            try scanner.requireRoom(after: entries.count)
            let name = scanner.string(text)
            guard names.insert(ExactText(name)).inserted else { throw InvalidParameter(name, "occurs twice") }
            do throws(InvalidParameter) {
                entries.append(Entry(name: name, value: try String(from: &scanner)))
            } catch { throw error.inside(name) }
        }
    }
    public func write(to writer: inout JSONWriter) {
        writer.beginObject()
        for entry in entries {
            writer.key(entry.name)
            writer.string(entry.value)
        }
        writer.endObject()
    }
}

/// A JSON object that is passed on unchanged.
public struct RawJSON: WireField {
    public var bytes: [UInt8]
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
    public static var varlinkType: String { "object" }
    public init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        bytes = try reading { () throws(JSONError) in
            guard try scanner.peek() == .object else { throw scanner.error(.expected("an object")) }
            return Array(scanner.slice(try scanner.skip()))
        }
    }
    public func write(to writer: inout JSONWriter) { writer.raw(bytes) }
}

/// A JSON array of objects that is passed on unchanged.
public struct RawElements: WireField {
    /// The text, including the brackets.
    public var bytes: [UInt8]
    public init(_ bytes: [UInt8] = Array("[]".utf8)) { self.bytes = bytes }
    public static var varlinkType: String { "[]object" }
    public init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        bytes = try reading { () throws(JSONError) in
            guard try scanner.peek() == .array else { throw scanner.error(.expected("an array")) }
            return Array(scanner.slice(try scanner.skip()))
        }
    }
    public func write(to writer: inout JSONWriter) { writer.raw(bytes) }
}

/// An object whose members are defined by the method, not by the interface file.
public struct JSONObject: WireField {
    public var members: [JSONValue.Member]
    public init(_ members: [JSONValue.Member] = []) { self.members = members }

    public static var varlinkType: String { "object" }
    public init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        members = try reading { () throws(JSONError) in
            guard case .object(let members) = try JSONValue(from: &scanner) else {
                throw scanner.error(.expected("an object"))
            }
            return members
        }
    }
    public func write(to writer: inout JSONWriter) { writer.value(.object(members)) }
}

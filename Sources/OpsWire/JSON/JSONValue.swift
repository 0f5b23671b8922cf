/// Any JSON value, with its members in order. Meant for small or rare texts.
public indirect enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case integer(Int64)
    case double(Double)
    case string(String)
    case array([JSONValue])
    case object([Member])

    public struct Member: Equatable, Sendable {
        public var key: String
        public var value: JSONValue
        public init(_ key: String, _ value: JSONValue) {
            self.key = key
            self.value = value
        }
    }

    /// Parses all `bytes` as one value; duplicate keys are refused.
    public init(_ bytes: some Collection<UInt8>) throws(JSONError) {
        self = try scan(bytes) { scanner throws(JSONError) in
            let value = try JSONValue(from: &scanner)
            try scanner.end()
            return value
        }
    }

    public init(from scanner: inout JSONScanner) throws(JSONError) {
        var budget = Int.max
        try self.init(from: &scanner, budget: &budget)
    }

    /// Reads a value, and takes it and the values inside it from the budget.
    init(from scanner: inout JSONScanner, budget: inout Int) throws(JSONError) {
        guard budget > 0 else { throw scanner.error(.refused("has too many values")) }
        budget -= 1
        switch try scanner.peek() {
        case .object: self = .object(try Self.members(from: &scanner, budget: &budget))
        case .array:
            var elements: [JSONValue] = []
            try scanner.beginArray()
            while try scanner.nextElement() { elements.append(try JSONValue(from: &scanner, budget: &budget)) }
            self = .array(elements)
        case .string: self = .string(try scanner.string())
        case .number:
            switch try scanner.number() {
            case .integer(let value): self = .integer(value)
            case .double(let value): self = .double(value)
            }
        case .bool: self = .bool(try scanner.bool())
        case .null:
            try scanner.null()
            self = .null
        }
    }

    private static func members(from scanner: inout JSONScanner, budget: inout Int) throws(JSONError) -> [Member] {
        var members: [Member] = []
        // For a few members comparing is faster than hashing.
        var seen: Set<ExactText> = []
        try scanner.beginObject()
        while let text = try scanner.nextMember() {
            let key = ExactText(scanner.string(text))
            if members.count == 16 { seen = Set(members.map { ExactText($0.key) }) }
            let isTwice =
                members.count < 16 ? members.contains { ExactText($0.key) == key } : !seen.insert(key).inserted
            if isTwice { throw scanner.error(.duplicateKey(key.text), at: text.start - 1) }
            members.append(Member(key.text, try JSONValue(from: &scanner, budget: &budget)))
        }
        return members
    }
}

/// Scans all `bytes`. The two functions for arrays are inlined for the reason given at `JSONWriter.raw`.
@inlinable
public func scan<Result, Failure: Error>(
    _ bytes: [UInt8], _ body: (inout JSONScanner) throws(Failure) -> Result
) throws(Failure) -> Result {
    try bytes.withUnsafeBufferPointer { buffer throws(Failure) in
        var scanner = JSONScanner(buffer)
        return try body(&scanner)
    }
}

@inlinable
public func scan<Result, Failure: Error>(
    _ bytes: ArraySlice<UInt8>, _ body: (inout JSONScanner) throws(Failure) -> Result
) throws(Failure) -> Result {
    try bytes.withUnsafeBufferPointer { buffer throws(Failure) in
        var scanner = JSONScanner(buffer)
        return try body(&scanner)
    }
}

/// Scans all `bytes`, which are copied only if they are not contiguous.
public func scan<Result, Failure: Error>(
    _ bytes: some Collection<UInt8>, _ body: (inout JSONScanner) throws(Failure) -> Result
) throws(Failure) -> Result {
    let inPlace: Swift.Result<Result, Failure>? = bytes.withContiguousStorageIfAvailable { buffer in
        var scanner = JSONScanner(buffer)
        do throws(Failure) { return .success(try body(&scanner)) } catch { return .failure(error) }
    }
    if let inPlace { return try inPlace.get() }
    return try scan(Array(bytes), body)
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral, ExpressibleByNilLiteral, ExpressibleByFloatLiteral
{
    public init(stringLiteral value: String) { self = .string(value) }
    public init(integerLiteral value: Int64) { self = .integer(value) }
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    public init(floatLiteral value: Double) { self = .double(value) }
    public init(nilLiteral: ()) { self = .null }
    public init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    public init(dictionaryLiteral elements: (String, JSONValue)...) { self = .object(elements.map { Member($0, $1) }) }
}

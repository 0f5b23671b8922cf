/// An object with known members. `visit` names each member once; reading, writing and describing use it.
public protocol WireRecord: WireField {
    /// Name in the interface file; empty for the parameters of methods.
    static var typeName: String { get }
    /// True if absent members are left out (by clients), false if they are null (in replies, for scripts).
    static var omitsAbsent: Bool { get }
    init()
    mutating func visit(_ visitor: inout some FieldVisitor) throws(InvalidParameter)
}

public protocol FieldVisitor {
    mutating func field(_ name: StaticString, _ value: inout some WireField) throws(InvalidParameter)
}

extension WireRecord {
    public static var typeName: String { "" }
    public static var omitsAbsent: Bool { false }
    public static var varlinkType: String { typeName }

    public init(from scanner: inout JSONScanner) throws(InvalidParameter) {
        var reader = try FieldReader(&scanner)
        self.init()
        try visit(&reader)
        try reader.end()
    }

    public func write(to writer: inout JSONWriter) {
        var visitor = FieldWriter(omitsAbsent: Self.omitsAbsent)
        swap(&writer, &visitor.writer)
        visitor.writer.beginObject()
        visitor.visit(self)
        visitor.writer.endObject()
        swap(&writer, &visitor.writer)
    }

    /// Returns a value with some members changed from their initial values.
    public static func with(_ fill: (inout Self) -> Void) -> Self {
        var value = Self()
        fill(&value)
        return value
    }
}

/// Reads the members of a record from an object, in any order.
struct FieldReader: FieldVisitor {
    private struct Member {
        var key: JSONScanner.Text
        var value: Range<Int>
        var isRead = false
    }
    private static let maximumMembers = 256
    private var scanner: JSONScanner
    private var members: [Member] = []
    /// Members usually arrive in the order in which they are read.
    private var expected = 0
    /// True if the record is the whole text. The next property is the first required member that is missing.
    private let isWhole: Bool
    private var missing: StaticString?

    init(_ scanner: inout JSONScanner) throws(InvalidParameter) {
        self.scanner = scanner
        isWhole = scanner.depth == 0
        do throws(JSONError) {
            try scanner.beginObject()
            // A copy of the scanner, which stands inside the object, reads the values.
            self.scanner = scanner
            while let key = try scanner.nextMember() {
                // No record has this many members. Some must be unknown, and not all need to be kept.
                if members.count > Self.maximumMembers {
                    throw scanner.error(.expected("fewer members"), at: key.start)
                }
                members.append(Member(key: key, value: try scanner.skip()))
            }
        } catch { throw InvalidParameter(error) }
    }

    mutating func field<T: WireField>(_ name: StaticString, _ value: inout T) throws(InvalidParameter) {
        guard let index = find(name) else {
            if let absent = T.absent {
                value = absent
            } else if scanner.isTolerant {
                missing = missing ?? name
            } else {
                throw InvalidParameter("\(name)", "is missing")
            }
            return
        }
        expected = index + 1
        members[index].isRead = true
        scanner.position = members[index].value.lowerBound
        scanner.skipped = members[index].value
        do throws(InvalidParameter) { value = try T(from: &scanner) } catch { throw error.inside("\(name)") }
    }

    /// Refuses members that no `field` has read. A tolerant reader refuses only a whole text that has none of the
    /// record's members.
    func end() throws(InvalidParameter) {
        guard !scanner.isTolerant else {
            guard isWhole, let missing, !members.contains(where: \.isRead) else { return }
            throw InvalidParameter("\(missing)", "is missing")
        }
        guard let stranger = members.first(where: { !$0.isRead }) else { return }
        let name = scanner.string(stranger.key)
        let isTwice = members.contains { $0.isRead && scanner.string($0.key) == name }
        throw InvalidParameter(name, isTwice ? "occurs twice" : "is unknown")
    }

    private func find(_ name: StaticString) -> Int? {
        if expected < members.count, scanner.equals(members[expected].key, name) { return expected }
        return members.firstIndex { scanner.equals($0.key, name) }
    }
}

struct FieldWriter: FieldVisitor {
    var writer = JSONWriter()
    let omitsAbsent: Bool

    init(omitsAbsent: Bool) { self.omitsAbsent = omitsAbsent }

    mutating func field(_ name: StaticString, _ value: inout some WireField) {
        if omitsAbsent, value.isAbsent { return }
        writer.key(name)
        value.write(to: &writer)
    }

    mutating func visit(_ record: some WireRecord) {
        var record = record
        // A writer never throws; only readers do.
        do throws(InvalidParameter) { try record.visit(&self) } catch { preconditionFailure("writing threw \(error)") }
    }
}

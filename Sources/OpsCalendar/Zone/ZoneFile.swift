/// Reason why a zone file cannot be used.
public enum ZoneFileError: Error, Hashable, Sendable, CustomStringConvertible {
    case notAZoneFile
    /// The file is shorter than its header says, or the header has impossible values.
    case damaged(String)
    case onlyShortTimes
    case leapSeconds
    case posixRule(String)

    public var description: String {
        switch self {
        case .notAZoneFile: "it is not a time zone file (TZif)"
        case .damaged(let detail): "the time zone file is damaged: \(detail)"
        case .onlyShortTimes: "the time zone file has 32-bit times only, which end in 2038; install the package tzdata"
        case .leapSeconds: "the time zone counts leap seconds; use the zone of the same name without \"right/\""
        case .posixRule(let detail): "the rule of the time zone for future years is wrong: \(detail)"
        }
    }
}

extension ZoneRules {
    /// Maximum size of a zone file. The largest in tzdata has 4 KiB.
    public static let maximumFileSize = 1 << 18

    /// Reads the contents of a zone file (RFC 8536): its 64-bit data and its footer.
    public init(file bytes: [UInt8]) throws(ZoneFileError) {
        guard bytes.count <= Self.maximumFileSize else { throw .damaged("more than 256 KiB") }
        var reader = ByteReader(bytes)
        let short = try ZoneHeader(&reader)
        guard short.version >= UInt8(ascii: "2") else { throw .onlyShortTimes }
        try reader.skip(short.length(ofTimes: 4))
        let header = try ZoneHeader(&reader)
        guard header.leapSeconds == 0 else { throw .leapSeconds }
        guard header.types > 0, header.types <= 256 else { throw .damaged("\(header.types) types of local time") }
        // The size is checked once, so that the loops below read no more than the file.
        guard reader.remaining >= header.length(ofTimes: 8) else { throw .damaged("it is cut off") }

        let times = try (0..<header.changes).map { _ throws(ZoneFileError) in try reader.integer64() }
        let kinds = try (0..<header.changes).map { _ throws(ZoneFileError) in Int(try reader.byte()) }
        var offsets: [Int] = []
        for _ in 0..<header.types {
            let offset = Int(try reader.integer32())
            guard Self.offsets.contains(offset) else { throw .damaged("an offset of \(offset) s") }
            offsets.append(offset)
            // Daylight-saving flag and abbreviation are skipped: local time does not depend on them.
            try reader.skip(2)
        }
        try reader.skip(header.letters + header.standardMarks + header.utcMarks)

        var changes: [Change] = []
        for (index, time) in times.enumerated() {
            guard index == 0 || time > times[index - 1] else { throw .damaged("times are not in ascending order") }
            guard kinds[index] < offsets.count else { throw .damaged("a change to a type that it does not have") }
            changes.append(Change(at: UnixTime(seconds: time), offset: offsets[kinds[index]]))
        }
        let footer = try reader.footer()
        self.init(
            initialOffset: offsets[0], changes: changes,
            rule: footer.isEmpty ? nil : try PosixRule(footer))
    }
}

/// Counts at the beginning of each block of a zone file.
private struct ZoneHeader {
    let version: UInt8
    let utcMarks: Int
    let standardMarks: Int
    let leapSeconds: Int
    let changes: Int
    let types: Int
    let letters: Int

    init(_ reader: inout ByteReader) throws(ZoneFileError) {
        for letter in "TZif".utf8 {
            guard reader.remaining > 0, try reader.byte() == letter else { throw .notAZoneFile }
        }
        version = try reader.byte()
        try reader.skip(15)
        utcMarks = try reader.count()
        standardMarks = try reader.count()
        leapSeconds = try reader.count()
        changes = try reader.count()
        types = try reader.count()
        letters = try reader.count()
    }

    /// Returns the size of a block's data if its times have this many bytes. Counts have 32 bits, so no sum overflows.
    func length(ofTimes size: Int) -> Int {
        changes * (size + 1) + types * 6 + letters + leapSeconds * (size + 4) + standardMarks + utcMarks
    }
}

/// Reads big-endian numbers from bytes, and throws at their end.
private struct ByteReader {
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var remaining: Int { bytes.count - position }

    mutating func skip(_ count: Int) throws(ZoneFileError) {
        guard count <= remaining else { throw .damaged("it is cut off") }
        position += count
    }

    mutating func byte() throws(ZoneFileError) -> UInt8 {
        try skip(1)
        return bytes[position - 1]
    }

    mutating func count() throws(ZoneFileError) -> Int { Int(UInt32(bitPattern: try integer32())) }

    mutating func integer32() throws(ZoneFileError) -> Int32 {
        try skip(4)
        return Int32(bitPattern: bytes[position - 4..<position].reduce(0) { $0 << 8 | UInt32($1) })
    }

    mutating func integer64() throws(ZoneFileError) -> Int64 {
        try skip(8)
        return Int64(bitPattern: bytes[position - 8..<position].reduce(0) { $0 << 8 | UInt64($1) })
    }

    /// Returns the text between the two line feeds at the end.
    mutating func footer() throws(ZoneFileError) -> [UInt8] {
        guard remaining > 0, try byte() == UInt8(ascii: "\n") else { throw .damaged("it has no footer") }
        let rest = bytes[position...]
        guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { throw .damaged("its footer is cut off") }
        return Array(rest[..<end])
    }
}

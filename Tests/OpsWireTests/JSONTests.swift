import Testing

@testable import OpsWire

@Suite struct JSONTests {
    private func parse(_ text: String) throws(JSONError) -> JSONValue { try JSONValue(Array(text.utf8)) }

    @Test func `values and members are read in order`() throws {
        let value = try parse(
            " {\"b\": [1, -0, 9223372036854775807, 2.5, 1e3], \"a\": {\"\": null}, \"t\": true, \"f\": false,\r\n\t\"s\": \"x\"} "
        )
        #expect(
            value == [
                "b": [1, 0, 9_223_372_036_854_775_807, 2.5, 1000.0], "a": ["": nil], "t": true, "f": false, "s": "x",
            ])
        #expect(value.text == #"{"b":[1,0,9223372036854775807,2.5,1000.0],"a":{"":null},"t":true,"f":false,"s":"x"}"#)
        #expect(try parse("9223372036854775808") == .double(9_223_372_036_854_775_808))
        #expect(try parse("-9223372036854775808") == .integer(.min))
    }

    @Test(arguments: [
        (#""\u0041\n\t\r\b\f\/\\\"""#, "A\n\t\r\u{8}\u{c}/\\\""), (#""\ud83d\ude00""#, "😀"), (#""é€😀""#, "é€😀"),
        (#""12345678\u00e9""#, "12345678é"), (#""1234567\\""#, "1234567\\"), ("\"\u{7f}\"", "\u{7f}"),
        (#""\u0000""#, "\0"),
    ])
    func `escapes in strings are decoded`(text: String, value: String) throws {
        #expect(try parse(text) == .string(value))
        #expect(try parse(JSONValue.string(value).text) == .string(value))
    }

    @Test(
        arguments: [
            ("", .unexpectedEnd, 0), ("  ", .unexpectedEnd, 2), ("{", .unexpectedEnd, 1), ("[1", .unexpectedEnd, 2),
            ("[1,]", .unexpectedByte(0x5d), 3),
            ("{\"a\":1,}", .unexpectedByte(0x7d), 7), ("{a:1}", .unexpectedByte(0x61), 1),
            ("{\"a\" 1}", .unexpectedByte(0x31), 5), ("[1 2]", .unexpectedByte(0x32), 3),
            ("nul", .unexpectedEnd, 3), ("nulx", .unexpectedByte(0x78), 3), ("truex", .trailingBytes, 4),
            ("1 1", .trailingBytes, 2), ("01", .invalidNumber, 0), ("1.", .unexpectedEnd, 2),
            (".5", .unexpectedByte(0x2e), 0), ("+1", .unexpectedByte(0x2b), 0), ("-", .unexpectedEnd, 1),
            ("1e", .unexpectedEnd, 2), ("1e+x", .invalidNumber, 3), ("0x1", .invalidNumber, 0),
            ("1e999", .numberOutOfRange, 0),
            ("\"", .unexpectedEnd, 1), ("\"\n\"", .controlCharacter, 1), (#""\x""#, .invalidEscape, 1),
            (#""\u12g4""#, .invalidEscape, 5), (#""\ud800""#, .loneSurrogate, 1),
            (#""\udc00""#, .loneSurrogate, 1), (#""\ud800\u0041""#, .loneSurrogate, 1),
            ("{\"a\":1,\"a\":2}", .duplicateKey("a"), 7), ("{\"a\":1,\"\\u0061\":2}", .duplicateKey("a"), 7),
            ("'a'", .unexpectedByte(0x27), 0), ("[1]]", .trailingBytes, 3), ("NaN", .unexpectedByte(0x4e), 0),
            ("\u{feff}1", .unexpectedByte(0xef), 0),
        ] as [(String, JSONError.Reason, Int)])
    func `invalid JSON is refused with its reason and offset`(text: String, reason: JSONError.Reason, offset: Int) {
        #expect(throws: JSONError(reason, offset: offset, line: 1, column: offset + 1)) {
            try parse(text)
        }
    }

    @Test(
        arguments: [
            ("5.0", 5), ("1e1", 10), ("-2.50e1", -25), ("-0.0", 0), ("9007199254740992.0", 9_007_199_254_740_992),
        ] as [(String, Int64)])
    func `a number without a fraction is an integer, however it is written`(text: String, value: Int64) throws {
        let integer = try scan(text.utf8) { (scanner) throws(JSONError) in try scanner.integer() }
        #expect(integer == value)
    }

    @Test(arguments: ["5.5", "1e-1", "9007199254740994.0", "1e300"])
    func `a number with a fraction, or beyond the exact ones, is not an integer`(text: String) {
        #expect(throws: JSONError(.expected("an integer"), offset: 0, line: 1, column: 1)) {
            try scan(text.utf8) { (scanner) throws(JSONError) in try scanner.integer() }
        }
    }

    @Test func `an error has its line and column`() {
        #expect(throws: JSONError(.unexpectedByte(0x78), offset: 12, line: 3, column: 3)) {
            try parse("{\n\"a\": 1,\n  x}")
        }
        do throws(JSONError) { _ = try parse("[\n}") } catch {
            #expect("\(error)" == "line 2, column 1: unexpected '}'")
        }
    }

    @Test(
        arguments: [
            [0x80], [0xc0, 0x80], [0xc1, 0xbf], [0xc3], [0xe0, 0x80, 0x80], [0xe0, 0x9f, 0xbf], [0xed, 0xa0, 0x80],
            [0xef, 0xbf], [0xf0, 0x80, 0x80, 0x80],
            [0xf4, 0x90, 0x80, 0x80], [0xf5, 0x80, 0x80, 0x80], [0xff], [0xe2, 0x82, 0x41], [0xf0, 0x9f, 0x98, 0x41],
        ] as [[UInt8]])
    func `invalid UTF-8 is refused`(bytes: [UInt8]) {
        for padding in ["", "12345678", "1234"] {
            let text = [0x22] + Array(padding.utf8) + bytes + [0x22]
            #expect(throws: JSONError.self) { try JSONValue(text) }
            #expect(throws: JSONError.self) { try scan(text) { (scanner) throws(JSONError) in try scanner.skip() } }
        }
    }

    @Test func `every Unicode scalar is read back as it was written`() throws {
        var text = ""
        for value in stride(from: UInt32(0), through: 0x10ffff, by: 7) {
            if let scalar = Unicode.Scalar(value) { text.unicodeScalars.append(scalar) }
        }
        #expect(try parse(JSONValue.string(text).text) == .string(text))
    }

    @Test func `JSON that is nested too deeply is refused`() throws {
        let deepest = String(repeating: "[", count: Limits.depth) + String(repeating: "]", count: Limits.depth)
        _ = try parse(deepest)
        #expect(throws: JSONError.self) { try parse("[\(deepest)]") }
        let endless = Array(repeating: UInt8(ascii: "["), count: 1_000_000)
        let refusal = JSONError(.tooDeep(Limits.depth), offset: Limits.depth, line: 1, column: Limits.depth + 1)
        #expect(throws: refusal) { try JSONValue(endless) }
        #expect(throws: JSONError.self) { try scan(endless) { (scanner) throws(JSONError) in try scanner.skip() } }
    }

    @Test func `a duplicate key is found among thousands`() throws {
        let members = (0..<5000).map { "\"k\($0)\":\($0)" }
        guard case .object(let read) = try parse("{\(members.joined(separator: ","))}") else {
            return #expect(Bool(false))
        }
        #expect(read.count == 5000)
        #expect(throws: JSONError.self) { try parse("{\((members + ["\"k17\":1"]).joined(separator: ","))}") }
    }

    @Test func `numbers are written in JSON, and infinity and NaN as null`() {
        var writer = JSONWriter()
        writer.beginArray()
        for value in [0, 7, -7, 10, 1_234_567_890, .max, .min] as [Int64] { writer.integer(value) }
        for value in [0.5, -1e300, .infinity, .nan] as [Double] { writer.double(value) }
        writer.endArray()
        #expect(writer.text == "[0,7,-7,10,1234567890,9223372036854775807,-9223372036854775808,0.5,-1e+300,null,null]")
    }

    @Test func `skipping a value accepts the same texts as reading it`() throws {
        var random = SeededGenerator(seed: 7)
        for _ in 0..<3000 {
            var bytes = Array(Fuzz.json(&random, depth: 4).text.utf8)
            if Bool.random(using: &random) { Fuzz.mutate(&bytes, &random) }
            let isRead = (try? JSONValue(bytes)) != nil  // Only whether it is well formed counts.
            let isSkipped = Fuzz.isWellFormed(bytes)
            // Skipping does not look for duplicate keys.
            if isRead { #expect(isSkipped) }
            if isSkipped, !isRead {
                #expect(throws: JSONError.self) { try JSONValue(bytes) }
                do throws(JSONError) { _ = try JSONValue(bytes) } catch {
                    switch error.reason {
                    case .duplicateKey, .numberOutOfRange: break
                    default: Issue.record("\(String(decoding: bytes, as: UTF8.self)): \(error)")
                    }
                }
            }
        }
    }
}

/// Random texts, the same for the same seed.
enum Fuzz {
    static func json(_ random: inout SeededGenerator, depth: Int) -> JSONValue {
        switch Int.random(in: 0..<(depth > 0 ? 9 : 6), using: &random) {
        case 0: return nil
        case 1: return .bool(.random(using: &random))
        case 2: return .integer(Int64(bitPattern: random.next()) >> Int64.random(in: 0..<64, using: &random))
        case 3: return .double(Double(Int.random(in: -1000...1000, using: &random)) / 8)
        case 4, 5: return .string(string(&random))
        case 6: return .array((0..<Int.random(in: 0..<5, using: &random)).map { _ in json(&random, depth: depth - 1) })
        default:
            return .object(
                (0..<Int.random(in: 0..<5, using: &random)).map {
                    .init("\($0)" + string(&random), json(&random, depth: depth - 1))
                })
        }
    }

    static func string(_ random: inout SeededGenerator) -> String {
        let letters = Array("abc \"\\\n\u{1}é€😀{}[]:,0")
        return String(
            (0..<Int.random(in: 0..<12, using: &random)).compactMap { _ in letters.randomElement(using: &random) })
    }

    /// Changes, removes, repeats or inserts a few bytes.
    static func mutate(_ bytes: inout [UInt8], _ random: inout SeededGenerator) {
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0 where place < bytes.count: bytes[place] = UInt8.random(in: 0...255, using: &random)
            case 1 where place < bytes.count: bytes.remove(at: place)
            case 2: bytes.insert(Array("{}[]\":,0tn\\".utf8).randomElement(using: &random) ?? 0, at: place)
            case 3: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 0...8, using: &random)))
            default:
                let piece = bytes[place..<min(bytes.count, place + Int.random(in: 0...20, using: &random))]
                bytes.insert(contentsOf: Array(piece), at: Int.random(in: 0...bytes.count, using: &random))
            }
        }
    }

    static func isWellFormed(_ bytes: [UInt8]) -> Bool {
        do throws(JSONError) {
            try scan(bytes) { (scanner) throws(JSONError) in
                try scanner.skip()
                try scanner.end()
            }
            return true
        } catch { return false }
    }
}
